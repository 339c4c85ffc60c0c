"""Right language models and encoder–decoders."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.layers import D, H
from tests.examination.pieces.models import (
    GPT,
    LM,
    PAD,
    S2S,
    STEP,
    Cached,
    Padded,
    Seq2Seq,
    V,
    encoder_block,
)
from tests.examination.pieces.piece import right


@right("GPT", **LM)
def _():
    return GPT()


@right("GPT that returns the last logits only, unless it gets labels", **LM)
def _():
    class Model(GPT):
        def forward(self, idx, targets=None):
            logits = super().forward(idx)
            if targets is None:
                return logits[:, [-1]], None
            logits = logits.flatten(0, 1)
            return logits, F.cross_entropy(logits, targets.flatten())

    return Model()


@right("an encoder, guessed", positions=True)
def _():
    return GPT([encoder_block(), encoder_block()])


@right("an encoder that hides padding itself", kind="lm", causal=False, pad=PAD)
def _():
    class Model(Padded):
        def mask(self, keep):
            return keep[:, None].expand(-1, keep.size(1), -1)

        def forward(self, ids):
            return super().forward(ids, ids != PAD)

    return Model()


@right("a cache", **STEP)
def _():
    return Cached()


@right("left padding", **LM, pad=PAD, keep=True)
def _():
    return Padded()


@right("tied tables", **LM)
def _():
    model = GPT()
    model.lm_head.weight = model.wte.weight
    return model


@right("encoder and decoder", **S2S)
def _():
    return Seq2Seq()


@right("nn.Transformer", **S2S)
def _():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.pos, self.fc = nn.Embedding(V, D), nn.Embedding(64, D), nn.Linear(D, V)
            self.core = nn.Transformer(D, H, 2, 2, 32, batch_first=True)

        def forward(self, source, target):
            x, y = (self.emb(t) + self.pos(torch.arange(t.size(1))) for t in (source, target))
            hidden = torch.ones(y.size(1), y.size(1), dtype=torch.bool).triu(1)
            padding = source == PAD
            masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
            return self.fc(self.core(x, y, tgt_mask=hidden, **masks))

    return Model()
