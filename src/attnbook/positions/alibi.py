"""ALiBi: a bias that lowers each score in proportion to the distance from query to key."""

import torch
from torch import Tensor

from attnbook.checks.sizes import check_size


def alibi_slopes(n_heads: int) -> Tensor:
    """What each head subtracts per unit of distance: a geometric sequence that ends at 1/256.

    If the number of heads is not a power of two, the slopes for the next lower power come first,
    then every second slope for the next higher one, as in the authors' code.

    Returns: (n_heads,)
    Source:  Press et al. 2022, §3
    """
    check_size("n_heads", n_heads)
    whole = 2 ** (n_heads.bit_length() - 1)
    steps = torch.arange(1, 2 * whole + 1, dtype=torch.float64) / (2 * whole)
    slopes = 2 ** (-8 * steps)  # for 2 * `whole` heads; slopes[1::2] are for `whole` heads
    return torch.cat((slopes[1::2], slopes[::2]))[:n_heads].to(torch.get_default_dtype())


def alibi_bias(n_heads: int, lq: int, lk: int) -> Tensor:
    """The bias that lowers each score by its head's slope times the distance to its key.

    The queries are the last lq of the lk positions, as with a cache. (In the paper, queries
    look only at earlier keys. Here, a later key's score is lowered in the same way.)

    Returns: (n_heads, lq, lk), to be passed as `bias=`
    Raises:  TypeError, ValueError if a size does not fit or there are more queries than keys
    Source:  Press et al. 2022, §3
    """
    check_size("lq", lq, at_least=0)
    check_size("lk", lk, at_least=0)
    if lq > lk:
        raise ValueError(f"lq={lq} but lk={lk}: the queries are at the last of the keys' positions")
    keys = torch.arange(lk)
    distance = (keys[lk - lq :, None] - keys).abs()  # (Lq, Lk)
    return -alibi_slopes(n_heads)[:, None, None] * distance  # (H, Lq, Lk)
