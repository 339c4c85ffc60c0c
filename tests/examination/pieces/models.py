"""Language models and encoder–decoders: ids in, logits out."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.examination.pieces.blocks import Block, NormOfColumns
from tests.examination.pieces.layers import D, Fused, H, rotated
from tests.examination.pieces.piece import faulty

V, PAD = 23, 0
LM = {"kind": "lm", "positions": True}
STEP = {"kind": "lm", "positions": True, "step": "step"}
S2S = {"kind": "seq2seq", "pad": PAD}


class GPT(nn.Module):
    """A small GPT."""

    def __init__(self, blocks=None, longest=64):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, D), nn.Embedding(longest, D)
        self.h = nn.ModuleList(blocks or [Block(), Block()])
        self.ln_f, self.lm_head = nn.LayerNorm(D), nn.Linear(D, V, bias=False)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.2)

    def places(self, ids):
        return self.wpe(torch.arange(ids.size(1)))

    def forward(self, ids):
        x = self.wte(ids) + self.places(ids)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def encoder_block():
    block = Block()
    block.attn.causal = False
    return block


@faulty("one layer twice", "shared_layer", "elisabettafedele/superdec#2", **LM)
def _():
    return GPT([Block()] * 2)


@faulty(
    "the same position everywhere",
    "order_blind",
    "DiffPoseTalk/DiffPoseTalk#20",
    **LM,
    causal=False,
)
def _():
    class Model(GPT):
        def places(self, ids):
            return self.wpe.weight[ids.size(1)]

    return Model([encoder_block(), encoder_block()])


@faulty(
    "positions along the batch",
    "position_batch",
    "KasperGroesLudvigsen/influenza_transformer#9",
    **LM,
)
def _():
    class Model(GPT):
        def places(self, ids):
            return self.wpe(torch.arange(ids.size(0)))[:, None]

    return Model()


@faulty("huge first logits", "initial_loss", "PiotrNawrot/nanoT5#25", **LM)
def _():
    model = GPT()
    nn.init.normal_(model.lm_head.weight, std=math.sqrt(D))
    return model


@faulty("probabilities instead of logits", "not_logits", **LM)
def _():
    class Model(GPT):
        def forward(self, ids):
            return super().forward(ids).softmax(-1)

    return Model()


@faulty("a model that sees the future", "sees_future", "huggingface/transformers#48745", **LM)
def _():
    return GPT([encoder_block(), Block()])


@faulty(
    "a norm along the sequence in a model",
    "norm_axis",
    "Qualcomm-AI-research/geometric-algebra-transformer#8",
    **LM,
)
def _():
    return GPT([Block(), Block(NormOfColumns)])


@faulty("scaled by the width of the model, inside", "scale", "omihub777/ViT-CIFAR#11", **LM)
def _():
    class Attention(Fused):
        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=D**-0.5)

    block = Block()
    block.attn = Attention()
    return GPT([block, Block()])


class Cached(nn.Module):
    """A small Llama with a cache: step(ids, cache) -> (logits, cache)."""

    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(V, D), nn.Linear(D, V, bias=False)
        self.q, self.k, self.v, self.o = (
            nn.ModuleList(nn.Linear(D, D, bias=False) for _ in range(2)) for _ in range(4)
        )
        self.norm = nn.ModuleList(nn.RMSNorm(D) for _ in range(2))

    def first_position(self, past):
        return past

    def mix(self, q, k, v):
        n, m = q.size(-2), k.size(-2)
        keep = torch.ones(n, m, dtype=torch.bool).tril(m - n)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

    def step(self, ids, cache=None):
        past = 0 if cache is None else cache[0][0].size(2)
        x, kept = self.emb(ids), []
        for i in range(2):
            y = self.norm[i](x)
            q, k, v = (
                f[i](y).unflatten(-1, (H, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
            )
            positions = torch.arange(ids.size(1)) + self.first_position(past)
            q, k = rotated(q, positions), rotated(k, positions)
            if cache is not None:
                k, v = (torch.cat(pair, 2) for pair in zip(cache[i], (k, v), strict=True))
            kept.append((k, v))
            x = x + self.o[i](self.mix(q, k, v).transpose(1, 2).flatten(2))
        return self.out(x), kept

    def forward(self, ids):
        return self.step(ids)[0]


@faulty("each step restarts at position 0", "cache_positions", "RobertCsordas/moeut#6", **STEP)
def _():
    class Model(Cached):
        def first_position(self, past):
            return 0

    return Model()


@faulty("one position too far", "cache_positions", "fla-org/flash-linear-attention#766", **STEP)
def _():
    class Model(Cached):
        def first_position(self, past):
            return past + bool(past)

    return Model()


@faulty("is_causal in every step", "alignment", "pytorch/pytorch#144858", **STEP)
def _():
    class Model(Cached):
        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return Model()


@faulty("no mask once there is a cache", "cache_mask", "Mikyx-1/TinyLLM#17", **STEP)
def _():
    class Model(Cached):
        def mix(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=q.size(-2) == k.size(-2))

    return Model()


class Padded(GPT):
    """A GPT with a mask of real words, and positions that leave out the padding."""

    def positions(self, keep):
        return (keep.long().cumsum(-1) - 1).clamp(min=0)

    def mask(self, keep):
        n = keep.size(1)
        return torch.ones(n, n, dtype=torch.bool).tril() & keep[:, None]

    def forward(self, ids, keep=None):
        keep = torch.ones_like(ids, dtype=torch.bool) if keep is None else keep
        x = self.wte(ids) + self.wpe(self.positions(keep))
        for block in self.h:
            q, k, v = map(block.attn.split, block.attn.c_attn(block.ln_1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask(keep)[:, None])
            x = x + block.attn.c_proj(block.attn.merge(y))
            x = x + block.mlp(block.ln_2(x))
        return self.lm_head(self.ln_f(x))


@faulty(
    "positions count the padding", "left_padding", "ndif-team/nnsight#673", **LM, pad=PAD, keep=True
)
def _():
    class Model(Padded):
        def positions(self, keep):
            return torch.arange(keep.size(1))

        def mask(self, keep):
            return super().mask(keep) | torch.eye(keep.size(1), dtype=torch.bool)

    return Model()


@faulty(
    "padding is attended to", "padding_seen", "jingyaogong/minimind-v#76", **LM, pad=PAD, keep=True
)
def _():
    class Model(Padded):
        def mask(self, keep):
            return super().mask(torch.ones_like(keep))

    return Model()


class Attention(nn.Module):
    """(query, key, value, mask), True = may look."""

    def __init__(self):
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_concat = (nn.Linear(D, D) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        q, k, v = (
            f(t).unflatten(-1, (H, -1)).transpose(1, 2)
            for f, t in ((self.w_q, q), (self.w_k, k), (self.w_v, v))
        )
        scores = q @ k.mT / math.sqrt(D // H)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -10000)
        return self.w_concat((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of the encoder, or with `crossed` of the decoder."""

    def __init__(self, crossed=False):
        super().__init__()
        self.att, self.cross = Attention(), Attention() if crossed else None
        self.n1, self.n2, self.n3 = (
            nn.LayerNorm(D) if crossed or i < 2 else None for i in range(3)
        )
        self.ffn = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Linear(32, D))

    def look(self, x, z, source_mask, target_mask):
        return self.cross(x, z, z, source_mask)

    def forward(self, x, mask, z=None, source_mask=None):
        x = self.n1(x + self.att(x, x, x, mask))
        if z is not None:
            x = self.n3(x + self.look(x, z, source_mask, mask))
        return self.n2(x + self.ffn(x))


