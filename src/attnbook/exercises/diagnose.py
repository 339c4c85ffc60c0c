"""From a wrong answer to the sentence that helps, in a fixed order.

An exception, in the reader's own line; an argument written to; the wrong kind of thing; a wrong
shape, by axis; the misunderstanding by name; a broken property; the smallest failing case.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, same
from attnbook.exercises.feedback import Feedback
from attnbook.exercises.guard import SECONDS, Outcome, TooLong, call, own_line
from attnbook.exercises.source import is_filled_in
from attnbook.show import device

UNTOUCHED = "not attempted"
STILL_RAISES = "its line `raise NotImplementedError` still stops it; delete that line."


def diagnose(exercise: Exercise, function: Callable[..., Any], seed: int = 0) -> Feedback:
    """Try the function on every case and tell the first thing that is wrong, or that none is."""
    cases = [on_device(c) for c in exercise.cases(Generator().manual_seed(seed))]
    head = f"{exercise.id} {exercise.title}"
    outcomes: list[Outcome] = []
    for case in cases:
        outcomes.append(call(function, case.arguments))
        if is_untouched(outcomes[-1].error):
            says = STILL_RAISES if is_filled_in(exercise.stub, function) else ""
            return Feedback("info", f"{exercise.id} {UNTOUCHED}", says)
        if isinstance(outcomes[-1].error, TooLong):
            break
    wanted = [exercise.reference(*case.arguments) for case in cases]
    for case, outcome, right in zip(cases, outcomes, wanted, strict=False):
        if not is_right(outcome, right):
            mistake = recognise(exercise, cases, outcomes, case, outcome, right)
            return explain(exercise, function, head, case, outcome, right, mistake)
    if exercise.code and (cut := detached(exercise, function, cases)):
        return Feedback("failed", head, cut)
    return Feedback("passed", head, exercise.insight, footer=f"{len(cases)} cases passed.")


def is_untouched(error: BaseException | None) -> bool:
    """Whether the stub raised this: PyTorch's own errors of that kind say what is missing."""
    return isinstance(error, NotImplementedError) and not error.args


def on_device(case: Case) -> Case:
    moved = (a.to(device()) if isinstance(a, Tensor) else a for a in case.arguments)
    return Case(tuple(moved), case.sizes, case.note)


def is_right(outcome: Outcome, wanted: Any) -> bool:
    if outcome.error is not None or outcome.written:
        return False
    return same(outcome.answer, wanted) and not unlike(outcome.answer, wanted)


def recognise(
    exercise: Exercise,
    cases: Sequence[Case],
    outcomes: Sequence[Outcome],
    failing: Case,
    outcome: Outcome,
    wanted: Any,
) -> Mistake | None:
    """The misunderstanding that computes the same in every case, or alone does so in this one."""
    here = []
    for mistake in exercise.mistakes:
        computed = call(mistake.wrong, failing.arguments)
        if not alike(computed, outcome) or is_right(computed, wanted):
            continue
        pairs = zip(cases, outcomes, strict=False)
        if all(alike(call(mistake.wrong, c.arguments), o) for c, o in pairs):
            return mistake
        here.append(mistake)
    return here[0] if len(here) == 1 else None


def alike(one: Outcome, other: Outcome) -> bool:
    if one.error is not None or other.error is not None:
        return type(one.error) is type(other.error) and str(one.error) == str(other.error)
    return one.written == other.written and same(one.answer, other.answer)


def explain(
    exercise: Exercise,
    function: Callable[..., Any],
    head: str,
    case: Case,
    outcome: Outcome,
    wanted: Any,
    mistake: Mistake | None,
) -> Feedback:
    details: list[str] = []
    if outcome.error is not None:
        says = raised(function, outcome.error, details)
    elif outcome.written:
        which = ", ".join(str(i + 1) for i in outcome.written)
        says = (
            f"Your function changed what it was given (argument {which}). The caller still needs "
            "it: work on a new one, without `x[...] =`, `+=` or methods that end in `_`."
        )
    elif kind := unlike(outcome.answer, wanted):
        says = kind
    elif shape := misshapen(exercise.axes, case, outcome.answer, wanted):
        says = shape
    elif mistake:
        return Feedback(
            "failed",
            head,
            mistake.says,
            (compare(exercise, case, outcome, wanted),),
            more(exercise),
        )
    else:
        broken = [p.says for p in exercise.properties if not p.holds(outcome.answer, case)]
        says = (
            broken[0] if broken else "The answer is not right yet. The smallest case that shows it:"
        )
        details.append(compare(exercise, case, outcome, wanted))
    if mistake:
        says = f"{says}\n{mistake.says}"
    if outcome.printed:
        details.append(f"It printed: {outcome.printed[:200].strip()}")
    return Feedback("failed", head, says, tuple(details), more(exercise))


def raised(function: Callable[..., Any], error: BaseException, details: list[str]) -> str:
    line, shapes = own_line(function, error)
    if line:
        details.append(f"in your line   {line}" + (f"\nwhere          {shapes}" if shapes else ""))
    if isinstance(error, TooLong):
        return (
            f"Your function was still running after {SECONDS:.0f} seconds: does a loop never end?"
        )
    if isinstance(error, RecursionError):
        return "Your function calls itself without an end."
    return f"Your function raised {type(error).__name__}: {error}"


