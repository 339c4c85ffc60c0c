"""A loss of logits (B, L, V) and ids (B, L): which id is scored where, and what padding does."""

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.examination.calling import CannotCall, tensors_in
from attnbook.examination.crashes import described
from attnbook.examination.exam import Exam
from attnbook.language import _

SIZES = (23, 32, 50, 100)  # of a vocabulary, if none was said
SURE, BIG = 60.0, 1e4  # a logit, and a loss
N_MORE = 4  # words of padding
N_IDS, N_REAL = 8, 5  # the second sentence has padding after its fifth word


def examine_loss(exam: Exam) -> None:
    """Examine a loss for next-word prediction."""
    pad = 0 if exam.facts.pad is None else exam.facts.pad
    exam.report.note(_("I see a loss of logits (B, L, V) and ids (B, L)."))
    logits, ids = draw(exam, pad)
    size = logits.size(-1)
    value = loss_of(exam, logits, ids)
    (gradient,) = torch.autograd.grad(value, logits)
    if check_shift(exam, gradient, ids):
        return
    exam.report.attempt(_("padding in the loss"))
    if exam.facts.pad is not None and gradient[1, N_REAL - 1 :].any():
        sentence = _(
            "Logits whose next word is padding change the loss: the model learns to predict "
            "padding. Pass `ignore_index={pad}`."
        )
        exam.report.add("loss_padding", sentence.format(pad=pad))
        return
    exam.report.attempt(_("a model that is sure and right"))
    sure = SURE * F.one_hot(ids.roll(-1, 1).clamp(min=0), size)
    lowest, surer = (float(loss_of(exam, factor * sure, ids)) for factor in (1, 2))
    if not abs(lowest) < BIG or lowest < -0.01:
        sentence = _("A model that is sure and right has loss {loss:.3g}: it should be 0.")
        exam.report.add("loss", sentence.format(loss=lowest))
        return
    if lowest > 0.05 and surer > 0.99 * lowest and surer < 1.01 * lowest:
        sentence = _(
            "A model that is sure and right has loss {loss:.2f} instead of 0: a softmax is taken "
            "before the loss, which takes its own. Pass the logits."
        )
        exam.report.add("double_softmax", sentence.format(loss=lowest))
        return
    if is_number(exam, logits, ids):
        check_mean(exam, value, logits, ids, pad)


def draw(exam: Exam, pad: int) -> tuple[Tensor, Tensor]:
    """Draw logits and ids for a size of the vocabulary that works.

    Raises:  CannotCall
    """
    problem = ""
    for size in (exam.facts.vocabulary,) if exam.facts.vocabulary else SIZES:
        ids = torch.stack([torch.randperm(size - 1)[:N_IDS] + 1 for _sentence in range(2)])
        ids = torch.where(ids == pad, 0, ids)
        ids[1, N_REAL:] = pad
        logits = torch.randn(2, N_IDS, size, requires_grad=True)
        try:
            if loss_of(exam, logits, ids).requires_grad:
                return logits, ids
        except Exception as error:
            problem = problem or described(error)
    raise CannotCall(problem or _("it returns no number with a gradient"))


def is_number(exam: Exam, logits: Tensor, ids: Tensor) -> bool:
    """Whether the loss is one number, and not one for each word."""
    result = next(tensors_in(exam.subject.thing(logits, ids)), None)
    return result is not None and result.numel() == 1


def loss_of(exam: Exam, logits: Tensor, ids: Tensor) -> Tensor:
    """Return the loss as one number."""
    result = next(tensors_in(exam.subject.thing(logits, ids)), None)
    if result is None:
        raise CannotCall(_("it returns no tensor"))
    return result.mean()


def check_shift(exam: Exam, gradient: Tensor, ids: Tensor) -> bool:
    """The gradient is lowest at the id on which a position is scored: it should be the next."""
    exam.report.attempt(_("which word each position is scored on"))
    scored = gradient[0].argmin(-1)
    for shift in (0, 2, -1):
        positions = range(max(0, -shift), N_REAL)
        if all(scored[i] == ids[0, i + shift] for i in positions):
            sentences = {
                0: _(
                    "Position i is scored on word i, which it has read: shift the labels by one, "
                    "`logits[:, :-1]` against `ids[:, 1:]`."
                ),
                2: _(
                    "Position i is scored on word i + 2: the labels are shifted twice, as by a "
                    "data loader and by the loss."
                ),
                -1: _(
                    "Position i is scored on word i − 1: the labels are shifted to the wrong side. "
                    "Write `logits[:, :-1]` against `ids[:, 1:]`."
                ),
            }
            exam.report.add("shift_twice" if shift == 2 else "shift_none", sentences[shift])
            return True
    if all(scored[i] == ids[0, i + 1] for i in range(N_REAL)):
        return False
    sentence = _(
        "The loss does not fall when the logit of the next word grows. It is the negative mean of "
        "the next words' log-probabilities."
    )
    exam.report.add("loss", sentence)
    return True


def check_mean(exam: Exam, value: Tensor, logits: Tensor, ids: Tensor, pad: int) -> None:
    """More padding after the sentences must not change the loss."""
    if exam.facts.pad is None:
        return
    exam.report.attempt(_("more padding in the batch"))
    blank = torch.full((len(ids), N_MORE), pad)
    noise = torch.randn(len(ids), N_MORE, logits.size(-1))
    longer = loss_of(exam, torch.cat([logits, noise], 1), torch.cat([ids, blank], 1))
    if (longer - value).abs() <= 1e-4 * value.abs():
        return
    sentence = _(
        "With {n} more words of padding after each sentence, the loss goes from {before:.3f} to "
        "{after:.3f}: the padding is in the divisor of the mean. Divide by the number of real "
        "words, `(labels != {pad}).sum()`."
    )
    sentence = sentence.format(n=N_MORE, before=float(value), after=float(longer), pad=pad)
    exam.report.add("loss_padding", sentence)
