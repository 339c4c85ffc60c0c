"""More right answers to 13.ablate, and mutants that are still right, with the reasons."""

import torch

from attnbook import head_outputs, merge_heads, split_heads
from attnbook.exercises.chapters.ch13.ablate import without_head
from tests.support.mutants import changed


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


RIGHT = (without_by_hooks, without_by_subtraction, without_in_one_batch)

EQUIVALENT = {changed(without_head, "usual[0]", "usual[-1]"): "a list of one call"}
