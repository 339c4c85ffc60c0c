"""Right answers to chapter 13's exercises, and mutated reference solutions that are still right."""

import torch

from attnbook import head_outputs, merge_heads, split_heads
from attnbook.exercises.chapters.ch13.patch import backwards, most_needed, my_score, without_head
from tests.support.mutants import changed


def score_by_a_mask(weights, ids):
    length = len(ids)
    i, j = torch.meshgrid(torch.arange(length), torch.arange(length), indexing="ij")
    i, j = i.to(ids.device), j.to(ids.device)
    before = (ids[i] == ids[(j - 1).clamp(min=0)]) & (j > 0) & (j <= i)
    return (weights * before).sum((-2, -1)) / before.sum()


def score_by_pairs(weights, ids):
    pairs = [(i, j + 1) for i in range(len(ids)) for j in range(i) if ids[i] == ids[j]]
    rows, columns = zip(*pairs, strict=True)
    return weights[..., list(rows), list(columns)].mean(-1)


def score_without_gradients(weights, ids):
    with torch.no_grad():
        due = torch.zeros(len(ids), len(ids), dtype=torch.bool, device=ids.device)
        for i, letter in enumerate(ids):
            for j in (ids[:i] == letter).nonzero().flatten():
                due[i, j + 1] = True
        return weights.masked_fill(~due, 0.0).sum((-2, -1)) / due.sum().double()


def without_by_hooks(layer, x, others, mask, head):
    """Register our own hooks, and remove them afterward."""
    seen = []
    handle = layer.w_o.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    layer(others, mask=mask)
    handle.remove()
    width = layer.d_model // layer.n_heads
    columns = slice(head * width, (head + 1) * width)
    mean = seen[0][..., columns].mean(0)

    def replace(module, inputs):
        rows = inputs[0].clone()
        rows[..., columns] = mean
        return (rows,)

    handle = layer.w_o.register_forward_pre_hook(replace)
    output, _ = layer(x, mask=mask)
    handle.remove()
    return output


def without_by_subtraction(layer, x, others, mask, head):
    """A layer adds the sum of what its heads add."""

    def added(rows):
        with torch.no_grad(), head_outputs(layer) as calls:
            whole, _ = layer(rows, mask=mask)
        return whole, calls[0][:, head] @ split_heads(layer.w_o.weight, layer.n_heads)[head].mT

    whole, ours = added(x)
    return whole - ours + added(others)[1].mean(0)


def without_in_one_batch(layer, x, others, mask, head):
    """Run x and the others in one batch, and average over the others."""

    def replace(outputs):
        rows = split_heads(merge_heads(outputs), layer.n_heads).clone()
        rows[: len(x), head] = rows[len(x) :, head].mean(0)
        return rows

    with head_outputs(layer, replace):
        return layer(torch.cat((x, others)), mask=mask)[0][: len(x)]


def backwards_by_loops(tokens, block, run):
    size = 3 * tokens + 2 * block
    qk, ov = torch.zeros(size, size), torch.zeros(size, size)
    for letter in range(tokens):
        qk[letter, letter] = 100
        ov[tokens + letter, 2 * tokens + letter] = 1
    for i in range(block, 2 * block):
        for j in range(block):
            qk[3 * tokens + i, 3 * tokens + j] = 100
    return run(qk, ov)


def backwards_not_in_the_second_half(tokens, block, run):
    columns = torch.arange(3 * tokens + 2 * block)
    letter, previous, out, position = columns.split([tokens] * 3 + [2 * block])
    qk, ov = torch.zeros(2, len(columns), len(columns), dtype=torch.float64)
    qk[letter, letter] = 20
    qk[position[:, None], position[block:]] = -50
    ov[previous, out] = 1
    return run(qk, ov)


def backwards_in_numpy(tokens, block, run):
    columns = torch.arange(3 * tokens + 2 * block).numpy()
    qk, ov = torch.zeros(2, len(columns), len(columns)).numpy()
    letter, previous = columns[:tokens], columns[tokens : 2 * tokens]
    qk[letter, letter] = 100
    qk[columns[3 * tokens :], columns[3 * tokens :]] = -100
    ov[previous, previous + tokens] = 1
    return run(qk, ov)


def needed_by_zeros(model, ids, known):
    """Zero ablation agrees with mean ablation in these models."""
    found = []
    for n, layer in enumerate(model.layers):
        for h in range(layer.n_heads):

            def silent(outputs, h=h):
                outputs = outputs.clone()
                outputs[:, h] = 0
                return outputs

            with head_outputs(layer, silent):
                logits = model(ids[:, :-1])[0]
            hit = logits.argmax(-1) == ids[:, 1:]
            found.append((hit[known].float().mean().item(), n, h))
    return min(found)[1:]


def needed_by_weights(model, ids, known):
    """Zero a head's rows of W_O, then put them back. The mean output is not added."""
    losses = torch.zeros(2, 4)
    for n in range(2):
        weight = model.layers[n].w_o.weight
        width = weight.size(1) // 4
        for h in range(4):
            kept = weight[:, h * width : (h + 1) * width].clone()
            weight[:, h * width : (h + 1) * width] = 0
            logs = model(ids[:, :-1])[0].log_softmax(-1)
            weight[:, h * width : (h + 1) * width] = kept
            losses[n, h] = -logs.gather(-1, ids[:, 1:, None])[..., 0][known].mean()
    return [int(losses.amax(1).argmax()), int(losses.amax(0).argmax())]


