"""GPT-2, and how to read its checkpoints."""

import torch
from torch import Tensor, nn

from attnbook.attention.masks import causal_mask
from attnbook.checks.tensors import check_ids
from attnbook.models.stacks import Weights
from attnbook.positions.absolute import LearnedPositions
from attnbook.pretrained.files import (
    Config,
    Folder,
    checked_config,
    fill,
    read_size,
    read_weights,
)
from attnbook.pretrained.gelu import gelu_encoder

# What a configuration may say, first what holds if it does not say it.
SUPPORTED = {
    "activation_function": ("gelu_new", "gelu"),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}
LAYER = {  # the parts of a layer: our names, and those in a checkpoint
    "attention.w_q": "attn.c_attn",
    "attention.w_k": "attn.c_attn",
    "attention.w_v": "attn.c_attn",
    "attention.w_o": "attn.c_proj",
    "norm1": "ln_1",
    "feed_forward.up": "mlp.c_fc",
    "feed_forward.down": "mlp.c_proj",
    "norm2": "ln_2",
}
REST = {"embedding": "wte", "positions.table": "wpe", "decoder.norm": "ln_f"}


class GPT2(nn.Module):
    """A language model: layers that normalize their input, with a causal mask.

    The input of the first layer is the sum of two learned vectors, of the token and of its
    position. The embedding table is also the last matrix. Padding at the end of a text needs no
    mask, because no earlier token may look at it.

    Shapes:  tokens (B, L): ids of the vocabulary
    Returns: logits (B, L, vocabulary size), each layer's weights (B, H, L, L)
    Raises:  TypeError, ValueError if tokens are not a batch of ids
    Source:  Radford et al. 2019, §2.3
    """

    def __init__(self, config: Config) -> None:
        """Take the sizes from a configuration, with the names that checkpoints give them."""
        super().__init__()
        d_model = read_size(config, "n_embd")
        self.embedding = nn.Embedding(read_size(config, "vocab_size"), d_model)
        self.positions = LearnedPositions(read_size(config, "n_positions"), d_model)
        self.decoder = gelu_encoder(
            d_model,
            read_size(config, "n_head"),
            read_size(config, "n_layer"),
            config.get("n_inner") or 4 * d_model,
            config["activation_function"],
            config.get("layer_norm_epsilon", 1e-5),
            norm_first=True,
        )

    def forward(self, tokens: Tensor) -> tuple[Tensor, Weights]:
        check_ids("tokens", tokens, self.embedding.num_embeddings)
        x = self.positions(self.embedding(tokens))
        x, weights = self.decoder(x, causal_mask(tokens.size(1)).to(tokens.device))
        return x @ self.embedding.weight.T, weights


@torch.no_grad()
def load_gpt2(folder: Folder, sha256: str | None = None) -> GPT2:
    """Read a GPT-2 from config.json and model.safetensors, in the default dtype, after `eval()`.

    Both files are in the form of Hugging Face's transformers. `sha256` is the hash of
    model.safetensors.

    Raises:  FileNotFoundError if one of the files is missing; ValueError if the hash is another,
             the model is no GPT-2 or has parts that ours has not, or tensors are missing
    """
    config = checked_config(folder, "gpt2", SUPPORTED)
    model = GPT2(config)
    fill(model, read_weights(folder, sha256, prefix="transformer."), their_name, our_form)
    return model.eval()


def their_name(own: str) -> str:
    """The name that a checkpoint gives to one of our parameters, or to three of them together."""
    part, _, kind = own.rpartition(".")
    if part in REST:
        return f"{REST[part]}.{kind}"
    number, _, part = part.removeprefix("decoder.layers.").partition(".")
    return f"h.{number}.{LAYER[part]}.{kind}"


def our_form(own: str, tensor: Tensor) -> Tensor:
    """Take one of three projections that are stored as one, and transpose a matrix (in, out)."""
    part = own.split(".")[-2]
    if part in ("w_q", "w_k", "w_v"):
        tensor = tensor.chunk(3, dim=-1)["qkv".index(part[-1])]
    if part in ("w_q", "w_k", "w_v", "w_o", "up", "down") and tensor.dim() == 2:
        return tensor.T
    return tensor
