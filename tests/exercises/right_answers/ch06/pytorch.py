"""More right answers to 06.pytorch."""


def for_pytorch_repeat(mask, n_heads):
    if mask.size(1) == 1:
        mask = mask.repeat_interleave(n_heads, dim=1)
    return ~mask.reshape(-1, *mask.shape[2:])


def for_pytorch_interleave(mask, n_heads):
    per_sentence = n_heads // mask.size(1)
    return (mask == 0).flatten(0, 1).repeat_interleave(per_sentence, dim=0)


RIGHT = (for_pytorch_repeat, for_pytorch_interleave)
