"""Wrong answers to 04.count, each with words of what the reader is told."""

WRONG = {
    lambda d_model, n_heads, bias: 4 * d_model**2 + bias: "`bias` is True, which counts as 1.",
    lambda d_model, n_heads, bias: (
        4 * d_model**2 + (3 * n_heads * d_model + d_model if bias else 0)
    ): "You gave each head three biases of full width.",
}
