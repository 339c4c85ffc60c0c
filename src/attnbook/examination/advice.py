"""What to say or to do if code cannot be called."""

import re
from typing import Any

from attnbook.examination.calling import ANY_MASK, parameters_of
from attnbook.examination.facts import KINDS, Facts
from attnbook.examination.kinds import required_names
from attnbook.examination.layer_input import FEW_ROWS, OTHER_LENGTH
from attnbook.language import _

MASK = re.compile("|".join((".*mask.*", *ANY_MASK)), re.IGNORECASE)
SECOND = re.compile(r"(z|context|ctx|memory|enc\w*|kv|key_value\w*|source|src)", re.IGNORECASE)
WIDTH = re.compile("mat1|size|dimension|normalized_shape|einsum|expected")  # in PyTorch's words


def advice(thing: Any, kind: str, facts: Facts, problem: str, *, guessed: bool) -> str:
    """Return a sentence that helps to call a thing, or "".

    `guessed` says that the kind was.
    """
    if missing := missing_names(thing, kind, facts):
        return for_missing(missing, kind, facts)
    if guessed and kind == "lm":
        return _(
            'I took it for a model because of its embedding table: `kind="layer"` says otherwise.'
        )
    if kind not in ("layer", "cross") or "NotImplementedError" in problem:
        return ""
    second = next((p.name for p in parameters_of(thing) if SECOND.fullmatch(p.name)), "")
    if second and kind == "layer":
        return _('It also takes `{name}`: for a second sequence, say `kind="cross"`.').format(
            name=second
        )
    if facts.mask and "must match" in problem:
        sentence = _('Does the mask have the shape that `mask_shape=` says, here "{form}"?')
        return sentence.format(form=facts.form)
    if OTHER_LENGTH.search(problem):
        return _("It has to take any number of rows; I began with {n}.").format(n=FEW_ROWS)
    width = _("If the rows have another width, pass d_model=.")
    return f"{width} {wrap(kind)}" if WIDTH.search(problem) and not facts.d_model else wrap(kind)


def missing_names(thing: Any, kind: str, facts: Facts) -> list[str]:
    """Name the parameters that must be given and are not: no keys and values, which rows are."""
    n_rows = KINDS[kind].n_rows
    names = required_names(thing)[n_rows + bool(facts.mask) :] if n_rows else []
    return [name for name in names if not re.fullmatch("k|v|keys?|values?", name)]


def for_missing(missing: list[str], kind: str, facts: Facts) -> str:
    """Say what a parameter that was not passed may be."""
    mask = next((name for name in missing if MASK.fullmatch(name)), "")
    if mask and kind == "lm" and not facts.keep:
        return _("If `{name}` marks real words, say `keep=True`.").format(name=mask)
    if mask and not facts.mask and kind != "seq2seq":
        return _(
            'Say what `{name}` means, `mask="keep"` or `mask="hide"`, and its shape, such as '
            '`mask_shape="BL"` for padding.'
        ).format(name=mask)
    if kind == "layer" and SECOND.fullmatch(missing[0]):
        return _('If `{name}` is a second sequence, say `kind="cross"`.').format(name=missing[0])
    given = KINDS[kind].arguments
    code = f'examine(lambda {given}: f({given}, {", ".join(missing)}), kind="{kind}")'
    return _("Wrap it: `{code}`.").format(code=code)


def wrap(kind: str) -> str:
    """Say how to examine what takes something else."""
    code = f'examine(lambda {KINDS[kind].arguments}: …, kind="{kind}")'
    return _("If it takes or returns something else, wrap it: `{code}`.").format(code=code)
