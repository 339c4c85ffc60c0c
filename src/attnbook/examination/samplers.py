"""Filters of logits, top-p and top-k, and a sampler that combines them with a temperature."""

import re
from typing import Any

import torch
from torch import Tensor

from attnbook.examination.calling import CannotCall, parameters_of, tensors_in
from attnbook.examination.crashes import described
from attnbook.examination.exam import Exam
from attnbook.language import _

PROBABILITIES = (0.2, 0.4, 0.1, 0.3)  # not in order, so that a wrong order shows
P, N_KEPT = 0.6, 2
K, N_LOGITS, N_ROWS = 3, 9, 3
TEMPERATURE, TOP_P = 0.5, 0.8


def kept_by(exam: Exam, logits: Tensor, limit: float) -> Tensor:
    """Return which logits a filter keeps, boolean, whether it returns logits or probabilities.

    Raises:  CannotCall
    """
    problem = ""
    for given in (logits, logits[0]):
        try:
            result = next(tensors_in(exam.subject.thing(given, limit)), None)
        except Exception as error:
            problem = problem or described(error)
            continue
        if result is not None and result.shape == given.shape:
            result = result.reshape(-1, logits.size(-1))
            if result.dtype == torch.bool:
                return result
            is_distribution = (result >= 0).all() and (result.sum(-1) - 1).abs().max() < 1e-3
            return result > (0 if is_distribution else -1e4)
    raise CannotCall(problem or _("it returns no logits of the shape that it was given"))


def examine_top_p(exam: Exam) -> None:
    """Examine a filter (logits, p): the fewest tokens whose probabilities reach p."""
    exam.report.note(_("I see a top-p filter."))
    exam.report.attempt(_("four tokens with p = {p}").format(p=P))
    kept = kept_by(exam, torch.tensor([PROBABILITIES]).log(), P)[0]
    largest = torch.tensor(PROBABILITIES).argsort(descending=True)
    if int(kept.sum()) != N_KEPT or not kept[largest[:N_KEPT]].all():
        sentence = _(
            "Of tokens with probabilities 0.2, 0.4, 0.1 and 0.3, with p = 0.6 it keeps {kept}. "
            "The two largest reach 0.7: keep the token that makes the sum reach p, and no more."
        )
        names = ", ".join(str(p) for p, k in zip(PROBABILITIES, kept.tolist(), strict=True) if k)
        exam.report.add("top_p", sentence.format(kept=names or _("none")))


def examine_top_k(exam: Exam) -> None:
    """Examine a filter (logits, k)."""
    exam.report.note(_("I see a top-k filter."))
    exam.report.attempt(_("{n} tokens with k = {k}").format(n=N_LOGITS, k=K))
    logits = torch.randn(N_ROWS, N_LOGITS) + 5 * torch.arange(N_ROWS)[:, None]
    kept = kept_by(exam, logits, K)
    logits = logits[: len(kept)]
    right = logits >= logits.topk(K).values[:, -1:]
    if torch.equal(kept, right):
        return
    counts = kept.sum(-1).tolist()
    if kept[0].equal(right[0]) or set(counts) != {counts[0]}:
        sentence = _(
            "With k = {k} it keeps {n} tokens of the rows of a batch: each row needs a limit of "
            "its own, `logits.topk(k).values[..., -1:]`."
        )
        n = ", ".join(map(str, counts))
        exam.report.add("top_k", sentence.format(k=K, n=n))
        return
    sentence = _("With k = {k} it keeps {n} of {all} tokens, or not the largest ones.")
    exam.report.add("top_k", sentence.format(k=K, n=counts[0], all=N_LOGITS))


def nucleus(logits: Tensor) -> Tensor:
    """Keep the fewest tokens whose probabilities reach TOP_P; set the other logits to −∞."""
    ordered, order = logits.sort(-1, descending=True)
    probabilities = ordered.softmax(-1)
    over = probabilities.cumsum(-1) - probabilities >= TOP_P
    left_out = torch.zeros_like(over).scatter(-1, order, over)
    return logits.masked_fill(left_out, -torch.inf)


def examine_sampler(exam: Exam) -> None:
    """Examine a function (logits, temperature, p) that returns probabilities."""
    exam.report.note(_("I see a sampler: logits, temperature and p to probabilities."))
    exam.report.attempt(_("temperature with top-p"))
    logits = torch.randn(4, 12)
    result = probabilities_of(exam, logits)
    right = nucleus(logits / TEMPERATURE).softmax(-1)
    if same(result, right):
        return
    others = {
        _("Temperature comes after top-p, so p cuts other probabilities than those drawn from."): (
            nucleus(logits) / TEMPERATURE
        ),
        _("The temperature has no effect."): nucleus(logits),
        _("The logits are multiplied by the temperature: divide."): nucleus(logits * TEMPERATURE),
        _("top-p has no effect."): logits / TEMPERATURE,
    }
    for sentence, other in others.items():
        if same(result, other.softmax(-1)):
            exam.report.add("temperature", sentence)
            return
    sentence = _("The probabilities are not those of temperature first, and then top-p.")
    exam.report.add("temperature", sentence)


def same(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs().max() < 1e-5)


def probabilities_of(exam: Exam, logits: Tensor) -> Tensor:
    """Call the sampler, and return its probabilities even if it returns logits.

    Raises:  CannotCall
    """
    named: dict[str, Any] = {}
    for parameter in parameters_of(exam.subject.thing)[1:]:
        if re.fullmatch("temp.*|t|tau", parameter.name, re.IGNORECASE):
            named[parameter.name] = TEMPERATURE
        elif re.fullmatch("p|top_?p|nucleus.*", parameter.name, re.IGNORECASE):
            named[parameter.name] = TOP_P
    problem = ""
    for positional, by_name in (((), named), ((TEMPERATURE, TOP_P), {})):
        if not positional and len(by_name) != 2:
            continue
        try:
            result = next(tensors_in(exam.subject.thing(logits, *positional, **by_name)), None)
        except Exception as error:
            problem = problem or described(error)
            continue
        if result is not None and result.shape == logits.shape and result.is_floating_point():
            is_distribution = (result >= 0).all() and (result.sum(-1) - 1).abs().max() < 1e-3
            return result if is_distribution else result.softmax(-1)
    raise CannotCall(problem or _("it returns no probabilities (B, V)"))
