"""More right answers to 09.greedy."""

import torch


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


RIGHT = (greedy_lists, greedy_alive)
