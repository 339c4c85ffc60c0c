"""Wrong answers to 14.rounded, each with words of what the reader is told."""


def half_as_many_steps(key, bits):
    low, high = key.aminmax(dim=-1, keepdim=True)
    step = (high - low) / 2 ** (bits - 1)
    return low + ((key - low) / step).round() * step


def exclusive_or(key, bits):
    low, high = key.amin(-1, keepdim=True), key.amax(-1, keepdim=True)
    step = (high - low) / (2 ^ bits - 1)
    return ((key - low) / step).round() * step + low


def one_range_for_a_head(key, bits):
    low, high = key.amin((-2, -1), keepdim=True), key.amax((-2, -1), keepdim=True)
    step = (high - low) / (2**bits - 1)
    return ((key - low) / step).round() * step + low


WRONG = {
    half_as_many_steps: "You divided the range into 2^(b − 1) steps.",
    exclusive_or: "In Python, `^` is the exclusive or of two whole numbers.",
    one_range_for_a_head: "All words of a head share one range.",
}
