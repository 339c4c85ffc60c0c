"""Wrong answers to 12.top_p, each with words of what the reader is told."""

import math

import torch


def kept_in_order(probabilities, p):
    ordered, order = probabilities.sort(-1, descending=True)
    return ordered, order, ordered.cumsum(-1) - ordered < p


def back(ordered, order):
    return torch.zeros_like(ordered).scatter(-1, order, ordered)


def divided(kept):
    return kept / kept.sum(-1, keepdim=True)


def infinity_at_the_end(probabilities, p):
    ordered, order, stays = kept_in_order(probabilities, p)
    answer = back(divided(ordered * stays), order)
    return answer.masked_fill(answer == 0, -math.inf)


def infinity_before_the_division(probabilities, p):
    ordered, order, stays = kept_in_order(probabilities, p)
    return back(divided(ordered.masked_fill(~stays, -math.inf)), order)


def compared_with_p(probabilities, p):
    return divided(probabilities * (probabilities >= p))


def divided_by_p(probabilities, p):
    ordered, order, stays = kept_in_order(probabilities, p)
    return back(ordered * stays / p, order)


def one_more(probabilities, p):
    ordered, order, stays = kept_in_order(probabilities, p)
    stays = torch.cat((torch.ones_like(stays[..., :1]), stays[..., :-1]), dim=-1)
    return back(divided(ordered * stays), order)


def like_the_first_row(probabilities, p):
    ordered, order, stays = kept_in_order(probabilities, p)
    ordered[..., int(stays.flatten(0, -2)[0].sum()) :] = 0
    return back(divided(ordered), order)


def like_the_longest_row(probabilities, p):
    ordered, order, stays = kept_in_order(probabilities, p)
    ordered[..., int(stays.sum(-1).max()) :] = 0
    return back(divided(ordered), order)


def at_least_the_rest(probabilities, p):
    return divided(torch.where(probabilities >= 1 - p, probabilities, 0.0))


def at_least_a_share_of_the_largest(probabilities, p):
    largest = probabilities.max(-1, keepdim=True).values
    return divided(torch.where(probabilities >= p * largest, probabilities, 0.0))


def a_share_of_the_words(probabilities, p):
    found = probabilities.topk(math.ceil(p * probabilities.size(-1)), dim=-1)
    return torch.zeros_like(probabilities).scatter(-1, found.indices, divided(found.values))


def along_the_rows(probabilities, p):
    ordered, order = probabilities.sort(-1, descending=True)
    return back(divided(ordered * (ordered.cumsum(0) - ordered < p)), order)


WRONG = {
    infinity_at_the_end: "You set the words left out to −∞",
    infinity_before_the_division: "You set the words left out to −∞",
    compared_with_p: "You kept the words whose own probability is at least p.",
    divided_by_p: "You divided by p.",
    one_more: "You keep one word too many, the one after",
    like_the_first_row: "You kept the same number of words in all rows.",
    like_the_longest_row: "You kept the same number of words in all rows.",
    at_least_the_rest: "own probability is at least 1 − p.",
    at_least_a_share_of_the_largest: "with at least p times the largest probability",
    a_share_of_the_words: "You kept a fraction p of the words.",
    along_the_rows: "You added up along another axis.",
}
