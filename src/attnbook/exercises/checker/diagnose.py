"""Turn a wrong answer into a helpful message. FINDERS lists, in order, what to look for."""

import inspect
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from attnbook.exercises.cards.feedback import Feedback, labeled
from attnbook.exercises.checker import choice, guard
from attnbook.exercises.checker.answers import (
    dtype_error,
    is_dense,
    numbers_match,
    shape_error,
    type_error,
)
from attnbook.exercises.checker.attempt import Attempt
from attnbook.exercises.checker.excerpts import format_error, printed_details
from attnbook.exercises.checker.gradients import argument_gradients, gradient_problem
from attnbook.exercises.checker.limits import TimeLimitExceeded, garbage_collected
from attnbook.exercises.checker.precision import (
    has_lower_precision,
    loses_only_digits,
    tensors_in,
    with_dtype,
)
from attnbook.exercises.checker.reader_code import (
    failing_line,
    is_filled_in,
    missing_name,
    names_used,
    parameter_names,
)
from attnbook.exercises.checker.relation import relation_message
from attnbook.exercises.checker.restore_state import preserved_state, set_default_device
from attnbook.exercises.checker.side_by_side import side_by_side
from attnbook.exercises.checker.trial import is_untouched, property_error, run_trials, solve_cases
from attnbook.exercises.exercise import Exercise
from attnbook.exercises.source import reader_source
from attnbook.language import _, ngettext


@garbage_collected()
@preserved_state()
def diagnose(exercise: Exercise, function: Callable[..., Any], seed: int = 0) -> Feedback:
    """Try a function on all cases; return a card that names the first problem or reports a pass."""
    set_default_device(None)
    solved_cases = solve_cases(exercise, seed)  # first, because the function may patch PyTorch
    trials = run_trials(exercise, function, solved_cases)
    if is_untouched(trials[-1].outcome):
        head = _("{id} not attempted")
        if is_filled_in(exercise.stub, function):
            head = _(
                "{id} not attempted: its line `raise NotImplementedError` still stops it, so "
                "delete that line."
            )
        return Feedback("untouched", head.format(id=exercise.id))
    failed = next((t for t in trials if not t.right), None)
    if failed and not exercise.code:
        failed = next((t for t in trials if t.outcome.error), None)
        if not failed:
            return choice.explain(exercise, trials)
    if failed:
        return explain(Attempt(exercise, function, trials, failed))
    head, footer = exercise.head, exercise.footer
    printed = printed_details(trials[0].outcome.printed)
    used = names_used(function)
    if forbidden := next((name for name in exercise.without if name in used), ""):
        message = _("The answer is right, but the card asks for it without `{name}`.")
        return Feedback("failed", head, message.format(name=forbidden), printed, footer)
    lost = ""
    for case, _wanted, gradients in solved_cases:
        outcome = argument_gradients(function, case) if gradients else guard.Outcome()
        problem = gradients and gradient_problem(exercise.reference, case, outcome, gradients)
        if not problem:
            continue
        if problem.lost and not exercise.asks_for_gradients:
            lost = lost or _(
                "{problem} The card does not ask for gradients, so this passes. In training they "
                "would be missing."
            ).format(problem=problem.message)
            continue
        line = failing_line(function, outcome.error)
        note = labeled(_("case"), _(case.note)) if case.note and not line else ""
        details = tuple(filter(None, (line, note, *printed)))
        return Feedback("failed", head, problem.message, details, footer)
    dtypes = filter(None, (dtype_error(t.outcome.answer, t.wanted) for t in trials))
    passes = _("{error} The card names no dtype, so this passes.")
    dtype = next((passes.format(error=error) for error in dtypes), "")
    learned = _(exercise.insight), _(exercise.comes_back)
    message = "\n".join(filter(None, (dtype, lost, *learned)))
    others = tuple(map(reader_source, exercise.others))
    footer = ngettext("{n} cases passed.", "{n} cases passed.", len(trials))
    return Feedback("passed", head, message, printed, footer.format(n=len(trials)), others)


# --- finders: each returns the message for one kind of problem, or "" ------------------------


