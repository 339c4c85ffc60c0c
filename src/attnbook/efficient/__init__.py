"""The same call with less memory or time: chunked, blocked, fused, windowed, linear.

All but `delta` and `ring` are called like `scaled_dot_product_attention` and can be passed as
`attend=`. Of these, all but `blocked` return None for the weights, which are never all in memory at
once.
"""
