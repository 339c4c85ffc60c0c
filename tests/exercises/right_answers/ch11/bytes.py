"""More right answers to 11.bytes."""


def bytes_by_loops(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes):
    total = 0
    for _ in range(n_layers):
        for _ in ("keys", "values"):
            total += length * n_kv_heads * (d_model // n_heads) * n_bytes
    return total


def bytes_of_a_share(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes):
    return 2 * n_layers * length * d_model * n_bytes * n_kv_heads // n_heads


RIGHT = (bytes_by_loops, bytes_of_a_share)
