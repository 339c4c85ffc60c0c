"""Layers, the Transformer, the language model, and how they write."""
