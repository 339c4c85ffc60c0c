"""Shared by exercises of chapter 9: the ids that are not words."""

PAD, BEGIN, END = 0, 1, 2
