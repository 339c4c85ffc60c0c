"""Small data to draw, and what a drawn figure shows, according to Matplotlib's objects."""

import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from attnbook import causal_mask, rotation_matrix, sinusoidal_encoding

WORDS, KEYS, LONG = ["Life", "is", "short"], ["苹果", "很", "甜", "的"], ["dessert"] * 6
MAP = torch.tensor([[0.2, 0.3, 0.5, 0.0], [0.125, 0.875, 0.0, 0.0], [0.0, 0.254, 0.746, 0.0]])
SCORES = torch.tensor([1.5, -0.004, -2.0])
SPLIT = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
STEPS = torch.tensor([0.2, 0.9, 0.5, 0.1, 0.0])
FIVE = {name: STEPS * (i + 1) / 5 for i, name in enumerate("abcde")}
ENCODING = sinusoidal_encoding(3, 8)
PAIR, LATER = ENCODING[:, 2:4], ENCODING[:, 2:4] @ rotation_matrix(3, 8)[2:4, 2:4].T
MASK = causal_mask(3)
PICTURE = {"a picture": torch.tensor([[[1.0, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 1]]])}
PATCHES = torch.tensor([[0.3, 0.04], [0.2, 1.0]])
IDS, TABLE = [2, 0, 1, 1], torch.arange(12.0).reshape(3, 4) - 5
QUERY, KEY = torch.tensor([0.8, -0.5]), torch.tensor([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
VALUE, MIX = torch.arange(12.0).view(3, 4) * 3, (KEY @ QUERY).softmax(-1)
LOOKUP = {"query": QUERY, "key": KEY, "scores": KEY @ QUERY, "weights": MIX, "value": VALUE}
LOOKUP["output"] = MIX @ VALUE
LABELS = {"titles": ["a", "b", "c"], "topics": ["t", "u"], "contents": ["x", "y", "z", "w"]}
HOURS = (torch.tensor([1.0, 2.0, 4.0, 9.0]), torch.tensor([3.0, 5.0, -2.0, 4.0]),
         torch.tensor([0.0, 5.0, 10.0]), torch.tensor([3.5, 1.0, 0.5]))  # fmt: skip
Q, K = ("Q", 6, 24, "query"), ("Kᵀ", 24, 6, "key")


def cells(axes, which=0):
    """The numbers of a heat map."""
    return torch.tensor(axes.collections[which].get_array().data).float()


def texts(axes):
    return [text.get_text() for text in axes.texts]


def written(axes):
    """The texts in the cells, by (row, column)."""
    found = {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in axes.texts}
    return {place: text for place, text in found.items() if text}


def names(axes):
    """The labels of the rows and of the columns."""
    ticks = (axes.get_yticklabels(), axes.get_xticklabels())
    return tuple([label.get_text() for label in labels] for labels in ticks)


def boxes(axes, opacity=1.0):
    """Fill, left, top, width and height of each box with this opacity."""
    return [
        (to_hex(box.get_facecolor()).upper(), *box.get_xy(), box.get_width(), box.get_height())
        for box in axes.patches
        if isinstance(box, Rectangle) and box.get_facecolor()[3] == opacity
    ]


def arrows(axes):
    """Where each arrow starts and ends."""
    return [(text.xyann, text.xy) for text in axes.texts if getattr(text, "arrow_patch", None)]
