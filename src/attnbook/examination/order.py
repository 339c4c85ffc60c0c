"""The order of the rows: it counts only through positions and a causal mask."""

import torch
from torch import Tensor, nn

from attnbook.examination.layer_input import LayerInput
from attnbook.examination.norms import is_norm
from attnbook.examination.trace import Fused, Softmax, attentions, traced
from attnbook.language import _

ORDER = [3, 0, 4, 1, 2, 5]  # the last row stays where it is


def check_order(given: LayerInput, *, leaks: bool) -> bool:
    """Look at what another order of the rows does; return whether something was found.

    A causal layer's last row sees all others, so it alone tells whether their order counts.
    """
    exam, facts = given.exam, given.exam.facts
    if given.masked or facts.window:
        return False
    exam.report.attempt(_("another order of the rows"))
    output = exam.subject(*given.arguments())
    shuffled = exam.subject(*given.arguments(given.x[:, ORDER]))
    if facts.causal:
        same = exam.subject.same(shuffled[:, -1], output[:, -1])
    else:
        same = exam.subject.same(shuffled, output[:, ORDER])
    if same and facts.positions:
        sentence = _(
            "Another order of the rows changes nothing, although you said that positions count: "
            "they do not reach the scores."
        )
        exam.report.add("order_blind", sentence)
        return True
    if same or facts.positions or leaks:
        return False
    if mixes_columns(given):
        sentence = _(
            "Equal rows get unequal outputs, and neither weights nor positions added to them "
            "explain that: "
        )
        exam.report.add("heads", sentence + mixed())
        return True
    if facts.positions is None:
        exam.report.note(
            _("The order of the rows counts. I take it that this is meant: `positions=True`.")
        )
        return False
    sentence = _(
        "Another order of the rows changes what each of them gets, although you said that it does "
        "not count (`positions=False`)."
    )
    exam.report.add("order_counts", sentence)
    return True


def mixed() -> str:
    """Say how rows are mixed, and how they are not."""
    return _(
        "rows are mixed, as by `view` or `reshape` without `transpose`. Split heads by "
        "`x.view(B, L, H, d).transpose(1, 2)`, and join them by "
        "`y.transpose(1, 2).reshape(B, L, H * d)`."
    )


def check_blindness(given: LayerInput, seen: Tensor) -> bool:
    """If every row may see every row and some do not, and equal rows differ, rows are mixed.

    In a window equal rows stay equal, and positions hide no row.
    """
    if not given.keep.all() or seen.all() or spread(given, 1.0) < 1e-4:
        return False
    i, j = (~seen).nonzero()[0].tolist()
    sentence = _("Row {i} does not move when row {j} changes, and equal rows get unequal outputs: ")
    given.exam.report.add("heads", sentence.format(i=i, j=j) + mixed())
    return True


def mixes_columns(given: LayerInput) -> bool:
    """Whether equal rows get outputs that differ by more than added positions explain.

    Equal rows have equal values, so every average of them is the same, whatever the weights are.
    Positions that are added to the rows are small beside rows 1000 times as large. A convolution
    treats rows differently near the ends only: of its results, some neighbors are equal.
    """
    if spread(given, 1.0) <= 1e-4 or spread(given, 1000.0) <= 0.02:
        return False
    outputs: list[Tensor] = []
    events = traced(lambda: outputs.append(outputs_of_equal_rows(given, 1.0)))
    return not any(some_neighbors_equal(t) for t in (*outputs, *(a.v for a in attentions(events))))


def some_neighbors_equal(rows: Tensor) -> bool:
    """Whether two neighbors are equal in all sentences, and not all rows are."""
    steps = rows.diff(dim=-2).abs().amax(-1).flatten(0, -2).amax(0)
    equal = steps <= 1e-4 * rows.abs().max()
    return bool(equal.any() and not equal.all())


def spread(given: LayerInput, factor: float) -> float:
    """Return by how much the outputs of equal rows differ, beside the largest number."""
    output = outputs_of_equal_rows(given, factor)
    return float((output - output[:, -1:]).abs().max() / output.abs().max())


def outputs_of_equal_rows(given: LayerInput, factor: float) -> Tensor:
    """Call the layer with rows that are all equal."""
    equal = (factor * given.x[:, :1]).expand_as(given.x).contiguous()
    return given.exam.subject(*given.arguments(equal))


def check_single_row(given: LayerInput) -> None:
    """A single row has weight 1 whatever it says, so its output is an affine function of it.

    A norm makes it another function, and a softmax that was seen needs no such test.
    """
    exam, facts = given.exam, given.exam.facts
    if facts.block or given.masked or facts.layout == "LD" or given.context is not None:
        return
    if weights_are_seen(given) or has_norm(given):
        return
    exam.report.attempt(_("a single row"))
    a, b = given.x[:1, :1], given.x[1:2, :1]
    zero = torch.zeros_like(a)

    def output(row: Tensor) -> Tensor:
        return exam.subject(row)

    if exam.subject.same(output(a + b), output(a) + output(b) - output(zero)):
        return
    sentence = _(
        "With a single row there is nothing to choose from, and still the output is no affine "
        "function of it. Is that a sink or a gate? Otherwise the softmax does not run over the "
        "keys, or weights do not sum to 1."
    )
    exam.report.add("one_row", sentence)


def weights_are_seen(given: LayerInput) -> bool:
    """Whether a softmax of PyTorch was seen at work, or is known to work."""
    roots = given.exam.subject.modules
    if any(isinstance(m, nn.MultiheadAttention) for root in roots for m in root.modules()):
        return True
    events = traced(lambda: given.exam.subject(*given.arguments()))
    return any(isinstance(event, (Softmax, Fused)) for event in events)


def has_norm(given: LayerInput) -> bool:
    """Whether the layer contains a norm."""
    parts = (m for root in given.exam.subject.modules for m in root.modules())
    return any(is_norm(type(part).__name__) for part in parts)
