"""More right answers to 04.count."""


def parameters_short(d_model, n_heads, bias):
    return 4 * d_model * (d_model + bias)


def parameters_heads(d_model, n_heads, bias):
    width = d_model // n_heads
    per_head = 3 * (d_model * width + width * bias) + width * d_model
    return n_heads * per_head + d_model * bias


RIGHT = (parameters_short, parameters_heads)