def reordered_parameters(attempt: Attempt) -> str:
    """The function has the parameters that the card names, but in another order."""
    own, asked = map(parameter_names, (attempt.function, attempt.exercise.reference))
    if own == asked or sorted(own) != sorted(asked):
        return ""
    message = _(
        "Your parameters are ({names}), in another order than on the card. The checker calls "
        "`{call}`, so some of them get the argument of another."
    )
    return message.format(names=", ".join(own), call=attempt.exercise.call)


def exception(attempt: Attempt) -> str:
    """The function raised an exception, or was stopped by the time limit."""
    error = attempt.failed.outcome.error
    if isinstance(error, TimeLimitExceeded):
        message = _("Your function was still running after {n} seconds. Is there an endless loop?")
        if len(attempt.trials) > 1:
            message = _(
                "Your function needs more than {n} seconds for a few small cases: that is too slow."
            )
        return message.format(n=round(guard.SECONDS))
    if isinstance(error, RecursionError):
        return _("Your function calls itself endlessly.")
    if isinstance(error, guard.CheckInsideAnswer):
        return _(
            "Your function calls `check`, which would call your function again, endlessly. "
            "The line belongs below the function: remove its indentation."
        )
    if guard.is_out_of_memory(error):
        return _(
            "Your function needs more memory than the limit ({limit} GB) for a small case. Is a "
            "tensor much larger than you intended, or does a list grow endlessly?"
        ).format(limit=f"{attempt.failed.outcome.gigabytes:.2g}")
    if error is None:
        return ""
    more = missing_name(error)
    message = _("Your function raised {error}")
    if more:
        message = _("Your function raised {error}. {more}")
    message = message.format(error=format_error(error), more=more)
    if isinstance(error, TypeError) and not failing_line(attempt.function, error):
        message += "\n" + _("The card asks for `{call}`.").format(call=attempt.exercise.call)
    if isinstance(error, AssertionError) and isinstance(attempt.failed.wanted, bool):
        message += "\n" + _("The card asks for True or False: return one, without `assert`.")
    return message


def modified_argument(attempt: Attempt) -> str:
    """The function wrote to one of its arguments."""
    names = list(inspect.signature(attempt.exercise.reference).parameters)
    modified = ", ".join(f"`{names[i]}`" for i in attempt.failed.outcome.modified)
    if any(
        isinstance(attempt.failed.case.arguments[i], nn.Module)
        for i in attempt.failed.outcome.modified
    ):
        return _(
            "Your function left a hook or other weights in what it was given ({names}). The caller "
            "still needs it unchanged: `head_outputs` restores a layer after its block."
        ).format(names=modified)
    return modified and _(
        "Your function changed what it was given ({names}). The caller still needs it: work on a "
        "new one, without `x[...] =`, `+=` or methods that change their object, such as `sort()` "
        "and those that end in `_`."
    ).format(names=modified)


def wrong_type(attempt: Attempt) -> str:
    """The answer has the wrong type, such as None or a NumPy value, or the wrong dtype or device.

    A different floating-point type makes an answer wrong only if the card asks for a dtype.
    """
    both = attempt.failed.outcome.answer, attempt.failed.wanted
    return type_error(*both) or dtype_error(*both)


def wrong_shape(attempt: Attempt) -> str:
    """The answer has the wrong shape."""
    case, wanted, outcome, _right = attempt.failed
    return shape_error(outcome.answer, wanted, attempt.exercise.axes, case.sizes)


def known_mistake(attempt: Attempt) -> str:
    """A known mistake has the same outcome as the function in every case."""
    return attempt.mistake


