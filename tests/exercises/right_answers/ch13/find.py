"""More right answers to 13.find, and mutants that are still right, with the reasons."""

import torch

from attnbook import head_outputs, merge_heads, split_heads
from attnbook.exercises.chapters.ch13.find import most_needed
from tests.support.mutants import changed


def needed_by_hooks(model, ids, known):
    """Replace the input of W_O with a hook of PyTorch's, and count wrong letters."""
    n_wrong = torch.zeros(2, 4)
    for n, layer in enumerate(model.layers):
        for h in range(layer.n_heads):

            def replace(module, args, h=h):
                heads = split_heads(args[0], 4)
                heads = torch.cat(
                    (
                        heads[:, :h],
                        heads[:, h : h + 1].mean(0, True).expand_as(heads[:, h : h + 1]),
                        heads[:, h + 1 :],
                    ),
                    dim=1,
                )
                return (merge_heads(heads),)

            hook = layer.w_o.register_forward_pre_hook(replace)
            said = model(ids[:, :-1])[0].argmax(-1)
            hook.remove()
            n_wrong[n, h] = (said[known] != ids[:, 1:][known]).sum()
    return [int(n_wrong.amax(1).argmax()), int(n_wrong.amax(0).argmax())]


def needed_by_weights(model, ids, known):
    """Read the mean output, zero a head's columns of W_O, and add what they made of the mean."""
    shares = {}
    for n, layer in enumerate(model.layers):
        with head_outputs(layer) as usual:
            model(ids[:, :-1])
        for h in range(4):
            columns = layer.w_o.weight.unflatten(1, (4, -1))[:, h]  # (D, Dv), a view
            kept = columns.clone()
            mean = usual[0][:, h].mean(0) @ kept.T  # (L, D)
            columns.zero_()
            hook = layer.w_o.register_forward_hook(lambda m, a, out, mean=mean: out + mean)
            said = model(ids[:, :-1])[0].argmax(-1)
            hook.remove()
            columns.copy_(kept)
            shares[n, h] = (said == ids[:, 1:])[known].float().mean().item()
    return torch.tensor(min(shares, key=shares.get))


def needed_in_parts(model, ids, known):
    """Run the model on parts of the sequences, with means that were computed before."""
    found = []
    for n, layer in enumerate(model.layers):
        with head_outputs(layer) as usual:
            model(ids[:, :-1])
        for h in range(4):
            mean = usual[0][:, h].mean(0)

            def replace(outputs, h=h, mean=mean):
                outputs = outputs.clone()
                outputs[:, h] = mean
                return outputs

            n_right = 0
            with head_outputs(layer, replace):
                for part, marked in zip(ids.split(25), known.split(25), strict=True):
                    hit = model(part[:, :-1])[0].argmax(-1) == part[:, 1:]
                    n_right += int((hit & marked).sum())
            found.append((n_right, n, h))
    return min(found)[1:]


RIGHT = (needed_by_hooks, needed_by_weights, needed_in_parts)

EQUIVALENT = {
    changed(most_needed, "double().mean()", "double().sum()"): "the same order",
}
