"""BERT, and how to read its checkpoints."""

import torch
from torch import Tensor, nn

from attnbook.checks.tensors import check_ids
from attnbook.models.stacks import Weights
from attnbook.positions.absolute import LearnedPositions
from attnbook.pretrained.files import Config, Folder, checked_config, fill, read_size, read_weights
from attnbook.pretrained.gelu import gelu_encoder

# What a configuration may say, first what holds if it does not say it.
SUPPORTED = {
    "hidden_act": ("gelu", "gelu_new"),
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
}
LAYER = {  # the parts of a layer: our names, and those in a checkpoint
    "attention.w_q": "attention.self.query",
    "attention.w_k": "attention.self.key",
    "attention.w_v": "attention.self.value",
    "attention.w_o": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "norm2": "output.LayerNorm",
}
INPUT = {
    "embedding": "embeddings.word_embeddings",
    "positions.table": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
}


class Bert(nn.Module):
    """An encoder of tokens: a vector for each token of a sentence, in its context.

    The input of the first layer is the normalized sum of three learned vectors: of the token, of
    its position, and of its type, which says to which of two sentences it belongs.

    Shapes:  tokens (B, L): ids of the vocabulary   mask (B, 1, L), False at padding
             token_types (B, L), 0 or 1; by default all are 0
    Returns: z (B, L, d_model), each layer's weights (B, H, L, L)
    Raises:  TypeError, ValueError if tokens or token_types are not a batch of ids
    Source:  Devlin et al. 2019, §3
    """

    def __init__(self, config: Config) -> None:
        """Take the sizes from a configuration, with the names that checkpoints give them."""
        super().__init__()
        d_model, eps = read_size(config, "hidden_size"), config.get("layer_norm_eps", 1e-12)
        self.embedding = nn.Embedding(read_size(config, "vocab_size"), d_model)
        self.positions = LearnedPositions(read_size(config, "max_position_embeddings"), d_model)
        self.token_types = nn.Embedding(read_size(config, "type_vocab_size"), d_model)
        self.norm = nn.LayerNorm(d_model, eps=eps)
        self.encoder = gelu_encoder(
            d_model,
            read_size(config, "num_attention_heads"),
            read_size(config, "num_hidden_layers"),
            read_size(config, "intermediate_size"),
            config["hidden_act"],
            eps,
        )

    def embed(self, tokens: Tensor, token_types: Tensor | None = None) -> Tensor:
        """The input of the first layer, (B, L, d_model)."""
        token_types = torch.zeros_like(tokens) if token_types is None else token_types
        check_ids("tokens", tokens, self.embedding.num_embeddings)
        check_ids("token_types", token_types, self.token_types.num_embeddings)
        x = self.embedding(tokens) + self.token_types(token_types)
        return self.norm(self.positions(x))

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, token_types: Tensor | None = None
    ) -> tuple[Tensor, Weights]:
        return self.encoder(self.embed(tokens, token_types), mask)


@torch.no_grad()
def load_bert(folder: Folder, sha256: str | None = None) -> Bert:
    """Read a BERT from config.json and model.safetensors, in the default dtype, after `eval()`.

    Both files are in the form of Hugging Face's transformers. Of a model that also predicts masked
    words or classifies, only the encoder is read. `sha256` is the hash of model.safetensors.

    Raises:  FileNotFoundError if one of the files is missing; ValueError if the hash is another,
             the model is no BERT or has parts that ours has not, or tensors are missing
    """
    config = checked_config(folder, "bert", SUPPORTED)
    model = Bert(config)
    tensors = read_weights(folder, sha256, prefix="bert.")
    for old, new in ("gamma", "weight"), ("beta", "bias"):  # the oldest checkpoints
        tensors = {name.replace(f"Norm.{old}", f"Norm.{new}"): x for name, x in tensors.items()}
    fill(model, tensors, their_name)
    return model.eval()


def their_name(own: str) -> str:
    """The name that a checkpoint gives to one of our parameters."""
    part, _, kind = own.rpartition(".")
    if not part.startswith("encoder.layers."):
        return f"{INPUT[part]}.{kind}"
    number, _, part = part.removeprefix("encoder.layers.").partition(".")
    return f"encoder.layer.{number}.{LAYER[part]}.{kind}"