def unlike(got: Any, wanted: Any) -> str:
    """Whether the answer is the wrong kind of thing: None, NumPy, dtype, device, how many."""
    if got is None and wanted is not None:
        return "Your function returned None: is there a `return`?"
    if isinstance(wanted, tuple) and any(isinstance(w, Tensor) for w in wanted):
        if not isinstance(got, tuple):
            return f"{len(wanted)} things are asked for, and one {type(got).__name__} came back."
        if len(got) != len(wanted):
            return f"{len(wanted)} things are asked for, and {len(got)} came back."
        return next((u for g, w in zip(got, wanted, strict=True) if (u := unlike(g, w))), "")
    if not isinstance(wanted, Tensor):
        return ""
    if isinstance(got, (np.ndarray, np.generic)):
        return "Your function returned NumPy. A torch.Tensor is asked for: NumPy has no gradients."
    if not isinstance(got, Tensor):
        return f"Your function returned a {type(got).__name__}. A torch.Tensor is asked for."
    if got.device != wanted.device:
        return (
            f"Your answer is on {got.device}, the arguments are on {wanted.device}: a tensor made "
            "inside needs `device=` of an argument."
        )
    if got.dtype != wanted.dtype and got.shape == wanted.shape:
        return f"Your answer is {got.dtype}, and {wanted.dtype} is asked for."
    return ""


def misshapen(axes: str, case: Case, got: Any, wanted: Any) -> str:
    """Which axis has the wrong length, and whose length it has."""
    if isinstance(wanted, tuple) and any(isinstance(w, Tensor) for w in wanted):
        names = axes.split(";") if axes else [""] * len(wanted)
        for g, w, n in zip(got, wanted, names, strict=True):
            if text := misshapen(n, case, g, w):
                return text
        return ""
    if not isinstance(wanted, Tensor) or got.shape == wanted.shape:
        return ""
    names = axes.split()[-wanted.dim() :] if wanted.dim() else []
    asked = ", ".join(f"{n}={s}" for n, s in zip(names, wanted.shape, strict=True)) if names else ""
    text = f"Your answer has shape {tuple(got.shape)}; {tuple(wanted.shape)} is asked for"
    text += f" ({asked})." if asked else "."
    if got.dim() != wanted.dim() or not names:
        return text
    owner = {size: name for name, size in case.sizes.items()}
    for name, g, w in zip(names, got.shape, wanted.shape, strict=True):
        if g != w:
            whose = f", the size of {owner[g]}" if g in owner else ""
            return f"{text} Axis {name} is {g}{whose}."
    return text


def detached(exercise: Exercise, function: Callable[..., Any], cases: Sequence[Case]) -> str:
    """Whether gradients stop before they reach the arguments, though the reference's do not."""
    for case in cases:
        right = call(exercise.reference, case.arguments, grad=True).answer
        if not (isinstance(right, Tensor) and right.requires_grad):
            continue
        outcome = call(function, case.arguments, grad=True)
        if outcome.error is not None:
            return f"With arguments that want gradients it raised {outcome.error}."
        if not outcome.answer.requires_grad:
            return (
                "The numbers are right, but no gradient flows back: `.detach()`, `.item()`, "
                "`.data`, NumPy, `torch.tensor(...)` or `no_grad` cut the answer off."
            )
    return ""


def compare(exercise: Exercise, case: Case, outcome: Outcome, wanted: Any) -> str:
    """The case, the answer, and beside it the right one, unless that would end the exercise."""
    lines = [f"case     {case.note}"] if case.note else []
    at = first_difference(outcome.answer, wanted)
    lines.append(f"yours    {written_out(outcome.answer, at)}")
    if exercise.code:
        lines.append(f"wanted   {written_out(wanted, at)}")
    return "\n".join(lines)


def first_difference(got: Any, wanted: Any) -> int:
    """Which matrix of a batch is the first that differs, counting all leading axes as one."""
    if not isinstance(got, Tensor) or not isinstance(wanted, Tensor) or got.shape != wanted.shape:
        return 0
    if got.dim() < 3 or not got.numel():
        return 0
    pairs = zip(got.flatten(0, -3), wanted.flatten(0, -3), strict=True)
    return next((i for i, (g, w) in enumerate(pairs) if not same(g, w)), 0)


def written_out(x: Any, at: int = 0) -> str:
    """A value in little space: of a tensor at most four rows and six columns of matrix `at`."""
    if isinstance(x, tuple) and any(isinstance(item, Tensor) for item in x):
        return " | ".join(written_out(item) for item in x)
    if not isinstance(x, Tensor):
        return repr(x)
    matrix = x.detach().cpu()
    if matrix.dim() > 2:
        matrix = matrix.flatten(0, -3)[at] if matrix.numel() else matrix.flatten(0, -2)
    rows = matrix.reshape(-1, matrix.size(-1) if matrix.dim() else 1)[:4, :6].tolist()
    form = "{:.4f}" if x.is_floating_point() else "{}"
    text = "\n         ".join(" ".join(form.format(v) for v in row) for row in rows)
    return text if x.dim() <= 2 else f"shape {tuple(x.shape)}, its matrix {at}\n         {text}"


def more(exercise: Exercise) -> str:
    return f'hint("{exercise.id}") gives a hint.'
