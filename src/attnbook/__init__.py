"""The attention book's library: one definition per idea, from the dot product upwards."""

from attnbook.attention import scaled_dot_product_attention, softmax
from attnbook.heads import SelfAttention
from attnbook.show import device, show, show_source

__all__ = [
    "SelfAttention",
    "device",
    "scaled_dot_product_attention",
    "show",
    "show_source",
    "softmax",
]
