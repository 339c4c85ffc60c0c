"""More right answers to 02.merge."""

import itertools
from collections import Counter


def merge_step_chapter(corpus):
    def merge(pieces, pair):
        out = []
        for piece in pieces:
            if out and (out[-1], piece) == pair:
                out[-1] += piece
            else:
                out.append(piece)
        return out

    pairs = Counter(pair for word in corpus for pair in itertools.pairwise(word))
    (best, _), *_ = pairs.most_common(1)
    return [merge(word, best) for word in corpus]


def merge_step_recursive(corpus):
    seen = [pair for word in corpus for pair in itertools.pairwise(word)]
    best = max(seen, key=seen.count)

    def merged(word):
        if len(word) < 2:
            return list(word)
        if (word[0], word[1]) == best:
            return [word[0] + word[1], *merged(word[2:])]
        return [word[0], *merged(word[1:])]

    return tuple(merged(word) for word in corpus)


RIGHT = (merge_step_chapter, merge_step_recursive)
