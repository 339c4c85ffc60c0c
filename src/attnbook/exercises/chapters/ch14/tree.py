"""The mask of a tree of drafts."""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property


def my_tree(parents: Sequence[int], n_old: int) -> Tensor:
    n_new = len(parents)
    mask = torch.zeros(n_new, n_old + n_new, dtype=torch.bool)
    mask[:, :n_old] = True
    for word, parent in enumerate(parents):
        if parent >= 0:
            mask[word] = mask[parent]  # the whole path so far
        mask[word, n_old + word] = True
    return mask


def tree_by_walking(parents: Sequence[int], n_old: int) -> Tensor:
    rows = []
    for word in range(len(parents)):
        path, at = set(), word
        while at >= 0:
            path.add(at)
            at = parents[at]
        rows.append([True] * n_old + [other in path for other in range(len(parents))])
    return torch.tensor(rows, dtype=torch.bool).view(len(parents), n_old + len(parents))


def tree_cases(generator: Generator) -> list[Case]:
    asked = (
        ((-1, 0, 0), 2),
        ((-1, 0, 1, 2), 3),
        ((-1, -1, 0, 1, 0), 2),
        ((-1, 0, 1, 1, 0, 4, 4), 3),
        ((-1, 0, 1, -1, 3, 4, 1, 6), 5),
        ((-1, 0, 0, 1, 2), 0),
    )
    return [
        Case((list(parents), n), {"new": len(parents)}, f"parents {list(parents)}, {n} old words")
        for parents, n in asked
    ]


def tree(
    path: Callable[[Tensor], Tensor] = lambda steps: steps,
    old: Callable[[Tensor], Tensor] = lambda allowed: allowed,
) -> Callable[[Sequence[int], int], Tensor]:
    """Return the mask, right unless a part is replaced; `path` gets the right new columns."""

    def wrong(parents: Sequence[int], n_old: int) -> Tensor:
        right = my_tree(parents, n_old)
        return torch.cat((old(right[:, :n_old]), path(right[:, n_old:])), -1)

    return wrong


def only_parents(parents: Sequence[int], n_old: int) -> Tensor:
    mask = tree(path=lambda new: torch.eye(len(new), dtype=torch.bool))(parents, n_old)
    for word, parent in enumerate(parents):
        if parent >= 0:
            mask[word, n_old + parent] = True
    return mask


def nobodys_parent(new: Tensor) -> Tensor:
    """Hide word 0 from all words but itself."""
    new = new.clone()
    new[1:, 0] = False
    return new


def last_parent(parents: Sequence[int], n_old: int) -> Tensor:
    """Let index −1 mean the last row, as it does in Python."""
    mask = torch.zeros(len(parents), n_old + len(parents), dtype=torch.bool)
    mask[:, :n_old] = True
    for word, parent in enumerate(parents):
        mask[word, n_old + word] = True
        mask[word, n_old + parent] = True
        mask[word] |= mask[parent]
    return mask


EXERCISE = Exercise(
    title="The mask of a tree of drafts",
    level=3,
    minutes=12,
    section="14.9",
    second_reading=True,
    prompt="""
Several drafts that share beginnings are a tree of new words. `parents[i]` is the number of the new
word that comes before word i in its draft, or −1 if word i is the first of its draft. A parent
always has a smaller number than its children. `n_old` words are already in the cache. Write
`my_tree(parents, n_old)`, which returns the mask for one pass over all new words: a boolean tensor
of shape (new, old + new), True where a word may attend. Each new word may attend to all old words,
to itself, and to the words before it in its own draft.
""",
    reference=my_tree,
    cases=tree_cases,
    axes="new keys",
    mistakes=(
        Mistake(
            tree(path=lambda new: torch.ones_like(new).tril()),
            "That is the causal mask: words also attend to earlier words of *other* drafts.",
        ),
        Mistake(
            only_parents,
            "Each word attends to its parent, but not to the parent of its parent. The whole path "
            "back to the first word of the draft is allowed.",
        ),
        Mistake(
            tree(path=lambda new: new & ~torch.eye(len(new), dtype=torch.bool)),
            "Your words do not attend to themselves.",
        ),
        Mistake(
            tree(path=lambda new: torch.eye(len(new), dtype=torch.bool)),
            "Each new word attends only to itself and to the old words. The words before it in "
            "its draft are missing.",
        ),
        Mistake(
            tree(old=torch.zeros_like),
            "The old words are hidden. All new words may attend to all of them.",
        ),
        Mistake(
            tree(path=lambda new: new.mT),
            "Your mask is turned around: words attend to those *after* them. Rows are queries.",
        ),
        Mistake(
            tree(path=lambda new: new | new.mT),
            "Your words attend to earlier and to later words of their drafts. Later words have to "
            "be hidden.",
        ),
        Mistake(
            tree(path=torch.ones_like),
            "Nothing is hidden. A new word may attend only to its own draft, up to itself.",
        ),
        Mistake(
            tree(path=nobodys_parent),
            "Word 0 can be a parent, but in your mask it is nobody's. Compare with `>= 0`.",
        ),
        Mistake(
            last_parent,
            "A parent of −1 means that there is none. As an index, −1 is the *last* word.",
        ),
        Mistake(
            lambda parents, n_old: torch.cat(
                (my_tree(parents, n_old)[:, n_old:], my_tree(parents, n_old)[:, :n_old]), -1
            ),
            "Your columns begin with the new words. In the cache, the old words come first.",
        ),
        Mistake(
            lambda parents, n_old: ~my_tree(parents, n_old),
            "Your mask is the opposite: True should mean *may attend*.",
        ),
    ),
    properties=(
        Property(
            "Word 0 should attend to itself, as all others do. Does a loop end too early? Compare "
            "with `>= 0`.",
            lambda answer, case: (
                bool(answer[0, case.arguments[1]])
                or not answer.diagonal(case.arguments[1])[1:].all()
            ),
        ),
        Property(
            "Each new word should attend to itself, but some of yours do not. The column of new "
            "word i is n_old + i.",
            lambda answer, case: bool(answer.diagonal(case.arguments[1]).all()),
        ),
    ),
    hints=(
        "Which words may the parent of a word attend to? And the word itself?",
        "A word may attend to what its parent may attend to, and to itself. Parents come first, so "
        "one loop is enough.",
        "`mask[word] = mask[parent]` if there is a parent, then `mask[word, n_old + word] = True`.",
    ),
    insight="A chain gives the causal mask, and words without parents are separate questions about "
    "the same text. So drafts, questions and answers differ only in the mask (and in positions, "
    "which count along the path).",
    comes_back="The mask in 11.repair is this one for a single draft.",
    others=(tree_by_walking,),
)
