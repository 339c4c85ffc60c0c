"""Random arguments for a core."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attnbook.examination.exam import Exam
from attnbook.examination.masks import causal_rows, in_form, random_keep
from attnbook.examination.reference import run_head, scaled_head
from attnbook.mistakes.head import RIGHT, Head

N_QUERIES, N_KEYS, WIDTH, BATCH = 5, 7, 4, 2


@dataclass(frozen=True)
class Core:
    """Random arguments for a core.

    Shapes:  q (B, H, Lq, D)   k, v (B, Hkv, Lk, D)   keep (B, Lq, Lk); no axis H if n_heads is 0
    """

    exam: Exam
    n_heads: int
    q: Tensor
    k: Tensor
    v: Tensor
    keep: Tensor

    @property
    def masked(self) -> bool:
        """Whether a mask is passed."""
        return self.exam.facts.mask is not None

    def arguments(self, keep: Tensor | None = None, factor: float = 1.0) -> tuple[Tensor, ...]:
        """Return what is passed, with queries and keys multiplied by a factor."""
        rows = factor * self.q, factor * self.k, self.v
        if not self.masked:
            return rows
        return *rows, in_form(self.keep if keep is None else keep, self.exam.facts, self.n_heads)

    def expected(
        self, head: Head, factor: float = 1.0, keep: Tensor | None = None
    ) -> Tensor | None:
        """Return what a head of our own gives for the same arguments."""
        times = self.q.size(1) // self.k.size(1) if self.n_heads else 1
        q, k, v = (t.double() for t in (factor * self.q, factor * self.k, self.v))
        if times > 1:
            k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        keep = self.keep if keep is None else keep
        if not self.masked and not self.exam.facts.causal:
            return run_head(head, q, k, v, None)
        return run_head(head, q, k, v, keep[:, None] if self.n_heads else keep)


def draw_core(exam: Exam, n_heads: int, *, n_keys: int = N_KEYS, batch: int = BATCH) -> Core:
    """Draw arguments."""
    facts = exam.facts
    n_kv = facts.groups or n_heads
    q = torch.randn(*(batch, n_heads)[: 1 + bool(n_heads)], N_QUERIES, WIDTH)
    k, v = (torch.randn(*(batch, n_kv)[: 1 + bool(n_heads)], n_keys, WIDTH) for _kv in "kv")
    if facts.causal:
        keep = causal_rows(N_QUERIES, n_keys, facts.window).expand(batch, -1, -1)
    else:
        keep = random_keep((batch, N_QUERIES, n_keys), facts.form)
    return Core(exam, n_heads, q, k, v, keep)


def declared_head(exam: Exam) -> Head:
    """Right attention, with the scale that was said."""
    scale = exam.facts.scale
    return scaled_head(float(scale)) if isinstance(scale, (int, float)) else RIGHT