class Seq2Seq(nn.Module):
    """A Transformer."""

    def __init__(self, decoder_layer=Layer):
        super().__init__()
        self.src_emb, self.tgt_emb, self.pos = (
            nn.Embedding(V, D),
            nn.Embedding(V, D),
            nn.Embedding(64, D),
        )
        for table in (self.src_emb, self.tgt_emb, self.pos):
            nn.init.normal_(table.weight, std=0.5)
        self.enc = nn.ModuleList(Layer() for _ in range(2))
        self.dec = nn.ModuleList(decoder_layer(crossed=True) for _ in range(2))
        self.fc = nn.Linear(D, V)

    def source_mask(self, source):
        return (source != PAD)[:, None, None]

    def target_mask(self, target):
        return torch.ones(target.size(1), target.size(1)).tril()

    def forward(self, src, tgt):
        z = self.src_emb(src) + self.pos(torch.arange(src.size(1)))
        for layer in self.enc:
            z = layer(z, self.source_mask(src))
        y = self.tgt_emb(tgt) + self.pos(torch.arange(tgt.size(1)))
        for layer in self.dec:
            y = layer(y, self.target_mask(tgt), z, (src != PAD)[:, None, None])
        return self.fc(y)


@faulty("the padding mask on the queries", "padding_seen", "hyunwoongko/transformer#40", **S2S)
def _():
    class Model(Seq2Seq):
        def source_mask(self, source):
            return (source != PAD)[:, None, :, None]

    return Model()


def with_look(look):
    class Decoder(Layer):
        pass

    Decoder.look = look
    return Seq2Seq(Decoder)


@faulty("no padding mask in the cross-attention", "padding_seen", "OpenNMT/OpenNMT-py#272", **S2S)
def _():
    return with_look(lambda self, x, z, source_mask, target_mask: self.cross(x, z, z))


@faulty(
    "cross-attention to the decoder itself",
    "source_ignored",
    "keitakurita/Practical_NLP_in_PyTorch#1",
    **S2S,
)
def _():
    return with_look(lambda self, x, z, source_mask, target_mask: self.cross(x, x, x, target_mask))


@faulty("queries from the source", "cross_roles", kind="seq2seq", equal_lengths=True)
def _():
    return with_look(lambda self, x, z, source_mask, target_mask: self.cross(z, x, x))


@faulty(
    "the target's mask in the cross-attention",
    "cross_causal",
    "Kamichanw/SeekDeeper#3",
    kind="seq2seq",
    equal_lengths=True,
)
def _():
    return with_look(lambda self, x, z, source_mask, target_mask: self.cross(x, z, z, target_mask))


@faulty("no causal mask in the decoder", "sees_future", "huggingface/transformers#48745", **S2S)
def _():
    class Model(Seq2Seq):
        def target_mask(self, target):
            return (target != PAD)[:, None, None]

    return Model()
