"""More right answers to 12.top_p."""

import math

import torch
import torch.nn.functional as F


def top_p_row_by_row(probabilities, p):
    answer = torch.zeros_like(probabilities)
    rows = probabilities.reshape(-1, probabilities.size(-1)).tolist()
    for i, row in enumerate(rows):
        total, kept = 0.0, []
        for word in sorted(range(len(row)), key=row.__getitem__, reverse=True):
            kept.append(word)
            total += row[word]
            if total >= p:
                break
        for word in kept:
            answer.view(-1, len(row))[i, word] = row[word] / total
    return answer


def top_p_by_ranks(probabilities, p):
    order = probabilities.argsort(-1, descending=True)
    ordered = probabilities.gather(-1, order)
    out = ordered.cumsum(-1) >= p
    out = torch.cat((torch.zeros_like(out[..., :1]), out[..., :-1]), dim=-1)
    kept = ordered.masked_fill(out, 0).gather(-1, order.argsort(-1))
    return F.normalize(kept, p=1, dim=-1)


def top_p_by_logits(probabilities, p):
    ordered = probabilities.sort(-1, descending=True).values
    n_kept = 1 + (ordered.cumsum(-1) < p).sum(-1, keepdim=True)
    smallest = ordered.gather(-1, n_kept - 1)
    return probabilities.log().masked_fill(probabilities < smallest, -math.inf).softmax(-1)


RIGHT = (top_p_row_by_row, top_p_by_ranks, top_p_by_logits)
