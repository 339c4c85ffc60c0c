"""The book's figures: one line in a chapter, drawn in the colours of the roles, returning None."""

from attnbook.figures.embeddings import plot_embedding
from attnbook.figures.heads import plot_heads, plot_split
from attnbook.figures.library import plot_lookup, plot_reach, plot_temperatures
from attnbook.figures.lines import plot_lines, plot_softmax_row
from attnbook.figures.maps import plot_matrix, plot_weights
from attnbook.figures.masks import plot_leaks, plot_masks
from attnbook.figures.patches import plot_patches
from attnbook.figures.positions import (
    plot_by_distance,
    plot_by_position,
    plot_clocks,
    plot_positions,
    plot_turns,
)
from attnbook.figures.shapes import plot_shapes, plot_steps
from attnbook.figures.single_head import plot_head, plot_maps

__all__ = [
    "plot_by_distance",
    "plot_by_position",
    "plot_clocks",
    "plot_embedding",
    "plot_head",
    "plot_heads",
    "plot_leaks",
    "plot_lines",
    "plot_lookup",
    "plot_maps",
    "plot_masks",
    "plot_matrix",
    "plot_patches",
    "plot_positions",
    "plot_reach",
    "plot_shapes",
    "plot_softmax_row",
    "plot_split",
    "plot_steps",
    "plot_temperatures",
    "plot_turns",
    "plot_weights",
]