def needed_by_another_sequence(model, ids, known):
    """Resample ablation gives the same answer."""
    shares = {}
    for n, layer in enumerate(model.layers):
        for h in range(4):
            chosen = (torch.arange(4, device=ids.device) == h)[:, None, None]
            roll = lambda x, chosen=chosen: torch.where(chosen, x.roll(1, 0), x)  # noqa: E731
            with torch.no_grad(), head_outputs(layer, roll):
                said = model(ids[:, :-1])[0].argmax(-1)
            shares[n, h] = int(((said == ids[:, 1:]) & known).sum())
    return torch.tensor(min(shares, key=shares.get))


def patched_by_a_projection(first, second, x, other, mask):
    """Compute the second layer by hand."""
    stream, keys = x + first(x, mask=mask)[0], x + first(other, mask=mask)[0]
    query, key, value = (
        split_heads(w(rows), second.n_heads)
        for w, rows in ((second.w_q, stream), (second.w_k, keys), (second.w_v, stream))
    )
    scores = (query @ key.mT * query.size(-1) ** -0.5).masked_fill(~mask, -torch.inf)
    return stream + second.w_o(merge_heads(scores.softmax(-1) @ value))


def patched_by_a_hook(first, second, x, other, mask):
    """Replace the input of w_k."""
    swapped = x + first(other, mask=mask)[0]
    stream = x + first(x, mask=mask)[0]
    handle = second.w_k.register_forward_pre_hook(lambda module, inputs: (swapped,))
    try:
        return stream + second(stream, mask=mask)[0]
    finally:
        handle.remove()


def patched_without_gradients(first, second, x, other, mask):
    with torch.no_grad():
        ours, theirs = (first(rows, mask=mask)[0] for rows in (x, other))
        read, _ = second(query=x + ours, key=x + theirs, value=x + ours, mask=mask)
        return x + ours + read


def kind_by_sentences(ask):
    """Average over random blocks, each followed by a piece of itself."""
    generator = torch.Generator().manual_seed(0)
    chances = {(): [], (0,): [], (1,): []}
    for _ in range(20):
        block = torch.randperm(16, generator=generator)[:8]
        start = int(torch.randint(1, 5, (1,), generator=generator))
        ids = torch.cat((block, block[start : start + 2]))
        for without, found in chances.items():
            found.append(ask(ids, without)[-1, block[start + 2]])
    whole, without_0, without_1 = (torch.stack(found).mean() for found in chances.values())
    if whole < 0.3:
        return "position"
    if without_0 > whole + 0.1:
        return "opposite"
    if without_0 < whole / 2:
        return "match"
    return "shared" if without_1 > whole / 2 else "idle"


def kind_by_both(ask):
    """Remove each of the two heads alone, then both."""
    ids = [0, 1, 2, 3, 4, 5, 1]
    chance = {w: float(ask(ids, w)[6, 2]) for w in ((), (0,), (1,), (0, 1))}
    if chance[()] < 2 * chance[0, 1]:
        return "position"
    only_0, only_1 = chance[1,] > 2 * chance[0, 1], chance[0,] > 2 * chance[0, 1]
    if only_0:
        return "shared" if only_1 else "match"
    return "idle" if chance[0,] < 1.1 * chance[()] else "opposite"


def kind_by_numpy(ask):
    ids = torch.tensor([5, 6, 7, 8, 9, 6, 7])
    row = {w: ask(ids=ids, without=list(w)).numpy()[-1] for w in ((), (0,), (1,))}
    if row[()].argmax() != 8:
        return "POSITION"
    if row[0,][8] < 0.2:
        return "match"
    if row[0,][8] - row[()][8] > 0.05:
        return "opposite"
    return "shared" if row[1,].argmax() == 8 else "idle"


RIGHT = {
    "13.scores": (score_by_a_mask, score_by_pairs, score_without_gradients),
    "13.ablate": (without_by_hooks, without_by_subtraction, without_in_one_batch),
    "13.circuit": (backwards_by_loops, backwards_not_in_the_second_half, backwards_in_numpy),
    "13.find": (needed_by_zeros, needed_by_weights, needed_by_another_sequence),
    "13.patch": (patched_by_a_projection, patched_by_a_hook, patched_without_gradients),
    "13.experiment": (kind_by_sentences, kind_by_both, kind_by_numpy),
}
EQUIVALENT = {
    "13.scores": {
        changed(my_score, "(1, dims=-1)", "(1)"): "the last column is empty, so no row spills over",
        changed(my_score, "dims=-1", "dims=+1"): "the second of two axes is the last",
    },
    "13.ablate": {changed(without_head, "usual[0]", "usual[-1]"): "a list of one call"},
    "13.circuit": {
        changed(backwards, where + " = 100", where + " = 101"): "any large number"
        for where in ("[letter, letter]", "[position[block:, None], position[:block]]")
    },
    "13.find": {
        changed(most_needed, "double().mean()", "double().sum()"): "the same order",
        changed(most_needed, "[known]", "[ids]"): "other letters, and the same head",
    },
}
