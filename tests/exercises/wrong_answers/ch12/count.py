"""Wrong answers to 12.count, each with words of what the reader is told."""


def table(vocabulary_size, d_model, tied):
    return (1 if tied else 2) * vocabulary_size * d_model


def matrices(d_model, n_heads, n_kv_heads, d_ff):
    d_kv = d_model // n_heads * n_kv_heads
    return 2 * d_model * (d_model + d_kv) + 3 * d_model * d_ff


def norms_of_one_block(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    blocks = n_layers * matrices(d_model, n_heads, n_kv_heads, d_ff)
    return table(vocabulary_size, d_model, tied) + blocks + 3 * d_model


def last_norm_in_every_block(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    block = matrices(d_model, n_heads, n_kv_heads, d_ff) + 3 * d_model
    return table(vocabulary_size, d_model, tied) + n_layers * block


def biases(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    d_kv = d_model // n_heads * n_kv_heads
    more = (d_model + d_kv + d_kv + d_model) + (d_ff + d_ff + d_model)
    block = matrices(d_model, n_heads, n_kv_heads, d_ff) + 2 * d_model + more
    return table(vocabulary_size, d_model, tied) + n_layers * block + d_model


def biases_in_attention(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    d_kv = d_model // n_heads * n_kv_heads
    block = matrices(d_model, n_heads, n_kv_heads, d_ff) + 4 * d_model + 2 * d_kv
    return table(vocabulary_size, d_model, tied) + n_layers * block + d_model


def last_norm_with_a_shift(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    block = matrices(d_model, n_heads, n_kv_heads, d_ff) + 2 * d_model
    return table(vocabulary_size, d_model, tied) + n_layers * block + 2 * d_model


def narrow_keys(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied):
    attention = 2 * d_model * d_model + 2 * d_model * n_kv_heads
    block = attention + 3 * d_model * d_ff + 2 * d_model
    return table(vocabulary_size, d_model, tied) + n_layers * block + d_model


def in_another_order(vocabulary_size, d_model, n_heads, n_kv_heads, d_ff, n_layers, tied):
    block = matrices(d_model, n_heads, n_kv_heads, d_ff) + 2 * d_model
    return table(vocabulary_size, d_model, tied) + n_layers * block + d_model


WRONG = {
    norms_of_one_block: "You counted the norms of one block.",
    last_norm_in_every_block: "You counted the last norm once for each block.",
    biases: "You counted a bias for each matrix of a block.",
    biases_in_attention: "You counted biases in attention.",
    last_norm_with_a_shift: "You gave a norm a bias.",
    narrow_keys: "You counted one column for each key head.",
    in_another_order: "Your parameters are (vocabulary_size, d_model, n_heads, n_kv_heads, d_ff, ",
}
