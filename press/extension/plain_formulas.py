"""A formula as plain text, for the search: √dₖ instead of MathML, whose text alone would be dk."""

import re

from lxml import html

# The subscripts and superscripts of Unicode
BELOW = str.maketrans("0123456789+−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
ABOVE = str.maketrans("0123456789+−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
APPLIED = "\N{FUNCTION APPLICATION}"
BETWEEN = frozenset("= + − ⋅ × ⊙ < > ≤ ≥ ≈ ≠ ∈ ∼ → ← ↦ ∣ :".split())  # with spaces around them
LEFT_OUT = "\N{INVISIBLE SEPARATOR}\N{BOTTOM CURLY BRACKET}"  # KaTeX's spacing, and an underbrace
# √2, 0.5, x, xᵢ², W_Q or K⊤: what needs no parentheses in a fraction or under a root
FACTOR = re.compile(r"√?(?:\d+(?:\.\d+)?|[^\W\d](?:_\w+|[₀-₎ₐ-ₜᵢ-ᵪⱼ²]*))[⊤′]?")


def in_plain_text(formula: html.HtmlElement) -> str:
    """Write a `math` element in a line of text: √(a + b), 1/2, xᵢ, W_Q, K⊤."""
    text = re.sub(rf"{APPLIED}\s*(?=\()", "", _written(formula)).replace(APPLIED, " ")
    text = re.sub(r"([(\[{])\s+|\s+([)\],;])", r"\1\2", " ".join(text.split()))
    return re.sub(r"(^|[(\[{=;,⋅] ?)− ", r"\1−", text).replace("/ √", "/√")


def _written(element: html.HtmlElement) -> str:
    """Return an element of MathML as text, with more spaces than are needed."""
    parts = [_written(child) for child in element]
    match element.tag, parts:
        case "mo", _:
            sign = (element.text or "").strip(LEFT_OUT)
            return f" {sign} " if sign in BETWEEN else sign + " " * (sign == ",")
        case "mi", _:  # a space before the name of a function
            name = element.text or ""
            return f" {name}" if len(name) > 1 else name
        case "mn" | "mtext", _:
            return (element.text or "").strip(LEFT_OUT)
        case "mspace", _:
            return " "
        case "msub" | "munder", [base, below]:
            return _with(base, below, "")
        case "msup" | "mover", [base, above]:
            return _with(base, "", above)
        case "msubsup" | "munderover", [base, below, above]:
            return _with(base, below, above)
        case "mfrac", [upper, lower]:
            return f" {_grouped(upper)}/{_grouped(lower)} "
        case "msqrt", _:
            return f" √{_grouped(''.join(parts))} "
        case "mtr" | "mtable", _:
            return (" " if element.tag == "mtr" else "; ").join(parts)
    return "".join(parts)


def _with(base: str, below: str, above: str) -> str:
    """Return a symbol with its subscript and its superscript, either of which may be empty."""
    written = base.rstrip() + _script(below, BELOW, "_") + _script(above, ABOVE, "^")
    return f"{written} " if base == "∑" or re.search(r"[_^]", written) else written


def _script(text: str, table: dict[int, int], sign: str) -> str:
    """Return a subscript or a superscript: in Unicode's characters, or after a sign."""
    text = text.strip()
    if not text.strip("⊤′"):
        return text
    if text in LEFT_OUT:
        return ""
    moved = text.replace(" ", "").translate(table)
    if not set(moved) & set(text):
        return moved
    return sign + (text if re.fullmatch(r"\w*", text) else f"({text})")


def _grouped(text: str) -> str:
    """Put parentheses around a text of more than one factor."""
    text = text.strip()
    return text if FACTOR.fullmatch(text) else f"({text})"
