"""More right answers to 11.kept."""

from attnbook import sink_mask


def kept_from_the_mask(length, window, n_sinks):
    return sink_mask(length, window, n_sinks)[-1].nonzero().flatten().tolist()


def kept_sorted(length, window, n_sinks):
    words = set(range(length))
    return sorted({*range(n_sinks)} & words | {*range(length - window, length)} & words)


def kept_as_a_tensor(length, window, n_sinks):
    return sink_mask(length, window, n_sinks)[-1].nonzero().flatten()


RIGHT = (kept_from_the_mask, kept_sorted, kept_as_a_tensor)
