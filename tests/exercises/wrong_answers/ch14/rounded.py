"""Wrong answers to 14.rounded, each with words of what the reader is told."""


def half_as_many_steps(key, bits):
    low, high = key.aminmax(dim=-1, keepdim=True)
    step = (high - low) / 2 ** (bits - 1)
    return low + ((key - low) / step).round() * step


WRONG = {half_as_many_steps: "You divided the range into 2^(b − 1) steps."}
