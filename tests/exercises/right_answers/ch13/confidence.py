"""More right answers to 13.confidence, and mutants of its reference that change nothing."""

import torch


def with_infinity(weights, special):
    """Hide the special keys with minus infinity, and select the words' queries."""
    seen = weights.masked_fill(special[:, None, None], -torch.inf)
    return seen.amax(-1).transpose(0, 1)[:, ~special].mean(-1)


def by_loops(weights, special):
    answer = []
    for head in range(weights.size(1)):
        found = []
        for sentence, hidden in zip(weights[:, head], special.tolist(), strict=True):
            words = [i for i, one in enumerate(hidden) if not one]
            found += [max(sentence[i, j] for j in words) for i in words]
        answer.append(sum(found) / len(found))
    return torch.stack(answer)


def by_selected_cells(weights, special):
    pairs = ~special[:, :, None] & ~special[:, None]
    largest = torch.where(pairs[:, None], weights, 0).max(dim=-1).values
    marks = (~special).to(weights)
    return torch.einsum("bhq, bq -> h", largest, marks) / marks.sum()


RIGHT = (with_infinity, by_loops, by_selected_cells)
