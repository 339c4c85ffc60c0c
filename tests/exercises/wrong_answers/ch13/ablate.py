"""Wrong answers to 13.ablate, each with words of what the reader is told."""

from attnbook import head_outputs, merge_heads, scaled_dot_product_attention, split_heads


def outputs_for(layer, rows, mask):
    with head_outputs(layer) as outputs:
        layer(rows, mask=mask)
    return outputs[0]


def run(layer, x, mask, head, new):
    def replace(outputs):
        changed = outputs.clone()
        changed[:, head] = new
        return changed

    with head_outputs(layer, replace):
        return layer(x, mask=mask)[0]


def no_mask_for_x(layer, x, others, mask, head):
    mean = outputs_for(layer, others, mask)[:, head].mean(0)
    return run(layer, x, None, head, mean)


def all_other_heads(layer, x, others, mask, head):
    means = outputs_for(layer, others, mask).mean(0)

    def replace(outputs):
        changed = means.repeat(len(outputs), 1, 1, 1)
        changed[:, head] = outputs[:, head]
        return changed

    with head_outputs(layer, replace):
        return layer(x, mask=mask)[0]


def added(layer, x, others, mask, head):
    mean = outputs_for(layer, others, mask)[:, head].mean(0)
    return run(layer, x, mask, head, outputs_for(layer, x, mask)[:, head] + mean)


def averaged_weights(layer, x, others, mask, head):
    weights = layer(others, mask=mask)[1][:, head].mean(0)
    value = split_heads(layer.w_v(x), layer.n_heads)[:, head]
    return run(layer, x, mask, head, weights @ value)


def averaged_values(layer, x, others, mask, head):
    query, key = layer.w_q(x), layer.w_k(x)
    query, key = (split_heads(rows, layer.n_heads)[:, head] for rows in (query, key))
    value = split_heads(layer.w_v(others), layer.n_heads)[:, head].mean(0)
    found = scaled_dot_product_attention(query, key, value.expand_as(query), mask)[0]
    return run(layer, x, mask, head, found)


def mean_over_columns(layer, x, others, mask, head):
    mean = outputs_for(layer, others, mask)[:, head].mean(0).mean(-1, keepdim=True)
    return run(layer, x, mask, head, mean)


def as_many_as_x(layer, x, others, mask, head):
    mean = outputs_for(layer, others[: len(x)], mask)[:, head].mean(0)
    return run(layer, x, mask, head, mean)


def by_another_forward(layer, x, others, mask, head):
    """Replace the method of the class for good."""

    def forward(self, rows, mask):
        query, key, value = (
            split_heads(part(rows), self.n_heads) for part in (self.w_q, self.w_k, self.w_v)
        )
        found = scaled_dot_product_attention(query, key, value, mask)[0]
        found[:, head] = 0
        return self.w_o(merge_heads(found)), None

    type(layer).forward = forward
    return layer(x, mask=mask)[0]


WRONG = {
    no_mask_for_x: "The mask is missing for `x`",
    all_other_heads: "You replaced all the *other* heads",
    added: "You added the mean",
    averaged_weights: "You averaged the weights of `others`",
    averaged_values: "You averaged the values of `others`",
    mean_over_columns: "You took the mean over the columns too.",
    as_many_as_x: "You took the mean over only part of `others`, one for each sequence of `x`.",
    by_another_forward: "You set the head to zero",
}
