"""All heads of an encoder: a small map of each, and how much removing it changes the result."""

from base64 import b64encode
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.attention.interventions import head_outputs
from attnbook.language import _
from attnbook.widgets.element import show_element

if TYPE_CHECKING:  # most chapters have no need of these packages
    from tokenizers import Tokenizer

    from attnbook.pretrained import Bert

__all__ = ["explore_encoder_heads"]

SENTENCES = (
    "this magazine is newer than that magazine",
    "the apple is very sweet",
    "a dog chased the cat",
    "the cat was chased by a dog",
    "my cat likes your cat",
    "she lost her keys again",
    "attention explains nothing",
    "tokenizers cut words",  # the tokenizer cuts its own name into pieces
)


def explore_encoder_heads(
    model: "Bert",
    tokenizer: "Tokenizer",
    sentences: Sequence[str] = SENTENCES,
) -> None:
    """Let the reader see the maps of all heads for a sentence, and open one of them.

    The stronger the frame of a map, the farther the sentence vector moves without its head (zero
    ablation): 1 - cosine. The vector is the mean of the last layer's rows.

    sentences: those that the reader can pick
    """
    device = next(model.parameters()).device
    shown = []
    for sentence in sentences:
        coded = tokenizer.encode(sentence)
        maps, moved = _read(model, torch.tensor([coded.ids], device=device))
        shown.append(
            {
                "text": sentence,
                "tokens": coded.tokens,
                "maps": _pack(maps),
                "moved": [[round(x, 1) for x in row] for row in moved.tolist()],
            }
        )
    data = {"sentences": shown, "words": _words()}
    first = shown[0]["moved"]
    head = [_("without the head"), *(_("head {n}").format(n=n) for n in range(len(first[0])))]
    rows = [
        [_("layer {n}").format(n=n), *(f"{x:.1f}" for x in row)]
        for n, row in enumerate(first, start=1)
    ]
    show_element("attn-heads", data, head, rows)


@torch.no_grad()
def _read(model: "Bert", tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return each head's map, (N, H, L, L), and how far the sentence vector moves without it.

    The distances, (N, H), are in thousandths. A layer reads H copies of its input at once, and in
    each copy another head outputs zeros.
    """
    layers: Any = model.encoder.layers
    streams, maps = [model.embed(tokens)], []
    for layer in layers:
        x, weights = layer(streams[-1])
        streams.append(x)
        maps.append(weights[0])
    moved = []
    for n, layer in enumerate(layers):
        others = 1 - torch.eye(layer.attention.n_heads).to(x)[..., None, None]  # (H, H, 1, 1)
        with head_outputs(layer.attention, partial(torch.mul, others)):
            x, _weights = layer(streams[n].expand(len(others), -1, -1))
        for later in layers[n + 1 :]:
            x, _weights = later(x)
        moved.append(1 - F.cosine_similarity(x.mean(1), streams[-1].mean(1)))
    return torch.stack(maps).cpu(), 1000 * torch.stack(moved).cpu()


def _pack(maps: Tensor) -> str:
    """Write each weight as one byte, in hundredths, and all bytes as text."""
    return b64encode(bytes((100 * maps).round().int().flatten().tolist())).decode()


def _words() -> dict[str, Any]:
    """The words of the figure, in the reader's language."""
    return {
        "name": _("The attention maps of all heads of an encoder"),
        "try": _(
            "Press a small map to open it. The stronger its frame, the farther the sentence "
            "vector moves without the head."
        ),
        "sentence": _("sentence"),
        "layer": _("layer {n}"),
        "head": _("head"),
        "one": _("layer {layer}, head {head}"),
        "axes": _("(rows: queries; columns: keys; weights in hundredths)"),
        "said": _(
            "Layer {layer}, head {head}: without it the sentence vector moves by {moved} "
            "thousandths (1 − cosine). {more} of the {all} heads matter more."
        ),
        "mean": _("On average, the words put {share} of their weight on {where}."),
        "places": [
            _("the previous token"),
            _("themselves"),
            _("the next token"),
            _("[CLS]"),
            _("[SEP]"),
        ],
    }
