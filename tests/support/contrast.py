"""The contrast between two colors (WCAG 2.2)."""

from matplotlib.colors import to_rgb


def linear(color) -> list[float]:
    """Return the linear RGB components of a color."""
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]


def luminance(color) -> float:
    """Return the relative luminance of a color, from 0 to 1."""
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True))


def contrast(first, second) -> float:
    """Return the contrast ratio, from 1 to 21; text needs 4.5, and a curve needs 3."""
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)
