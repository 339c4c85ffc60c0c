"""Right answers to chapter 9's exercises, and mutated reference solutions that are still right."""

import torch
import torch.nn.functional as F

from attnbook.exercises.chapters.ch09.beam import GLOSSES, my_beam_step, my_loss
from tests.support.mutants import changed


def labels_where(target):
    later = F.pad(target, (0, 1))[:, 1:]
    return torch.where((target > 0) & (later == 0), 2, later)


def labels_loop(target):
    rows = []
    for row in target.tolist():
        words = [i for i in row if i not in (0, 1)]
        rows.append([*words, 2] + [0] * (len(row) - len(words) - 1))
    return torch.tensor(rows, device=target.device)


def labels_by_end_first(target):
    longer = F.pad(target, (0, 1))
    first_pad = (longer == 0).long().argmax(dim=1, keepdim=True)
    return longer.scatter(1, first_pad, 2)[:, 1:]


def column_by_list(row):
    written = ["i", "read", "a", "book", "in", "the", "library", "yesterday"]
    at = {"i": 0, "yesterday": 1, "in": 2, "library": 3, "read": 4, "a": 6, "book": 8}
    after = dict(zip(["BEGIN", *written], written, strict=False))
    return at[after[row]]


def loss_loop(logits, labels, smoothing):
    total, count = 0.0, 0
    for b, ids in enumerate(labels.tolist()):
        for place, i in enumerate(ids):
            if i:
                row = logits[b, place]
                logs = row - row.logsumexp(0)
                share = torch.full_like(row, smoothing / len(row))
                share[i] += 1 - smoothing
                total, count = total - (share * logs).sum(), count + 1
    return total / count


def loss_kl(logits, labels, smoothing):
    """Compute both terms separately: the loss without smoothing, and the mean over all words."""
    logs = logits - logits.logsumexp(-1, keepdim=True)
    real = labels.ne(0)
    plain = -logs.gather(2, labels.unsqueeze(2)).squeeze(2)
    spread = -logs.mean(-1)
    count = real.sum()
    return ((plain * real).sum() * (1 - smoothing) + (spread * real).sum() * smoothing) / count


def greedy_lists(model, target, longest):
    rows, done = target.tolist(), [False] * len(target)
    while not all(done) and len(rows[0]) <= longest:
        best = model(torch.tensor(rows, device=target.device))[:, -1].argmax(-1).tolist()
        for b, word in enumerate(best):
            rows[b].append(0 if done[b] else word)
            done[b] = done[b] or word == 2
    return torch.tensor([row[1:] for row in rows], device=target.device)


def greedy_alive(model, target, longest):
    alive = torch.ones(len(target), dtype=torch.long, device=target.device)
    for _ in range(longest):
        word = model(target)[:, -1, :].max(dim=-1).indices * alive
        target = torch.cat([target, word[:, None]], dim=-1)
        alive = alive * (word != 2)
        if not alive.any():
            return target[:, 1:]
    return target[:, 1:]


def beam_candidates(totals, logs, done):
    """Take the k best continuations of each sentence, then the k best of those."""
    k = len(totals)
    logs = logs.masked_fill(done[:, None], -torch.inf)
    logs[:, 0] = torch.where(done, torch.zeros_like(totals), logs[:, 0])
    each, words = logs.topk(min(k, logs.size(1)), dim=1)
    sums = (each + totals[:, None]).flatten()
    order = sums.argsort(descending=True)[:k]
    return sums[order], order // each.size(1), words.flatten()[order]


def beam_sort(totals, logs, done):
    free = torch.zeros_like(logs)
    free[:, 1:] = -torch.inf
    every = (totals + torch.where(done[:, None], free, logs).T).T
    best, order = every.reshape(-1).sort(descending=True)
    k, v = logs.shape
    beams = torch.arange(k, device=logs.device).repeat_interleave(v)
    words = torch.arange(v, device=logs.device).repeat(k)
    return best[:k], beams[order[:k]], words[order[:k]]


def kind_by_two_questions(translate):
    short = translate("书 不 甜").split()
    if "is" not in short:
        return "dictionary"
    if short != "the book is not sweet".split():
        return "memory"
    many = " ， ".join(["茶 很 新"] * 5)
    return "rules" if translate(many).count("the tea is new") == 5 else "short"


def kind_by_many(translate):
    def right(noun, sign, quality):
        middle = "is not" if sign == "不" else "is"
        want = f"the {GLOSSES[noun]} {middle} {GLOSSES[quality]}"
        return translate(f"{noun} {sign} {quality}") == want

    every = [(n, s, q) for n in ("苹果", "茶", "书") for s in "很不" for q in "甜贵新"]
    good = sum(right(*each) for each in every)
    if good < len(every):
        return "dictionary" if translate("茶 很 新") == "tea very new" else "memory"
    long = translate("茶 很 新 ， 茶 不 新 ， 我 的 茶 很 新")
    return "rules" if long.endswith("my tea is new") and "not" in long else "short"


RIGHT = {
    "09.shift": (labels_where, labels_loop, labels_by_end_first),
    "09.rows": (column_by_list,),
    "09.loss": (loss_loop, loss_kl),
    "09.greedy": (greedy_lists, greedy_alive),
    "09.beam": (beam_candidates, beam_sort),
    "09.experiment": (kind_by_two_questions, kind_by_many),
}

# Mutants that are still right: the changed code of each, and why it is right.
EQUIVALENT = {
    "09.loss": {changed(my_loss, "[..., 0]", "[..., -1]"): "an axis of size 1"},
    "09.beam": {
        changed(my_beam_step, "topk(len(totals))", "topk(len(logs))"): "logs has k rows",
        changed(my_beam_step, "topk(len(totals))", "topk(len(done))"): "done has k places",
    },
}
