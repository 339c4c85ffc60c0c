"""Wrong answers to 13.find, each with words of what the reader is told."""

import torch
import torch.nn.functional as F

from attnbook import head_outputs

CONSTANT = "The output of this head is the same for all sequences"
LESS_SURE = "Without this head, the model is less sure"


def chosen(head, outputs):
    return (torch.arange(outputs.size(1), device=outputs.device) == head)[:, None, None]


def replaced(new):
    """Return a function that replaces one head's outputs with these."""
    return lambda head, outputs: torch.where(chosen(head, outputs), new(outputs), outputs)


def mean(outputs):
    return outputs.mean(0, keepdim=True)


def n_right(logits, ids, known):
    return ((logits.argmax(-1) == ids[:, 1:]) & known).sum().item()


by_its_mean = replaced(mean)


def without_each(model, ids, known, replace=by_its_mean, value=n_right):
    found = {}
    for n, layer in enumerate(model.layers):
        for h in range(4):
            with head_outputs(layer, lambda outputs, h=h: replace(h, outputs)):
                found[n, h] = value(model(ids[:, :-1])[0], ids, known)
    return found


def by_zeros(model, ids, known):
    found = without_each(model, ids, known, replaced(torch.zeros_like))
    return min(found, key=found.get)


def by_zeros_in_w_o(model, ids, known):
    found = {}
    for n, layer in enumerate(model.layers):
        for h, columns in enumerate(layer.w_o.weight.unflatten(1, (4, -1)).unbind(1)):
            kept = columns.clone()
            columns.zero_()
            found[n, h] = n_right(model(ids[:, :-1])[0], ids, known)
            columns.copy_(kept)
    return min(found, key=found.get)


def by_the_mean_over_positions(model, ids, known):
    found = without_each(model, ids, known, replaced(lambda x: x.mean((0, 2), keepdim=True)))
    return min(found, key=found.get)


def by_another_sequence(model, ids, known):
    found = without_each(model, ids, known, replaced(lambda outputs: outputs.roll(7, 0)))
    return min(found, key=found.get)


def by_the_first_sequence(model, ids, known):
    found = without_each(model, ids, known, replaced(lambda outputs: outputs[:1]))
    return min(found, key=found.get)


def by_the_loss(model, ids, known):
    def loss(logits, ids, known):
        return F.cross_entropy(logits[known], ids[:, 1:][known]).item()

    found = without_each(model, ids, known, value=loss)
    return max(found, key=found.get)


def at_all_positions(model, ids, known):
    found = without_each(model, ids, torch.ones_like(known))
    return min(found, key=found.get)


def at_the_other_positions(model, ids, known):
    found = without_each(model, ids, ~known)
    return min(found, key=found.get)


def in_the_first_layer(model, ids, known):
    found = without_each(model, ids, known)
    return min(list(found)[:4], key=found.get)


def in_the_second_layer(model, ids, known):
    found = without_each(model, ids, known)
    return min(list(found)[4:], key=found.get)


def all_others_of_its_layer(model, ids, known):
    def replace(head, outputs):
        return torch.where(chosen(head, outputs), outputs, mean(outputs))

    found = without_each(model, ids, known, replace)
    return max(found, key=found.get)


def all_others(model, ids, known):
    found = {}
    for n, h in ((n, h) for n in range(2) for h in range(4)):
        only = [lambda x, keep=keep: torch.where(chosen(keep, x), x, mean(x)) for keep in (h, -1)]
        own, other = model.layers[n], model.layers[1 - n]
        with head_outputs(own, only[0]), head_outputs(other, only[1]):
            found[n, h] = n_right(model(ids[:, :-1])[0], ids, known)
    return max(found, key=found.get)


def by_the_norm_of_w_o(model, ids, known):
    norms = torch.stack([x.w_o.weight.unflatten(1, (4, -1)).norm(dim=(0, 2)) for x in model.layers])
    return divmod(int(norms.argmax()), 4)


def by_the_norm_of_w_v(model, ids, known):
    norms = torch.stack([x.w_v.weight.unflatten(0, (4, -1)).norm(dim=(1, 2)) for x in model.layers])
    return divmod(int(norms.argmax()), 4)


def by_the_norm_of_w_v_in_the_first_layer(model, ids, known):
    return 0, int(model.layers[0].w_v.weight.unflatten(0, (4, -1)).norm(dim=(1, 2)).argmax())


def by_the_size_of_outputs(model, ids, known):
    sizes = []
    for layer in model.layers:
        with head_outputs(layer) as outputs:
            model(ids[:, :-1])
        sizes.append(outputs[0].square().sum((0, 2, 3)))
    return divmod(int(torch.stack(sizes).argmax()), 4)


def by_the_map(model, ids, known):
    maps = model(ids[:, :-1])[1]
    return divmod(int(maps.diagonal(-1, -2, -1).mean((1, 3)).argmax()), 4)


def by_the_map_of_the_first_half(model, ids, known):
    maps = model(ids[:, :-1])[1]
    return divmod(int(maps.diagonal(-1, -2, -1)[..., :6].mean((1, 3)).argmax()), 4)


def by_the_sharpest_map(model, ids, known):
    maps = model(ids[:, :-1])[1]
    return divmod(int(maps.amax(-1).mean((1, 3)).argmax()), 4)


def least_needed(model, ids, known):
    found = without_each(model, ids, known)
    return max(found, key=found.get)


PREVIOUS = "This head has the highest previous-token score"

WRONG = {
    by_zeros: CONSTANT,
    by_zeros_in_w_o: CONSTANT,
    by_the_mean_over_positions: CONSTANT,
    by_another_sequence: LESS_SURE,
    by_the_first_sequence: LESS_SURE,
    by_the_loss: LESS_SURE,
    at_all_positions: "Count only where `known` is True.",
    by_the_map: PREVIOUS,
    by_the_map_of_the_first_half: PREVIOUS,
    **dict.fromkeys(
        (
            at_the_other_positions,
            in_the_first_layer,
            in_the_second_layer,
            all_others_of_its_layer,
            all_others,
            by_the_norm_of_w_o,
            by_the_norm_of_w_v,
            by_the_norm_of_w_v_in_the_first_layer,
            by_the_size_of_outputs,
            by_the_sharpest_map,
            least_needed,
        ),
        "",  # the reader is told that another head is needed more
    ),
}
