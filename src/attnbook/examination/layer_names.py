"""Name the mistake that gives a layer's numbers."""

from collections.abc import Iterator

from torch import Tensor

from attnbook.examination.exam import Exam
from attnbook.examination.layer_input import LayerInput
from attnbook.examination.projections import Projections, readings
from attnbook.examination.rebuild import Projected, Rebuilt, project
from attnbook.examination.reference import (
    divided_head,
    evidence,
    largest,
    measured_scale,
    scaled_head,
    variants,
)
from attnbook.examination.trace import traced
from attnbook.examination.traced_scores import scales
from attnbook.language import _, ngettext
from attnbook.mistakes.head import RIGHT

MEASURED = 2  # readings for which the scale is measured


def name_layer(given: LayerInput, output: Tensor) -> bool:
    """Rebuild the layer's numbers, and report the mistake if there is one.

    Return whether its matrices are known, and nothing that was tried gives its numbers.

    All readings of the matrices are tried without a mistake first, because one reading with a
    mistake may give the numbers of another reading without one.
    """
    exam = given.exam
    module = exam.subject.module
    if module is None or exam.facts.block or exam.facts.scale == "own":
        return False
    scale = exam.facts.scale
    right = right_layer(exam)
    read = list(readings(module, exam.facts))
    if not read:
        return False
    exam.report.attempt(_("the same matrices in an attention of our own"))
    found = projected(given, read)
    for each in found:
        if right.fits(given, each, output):
            heads = ngettext(
                "I found its matrices, and {n} head; its numbers are those of attention.",
                "I found its matrices, and {n} heads; its numbers are those of attention.",
                each.reading.n_heads,
            )
            exam.report.note(heads.format(n=each.reading.n_heads))
            return False
    if read[0].n_heads > 1 and read[0].n_in * read[0].n_heads == given.x.size(-1):
        sentence = _(
            "All {n} heads use the same small matrix. Each needs its own: project to the whole "
            "width first, and split then."
        )
        exam.report.add("shared_heads", sentence.format(n=read[0].n_heads))
        return False
    if name_mistake(given, found, right, output):
        return False
    if not isinstance(scale, (int, float)) and name_scale(given, found, output):
        return False
    return any(each.reading.usual for each in found)


def right_layer(exam: Exam) -> Rebuilt:
    """Return a layer of our own with the scale that was said."""
    scale = exam.facts.scale
    return Rebuilt(scaled_head(float(scale)) if isinstance(scale, (int, float)) else RIGHT)


def projected(given: LayerInput, read: list[Projections]) -> list[Projected]:
    """Apply each reading of the matrices that fits the rows."""
    return [p for p in (project(given, reading) for reading in read) if p is not None]


def name_mistake(
    given: LayerInput, found: list[Projected], right: Rebuilt, output: Tensor, where: str = ""
) -> bool:
    """Report the mistake that gives these numbers; return whether there is one."""
    for each in found:
        for fault, sentence, rebuilt in mistakes(given, each.reading):
            if rebuilt.fits(given, each, output):
                numbers = evidence(output, right.output(given, each))
                given.exam.report.add(fault, where + sentence + numbers)
                return True
    return False


def mistakes(given: LayerInput, reading: Projections) -> Iterator[tuple[str, str, Rebuilt]]:
    """Yield layers with one mistake each."""
    how = {
        "view": _("split by `view` without `transpose`: a head is a block of rows, not of columns"),
        "reshape": _("joined by `reshape` without `transpose`: rows contain pieces of other rows"),
        "both": _("split and joined by `view` without `transpose`"),
    }
    ending = _(
        "Split by `x.view(B, L, H, d).transpose(1, 2)`, and join by "
        "`y.transpose(1, 2).reshape(B, L, H * d)`."
    )
    for key, split, join in (
        ("view", "view", ""),
        ("reshape", "", "view"),
        ("both", "view", "view"),
    ):
        rebuilt = Rebuilt(split=split or "transpose", join=join or "transpose")
        sentence = _("The heads are {how}. {ending}").format(how=how[key], ending=ending)
        yield "heads", sentence, rebuilt
    d_model, n_heads = given.x.size(-1), reading.n_heads
    if n_heads > 1:
        for size in dict.fromkeys((d_model, reading.width, n_heads)):
            sentence = _(
                "The scores are divided by √{wrong}. A head is {width} / {n} = {right} wide: "
                "divide by √{right}."
            ).format(wrong=size, width=reading.width, n=n_heads, right=reading.width // n_heads)
            yield "scale", sentence, Rebuilt(divided_head(size))
        order = " ".join(str(i % 2) for i in range(4))
        sentence = _(
            "The set of key heads is repeated ({order}). Repeat each of them instead, with "
            "`repeat_interleave`."
        )
        yield "groups", sentence.format(order=order), Rebuilt(tiled=True)
    if not reading.usual:
        return  # the roles are guessed, so a mistake may be another reading
    yield from exchanged()
    has_mask = given.scores_keep is not None
    for fault, sentence, head in variants(has_mask=has_mask):
        if fault == "mask_ignored" and not given.masked:
            fault = "sees_future"
            sentence = _(
                "Rows see later rows: your matrices without any mask give your numbers. Hide them "
                "before the softmax, with `torch.ones(L, L, dtype=torch.bool).triu(1)` or, in "
                "F.scaled_dot_product_attention, with `is_causal=True`."
            )
        yield fault, sentence, Rebuilt(head)


def exchanged() -> Iterator[tuple[str, str, Rebuilt]]:
    """Yield layers in which rows of one role are used in two."""
    names = {"q": _("queries"), "k": _("keys"), "v": _("values")}
    for roles in ("kkv", "vkv", "qqv", "qvv", "qkq", "qkk"):
        position = next(i for i in range(3) if roles[i] != "qkv"[i])
        sentence = _(
            "The {wrong} are used as {right}, too: with your matrices, that gives your numbers."
        )
        sentence = sentence.format(wrong=names[roles[position]], right=names["qkv"[position]])
        yield "values" if position == 2 else "numbers", sentence, Rebuilt(roles=roles)


def call(given: LayerInput) -> Tensor:
    return given.exam.subject(*given.arguments())


def name_scale(given: LayerInput, found: list[Projected], output: Tensor) -> bool:
    """The scores may be multiplied by any other number; return whether they are."""
    seen = [scale for scale, _width in scales(traced(lambda: call(given)))]
    for each in [p for p in found if p.reading.usual][:MEASURED]:

        def distance(scale: float, each: Projected = each) -> float:
            own = Rebuilt(scaled_head(scale)).output(given, each)
            fits = own is not None and own.shape == output.shape
            return largest(output - own if fits and own is not None else None)

        scale = seen[0] if seen else measured_scale(distance)
        if Rebuilt(scaled_head(scale)).fits(given, each, output):
            sentence = _(
                "The scores are multiplied by {scale:.3g}, and 1/√d_k is {right:.3g}. If you mean "
                "it, say `scale={scale:.3g}`."
            )
            right = (each.reading.width // each.reading.n_heads) ** -0.5
            given.exam.report.add("scale", sentence.format(scale=scale, right=right))
            return True
    return False