def lower_precision(attempt: Attempt) -> str:
    """The answer has a smaller dtype, in which the reference would be off by as much."""
    reference = attempt.exercise.reference
    for case, wanted, outcome, right in attempt.trials:
        if right:
            continue
        if not has_lower_precision(outcome.answer, wanted):
            return ""
        dtype = tensors_in(outcome.answer)[0].dtype
        rounded = guard.call_trusted(reference, with_dtype(case.arguments, dtype)).answer
        if not loses_only_digits(outcome.answer, wanted, rounded):
            return ""
        broken = property_error(attempt.exercise, case, outcome.answer)
        if broken and not property_error(attempt.exercise, case, rounded):
            return ""
    got, wanted = (tensors_in(x)[0] for x in (attempt.failed.outcome.answer, attempt.failed.wanted))
    return _(
        "Nearly right, but your numbers are {dtype} where {wanted} is expected, and here too many "
        "digits are lost. Compute in the dtype of the arguments, without `.float()`. A tensor made "
        "in your function needs the `dtype=` of an argument."
    ).format(dtype=got.dtype, wanted=wanted.dtype)


def broken_property(attempt: Attempt) -> str:
    """The answer lacks a property that every right answer has."""
    case, outcome = attempt.failed.case, attempt.failed.outcome
    return property_error(attempt.exercise, case, outcome.answer)


def unsteady_answer(attempt: Attempt) -> str:
    """The function gives another answer to the same arguments each time."""
    answer = attempt.failed.outcome.answer
    if not is_dense(answer):
        return ""
    torch.manual_seed(1), random.seed(1), np.random.seed(1)  # noqa: NPY002
    again = guard.call(attempt.function, attempt.failed.case.arguments)
    if again.error is not None or not is_dense(again.answer) or numbers_match(again.answer, answer):
        return ""
    return _(
        "Two calls with the same arguments give different answers. Is something random, or does "
        "it change from call to call?"
    )


def possible_mistake(attempt: Attempt) -> str:
    """A known mistake fits the failed case. This is only a guess, so the finder comes late."""
    return attempt.possible_mistake


def unexplained(attempt: Attempt) -> str:
    """No other finder has a message."""
    return _("The answer is not right yet.")


FORM = (reordered_parameters, exception, modified_argument, wrong_type, wrong_shape)
CONTENT = (
    known_mistake,
    lower_precision,
    broken_property,
    unsteady_answer,
    possible_mistake,
    unexplained,
)
FINDERS = (*FORM, *CONTENT)


def explain(attempt: Attempt) -> Feedback:
    """Return a card with the message of the first finder that has one.

    After a problem with the form, the card also names the known mistake if there is one.
    """
    exercise, failed = attempt.exercise, attempt.failed
    finder, message = next((f, text) for f in FINDERS if (text := f(attempt)))
    if finder in FORM and attempt.mistake:
        message = f"{message}\n{attempt.mistake}"
    error = failed.outcome.error
    note = failed.case.note if error and exercise.code else ""
    details = (
        failing_line(attempt.function, error),
        labeled(_("case"), _(note), column=15) if note else "",
        comparison(attempt) if finder in CONTENT else "",
        *printed_details(failed.outcome.printed, column=15 if error else 9),
    )
    footer = exercise.footer
    if (n_right := sum(t.right for t in attempt.trials)) and exercise.code:
        footer = _("Right in {n_right} of {total} cases. {footer}").format(
            n_right=n_right, total=len(attempt.trials), footer=footer
        )
    details = tuple(filter(None, details))
    counts = type(error) is not NameError  # which says nothing of what the reader understood
    return Feedback("failed", exercise.head, message, details, footer, counts=counts)


def comparison(attempt: Attempt) -> str:
    """Format the failed case, the answer beside the right one, and the relation between the two."""
    case, wanted, outcome, _right = attempt.failed
    lines = [labeled(_("case"), _(case.note))] if case.note else []
    lines.append(side_by_side(outcome.answer, wanted, show_wanted=attempt.exercise.code))
    if not attempt.mistake:
        names = set(re.findall(r"\w+", attempt.exercise.prompt))

        def on_card(sizes: Mapping[str, int]) -> dict[str, int]:
            return {name: size for name, size in sizes.items() if name in names}

        cases = [(t.outcome.answer, t.wanted, on_card(t.case.sizes)) for t in attempt.trials]
        lines.append(relation_message((outcome.answer, wanted, on_card(case.sizes)), cases))
    return "\n".join(filter(None, lines))
