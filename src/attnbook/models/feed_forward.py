"""Feed-forward networks: what a layer applies to each row separately, after attention."""

import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.checks.sizes import check_size


class FeedForward(nn.Module):
    """Two matrices with a ReLU between them, applied to each row separately.

    Shapes:  x (..., d_model) -> (..., d_ff) -> (..., d_model)
             dropout  the probability with which a number after the ReLU is set to 0
    Raises:  TypeError, ValueError if a size is not a positive int, or dropout is not in 0 … 1
    Source:  Vaswani et al. 2017, eq. 2; S4
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        check_size("d_model", d_model)
        check_size("d_ff", d_ff)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Widen each row, set negative numbers to 0, and narrow the row again."""
        return self.down(self.dropout(F.relu(self.up(x))))


class GatedFeedForward(nn.Module):
    """A feed-forward network that multiplies two projections elementwise: SwiGLU.

    One of the two, the gate, passes through SiLU, x · sigmoid(x). There are no biases.

    Shapes:  x (..., d_model) -> (..., d_ff) -> (..., d_model)
    Raises:  TypeError, ValueError if a size is not a positive int
    Source:  Shazeer 2020, eq. 6; Touvron et al. 2023, §2.2
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        check_size("d_model", d_model)
        check_size("d_ff", d_ff)
        self.gate, self.up = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Widen each row in two ways, multiply the results, and narrow the product."""
        return self.down(F.silu(self.gate(x)) * self.up(x))
