"""`examine` finds most of the typos that a machine makes and that raise no error."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

from attnbook import examine
from tests.examination import typo_hosts as hosts
from tests.support.mutants import mutants

FLOOR = 0.85  # of the typos that change the numbers and raise no error


class Host(NamedTuple):
    """Right code, what its author says of it, what it is called with, and a step between typos."""

    make: Callable[..., Any]
    facts: dict[str, Any]
    inputs: Callable[[], tuple[torch.Tensor, ...]]
    step: int = 1


def ids(n):
    return torch.randint(1, hosts.V, (3, n))


HOSTS = [
    Host(
        hosts.core,
        {"kind": "core", "mask": "keep", "mask_shape": "LL", "heads": 4},
        lambda: (*torch.randn(3, 2, 4, 5, 4), torch.rand(5, 5) < 0.7),
    ),
    Host(
        hosts.layer,
        {"kind": "layer", "causal": False, "mask": "keep", "mask_shape": "BL"},
        lambda: (torch.randn(2, 5, hosts.D), torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]) > 0),
        2,
    ),
    Host(
        hosts.causal_layer,
        {"kind": "layer", "causal": True},
        lambda: (torch.randn(2, 5, hosts.D),),
        3,
    ),
    Host(
        hosts.block,
        {"kind": "layer", "causal": True, "block": "pre"},
        lambda: (torch.randn(2, 5, hosts.D),),
    ),
    Host(hosts.language_model, {"kind": "lm", "step": "step"}, lambda: (ids(6),), 6),
    Host(hosts.translator, {"kind": "seq2seq", "pad": 0}, lambda: (ids(5), ids(4)), 8),
    Host(
        hosts.loss,
        {"kind": "loss", "pad": 0},
        lambda: (torch.randn(3, 6, hosts.V), ids(6) * torch.tensor([1, 1, 1, 1, 0, 0])),
    ),
]


def numbers(host: Host, make: Callable[..., Any]) -> torch.Tensor | None:
    """Return all that a piece of code gives, or None if it fails."""
    torch.manual_seed(0)
    try:
        thing = make()
        torch.manual_seed(1)
        inputs = host.inputs()
        results = [thing(*inputs)]
        if "step" in host.facts:
            cache, parts = None, []
            for part in inputs[0].split([2, 1, 3], 1):
                logits, cache = thing.step(part, cache)
                parts.append(logits)
            results.append(torch.cat(parts, 1))
        flat = torch.cat([r.detach().flatten() for r in results])
    except Exception:
        return None
    return flat if flat.isfinite().all() else None


def silent_typos(host: Host):
    """Yield the typos that raise no error and change the numbers."""
    right = numbers(host, host.make)
    for index, (source, make) in enumerate(mutants(host.make)):
        if index % host.step:
            continue
        wrong = numbers(host, make)
        if wrong is not None and wrong.shape == right.shape and not torch.allclose(wrong, right):
            yield source, make


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.make.__name__)
def test_the_code_without_typos_is_right(host):
    torch.manual_seed(0)
    report = examine(host.make(), **host.facts)
    assert not report.is_faulty, report
    assert not report.refusal, report


def test_most_silent_typos_are_found():
    missed, n_found = [], 0
    for host in HOSTS:
        for source, make in silent_typos(host):
            torch.manual_seed(0)
            report = examine(make(), **host.facts)
            if report.findings or report.refusal:
                n_found += 1
            else:
                missed.append(source)
    n_all = n_found + len(missed)
    assert n_all > 50
    assert n_found >= FLOOR * n_all, f"{n_found} of {n_all}, without:\n" + "\n\n".join(missed)
