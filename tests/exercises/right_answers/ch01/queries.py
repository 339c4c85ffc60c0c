"""More right answers to 01.queries, and mutants that are still right, with the reasons."""

import math

import torch
import torch.nn.functional as F

from attnbook.exercises.chapters.ch01.queries import lookups
from tests.support.mutants import changed


def lookups_einsum(queries, keys, values):
    scores = torch.einsum("id,jd->ij", queries, keys) * keys.size(-1) ** -0.5
    return torch.einsum("ij,jv->iv", F.softmax(scores, dim=-1), values)


def lookups_turned(queries, keys, values):
    by_book = (keys / math.sqrt(keys.size(1)) @ queries.T).softmax(0)
    return (values.T @ by_book).T


RIGHT = (lookups_einsum, lookups_turned)

EQUIVALENT = {
    changed(lookups, "keys.size", "queries.size"): "queries are as wide as keys",
    changed(lookups, "size(-1)", "size(+1)"): "the last axis of a matrix is its axis 1",
    changed(lookups, "dim=-1", "dim=+1"): "the last axis of a matrix is its axis 1",
}
