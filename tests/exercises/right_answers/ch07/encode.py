"""More right answers to 07.encode, and mutants that are still right, with the reasons."""

import math

import torch

from attnbook.exercises.chapters.ch07.encode import encode
from attnbook.positions.absolute import sinusoidal_encoding
from tests.support.mutants import changed


def encode_library(length, d_model):
    return sinusoidal_encoding(length, d_model)


def encode_slices(length, d_model):
    p = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    p[:, 0::2] = torch.sin(position * div_term)
    p[:, 1::2] = torch.cos(position * div_term)
    return p


def encode_phase(length, d_model):
    column = torch.arange(d_model)
    frequencies = 10000.0 ** (-2 * (column // 2) / d_model)
    return torch.sin(
        torch.outer(torch.arange(length).float(), frequencies) + column % 2 * math.pi / 2
    )


RIGHT = (encode_library, encode_slices, encode_phase)

EQUIVALENT = {changed(encode, "flatten(1)", "flatten(-2)"): "axis 1 of three, from the end"}
