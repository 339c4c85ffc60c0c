"""Tables of positions, and rotations."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attnbook.examination.calling import CannotCall, tensors_in
from attnbook.examination.crashes import brief, described
from attnbook.examination.exam import Exam
from attnbook.language import _

LENGTH, WIDTH = 200, 16
BASE = 10000.0
N_ROWS, PAIR_WIDTH = 32, 8
SHORT, FAR = 7, 4000  # how far a pair of positions is shifted
Turn = Callable[[Tensor, int], Tensor]  # rows (32, 8) at a position


def examine_table(exam: Exam) -> None:
    """Examine a function that makes a sinusoidal table (L, D) from L and D."""
    exam.report.note(_("I see a table of positions."))
    table = read_table(exam)
    exam.report.attempt(_("one step as a rotation"))
    step = torch.linalg.lstsq(table[:-1], table[1:]).solution
    if (table[:-1] @ step - table[1:]).abs().max() > 1e-3:
        sentence = _(
            "Moving by one position is no rotation: the sine and the cosine of a pair have "
            "different frequencies. Both need the exponent of the pair, 2k / D."
        )
        exam.report.add("position_table", sentence)
        return
    exam.report.attempt(_("the angles of one step"))
    angles = [
        math.asin(max(-1.0, min(1.0, at_1)))
        for at_0, at_1 in zip(table[0].tolist(), table[1].tolist(), strict=True)
        if abs(at_0) < 1e-6
    ]
    wanted = [BASE ** (-2 * k / WIDTH) for k in range(WIDTH // 2)]
    pairs = zip(sorted(angles), sorted(wanted), strict=False)
    if len(angles) == len(wanted) and any(abs(a - w) > 0.02 * w for a, w in pairs):
        sentence = _(
            "The hands turn by {fast:.3g} to {slow:.3g} per position. They should turn by 1 to "
            "{wanted:.3g}: pair k by 10000^(−2k / D)."
        )
        sentence = sentence.format(fast=max(angles), slow=min(angles), wanted=min(wanted))
        exam.report.add("position_table", sentence)
    check_odd_width(exam)


def read_table(exam: Exam) -> Tensor:
    """Return the table (200, 16), whatever the order of the arguments and the axes of size 1.

    Raises:  CannotCall
    """
    problem = ""
    for sizes in ((LENGTH, WIDTH), (WIDTH, LENGTH)):
        try:
            result = next(tensors_in(exam.subject.thing(*sizes)), None)
        except Exception as error:
            problem = problem or described(error)
            continue
        if result is not None and tuple(result.squeeze().shape) == (LENGTH, WIDTH):
            return result.detach().squeeze().double()
    raise CannotCall(problem or _("it returns no table (L, D)"))


def check_odd_width(exam: Exam) -> None:
    """An odd width has to be refused with a sentence, or to work."""
    exam.report.attempt(_("an odd width"))
    try:
        exam.subject.thing(8, 7)
    except ValueError:
        pass
    except Exception as error:
        sentence = _("An odd width raises {error}. Refuse it with a sentence of your own.")
        exam.report.add("odd_width", sentence.format(error=brief(error)))


def examine_rotary(exam: Exam) -> None:
    """Examine a function (x, positions) that rotates rows by their positions."""
    exam.report.note(_("I see rotary positions."))
    turn = find_turn(exam)
    q, k = torch.randn(2, N_ROWS, PAIR_WIDTH).double()
    norm = (q.norm(dim=-1) * k.norm(dim=-1)).mean()

    def scores(m: int, n: int) -> Tensor:
        return (turn(q, m) * turn(k, n)).sum(-1)

    def change(shift: int) -> float:
        return float((scores(5, 3) - scores(5 + shift, 3 + shift)).abs().mean() / norm)

    exam.report.attempt(_("the same distance at other positions"))
    if change(SHORT) > 0.1:
        sentence = _(
            "Between positions 5 and 3 and between 12 and 10 the distance is 2, and still the "
            "scores differ. So the pairs and their angles do not belong together: halves need the "
            "angles as (a, b, …, a, b, …), neighbors as (a, a, b, b, …)."
        )
        exam.report.add("rotary", sentence)
        return
    exam.report.attempt(_("no rotation at all"))
    if float((scores(5, 3) - scores(5, 4)).abs().mean() / norm) < 1e-6:
        sentence = _("The scores do not depend on the distance: nothing is rotated.")
        exam.report.add("rotary", sentence)
        return
    try:
        far = change(FAR)
    except Exception:  # a table of limited length
        return
    if far > 2e-3:
        sentence = _(
            "At position {n}, the score at distance 2 is another than at position 5: the angles "
            "have too few digits. Compute them in float32, whatever the dtype of the model is."
        )
        exam.report.add("rotary_precision", sentence.format(n=FAR))


def find_turn(exam: Exam) -> Turn:
    """Return a way to rotate rows at one position.

    Raises:  CannotCall
    """
    problem = ""
    for turn in turns(exam.subject.thing):
        try:
            results = [turn(torch.randn(N_ROWS, PAIR_WIDTH).double(), m) for m in (0, 5)]
        except Exception as error:
            problem = problem or described(error)
            continue
        if all(r.shape == (N_ROWS, PAIR_WIDTH) and r.isfinite().all() for r in results):
            return turn
    raise CannotCall(problem or _("it returns no rows of the shape that it was given"))


def turns(function: Callable[..., Tensor]) -> Iterator[Turn]:
    """Yield ways to rotate rows: with positions as a tensor, or as a sequence from 0."""

    def three_axes(x: Tensor, m: int) -> Tensor:
        return function(x[:, None], torch.tensor([m]))[:, 0]

    def four_axes(x: Tensor, m: int) -> Tensor:
        return function(x[None, :, None], torch.tensor([m]))[0, :, 0]

    def from_zero(x: Tensor, m: int) -> Tensor:
        return function(x[:, None].expand(-1, m + 1, -1).contiguous())[:, m]

    def start(x: Tensor, m: int) -> Tensor:
        return function(x[:, None], m)[:, 0]

    yield from (three_axes, four_axes, from_zero, start)
