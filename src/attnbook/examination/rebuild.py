"""Rebuild a layer's numbers from its own matrices, right or with one known mistake."""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from attnbook.examination.layer_input import LayerInput
from attnbook.examination.projections import Projections, readings
from attnbook.examination.reference import (
    divided_head,
    largest,
    measured_scale,
    run_head,
    scaled_head,
    variants,
)
from attnbook.language import _
from attnbook.mistakes.head import RIGHT, Head

MEASURED = 2  # readings for which the scale is measured


class Projected(NamedTuple):
    """Queries, keys and values (B, L, H · d), as one reading of the matrices gives them."""

    reading: Projections
    q: Tensor
    k: Tensor
    v: Tensor


def project(given: LayerInput, reading: Projections) -> Projected | None:
    """Apply the matrices to the rows; return None if the shapes do not fit."""
    x = given.x.to(given.exam.subject.device, given.exam.subject.dtype)
    context = x if given.context is None else given.context.to(x)
    try:
        rows = reading.q(x), reading.k(context), reading.v(context)
    except (RuntimeError, IndexError):
        return None
    return Projected(reading, *(each.cpu() for each in rows))


class Rebuilt(NamedTuple):
    """A layer of our own with the same matrices: how heads are split and joined, and the head."""

    head: Head = RIGHT
    split: str = "transpose"
    join: str = "transpose"
    tiled: bool = False  # the key heads 0 1 as 0 1 0 1

    def output(self, given: LayerInput, found: Projected) -> Tensor | None:
        """Return what this layer gives, or None if the shapes do not fit."""
        h = found.reading.n_heads
        try:
            width = found.q.size(-1) // h
            q = split_heads(found.q, h, self.split)
            k = split_heads(found.k, found.k.size(-1) // width, self.split)
            v = split_heads(found.v, k.size(1), self.split)
            if k.size(1) != h:
                k, v = (repeated(t, h, self.tiled) for t in (k, v))
            y = run_head(self.head, q, k, v, given.scores_keep)
            if y is None:
                return None
            return found.reading.out(join_heads(y, self.join).to(given.exam.subject.device)).cpu()
        except (RuntimeError, IndexError, ZeroDivisionError):
            return None

    def fits(self, given: LayerInput, found: Projected, output: Tensor) -> bool:
        """Whether this layer gives the same numbers."""
        own = self.output(given, found)
        return (
            own is not None and own.shape == output.shape and given.exam.subject.same(output, own)
        )


def split_heads(x: Tensor, n_heads: int, how: str) -> Tensor:
    """Split (B, L, H · d) into (B, H, L, d), rightly or by view alone."""
    b, n, width = x.shape
    if how == "view":
        return x.reshape(b, n_heads, n, width // n_heads)
    return x.unflatten(-1, (n_heads, width // n_heads)).transpose(1, 2)


def join_heads(y: Tensor, how: str) -> Tensor:
    """Join (B, H, L, d) to (B, L, H · d), rightly or by view alone."""
    b, n_heads, n, width = y.shape
    return (y if how == "view" else y.transpose(1, 2)).reshape(b, n, n_heads * width)


def repeated(x: Tensor, n_heads: int, tiled: bool) -> Tensor:
    times = n_heads // x.size(1)
    return x.repeat(1, times, 1, 1) if tiled else x.repeat_interleave(times, 1)


def name_layer(given: LayerInput, output: Tensor) -> None:
    """Rebuild the layer's numbers, and report the mistake if there is one.

    All readings of the matrices are tried without a mistake first, because one reading with a
    mistake may give the numbers of another reading without one.
    """
    exam = given.exam
    module = exam.subject.module
    if module is None or exam.facts.block or exam.facts.scale == "own":
        return
    scale = exam.facts.scale
    right = Rebuilt(scaled_head(float(scale)) if isinstance(scale, (int, float)) else RIGHT)
    read = list(readings(module, exam.facts))
    if not read:
        return
    exam.report.attempt(_("the same matrices in an attention of our own"))
    found = [p for p in (project(given, reading) for reading in read) if p is not None]
    for each in found:
        if right.fits(given, each, output):
            heads = _("I found its matrices, and {n} heads; its numbers are those of attention.")
            exam.report.note(heads.format(n=each.reading.n_heads))
            return
    if read[0].n_heads > 1 and read[0].n_in * read[0].n_heads == given.x.size(-1):
        sentence = _(
            "All {n} heads use the same small matrix. Each needs its own: project to the whole "
            "width first, and split then."
        )
        exam.report.add("shared_heads", sentence.format(n=read[0].n_heads))
        return
    for each in found:
        for fault, sentence, rebuilt in mistakes(given, each.reading):
            if rebuilt.fits(given, each, output):
                exam.report.add(fault, sentence)
                return
    if not isinstance(scale, (int, float)):
        name_scale(given, found, output)


def mistakes(given: LayerInput, reading: Projections) -> Iterator[tuple[str, str, Rebuilt]]:
    """Yield layers with one mistake each."""
    how = {
        "view": _("split by `view` without `transpose`: a head is a block of rows, not of columns"),
        "reshape": _("joined by `reshape` without `transpose`: rows contain pieces of other rows"),
        "both": _("split and joined by `view` without `transpose`"),
    }
    ending = _(
        "With your matrices, that gives exactly your numbers. Split by "
        "`x.view(B, L, H, d).transpose(1, 2)`, and join by "
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
    has_mask = given.scores_keep is not None
    for fault, sentence, head in variants(has_mask=has_mask):
        if fault == "mask_ignored" and not given.masked:
            fault = "sees_future"
            sentence = _("Rows see later rows: your matrices without any mask give your numbers.")
        yield fault, sentence, Rebuilt(head)


def name_scale(given: LayerInput, found: list[Projected], output: Tensor) -> None:
    """The scores may be multiplied by any other number."""
    for each in [p for p in found if p.reading.usual][:MEASURED]:

        def distance(scale: float, each: Projected = each) -> float:
            own = Rebuilt(scaled_head(scale)).output(given, each)
            fits = own is not None and own.shape == output.shape
            return largest(output - own if fits and own is not None else None)

        scale = measured_scale(distance)
        if Rebuilt(scaled_head(scale)).fits(given, each, output):
            sentence = _("The scores are multiplied by {scale:.3g}, and 1/√d_k is {right:.3g}.")
            right = (each.reading.width // each.reading.n_heads) ** -0.5
            given.exam.report.add("scale", sentence.format(scale=scale, right=right))
            return
