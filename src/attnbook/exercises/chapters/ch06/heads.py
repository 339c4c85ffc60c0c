"""Combine two masks, with an axis for the heads."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake
from attnbook.language import _


def may_look(lengths: Tensor, length: int) -> Tensor:
    position = torch.arange(length).to(lengths.device)
    causal = position <= position[:, None]  # (L, L)
    real = position >= length - lengths[:, None]  # (B, L)
    return causal & real[:, None, None, :]


def by_distance(lengths: Tensor, length: int) -> Tensor:
    position = torch.arange(length, device=lengths.device)
    back = position[:, None] - position  # (L, L), how far back each key is
    first = (length - lengths)[:, None, None, None]  # the position of the first real word
    into = position[:, None] - first  # how far into its sentence each query is
    return (back >= 0) & (back <= into)


def head_cases(generator: Generator) -> list[Case]:
    def case(note: str, length: int, *lengths: int) -> Case:
        sizes = {"B": len(lengths), "H": 1, "L": length}
        return Case((torch.tensor(lengths), length), sizes, note)

    some = torch.randint(1, 6, (4,), generator=generator).tolist()
    return [
        case("2 sentences, of 3 words and 1 word", 4, 3, 1),
        case("3 sentences, one of them full", 5, 5, 2, 4),
        case(_("4 sentences of {lengths} words").format(lengths=some), 6, *some),
        case("one sentence is empty", 3, 0, 2),
    ]


def combined(how: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """Return a wrong combination of the right masks, causal (L, L) and real (B, L)."""

    def wrong(lengths: Tensor, length: int) -> Tensor:
        place = torch.arange(length, device=lengths.device)
        return how(place <= place[:, None], place >= length - lengths[:, None])

    return wrong


EXERCISE = Exercise(
    title="Two masks and the axis of the heads",
    level=2,
    minutes=10,
    section="6.9",
    prompt="""
We want to continue a batch of sentences at the right end, so short ones are padded on the *left*,
to `length` words. `lengths` (B,) holds the number of real words in each sentence. Write
`may_look(lengths, length)`: a mask that is causal, hides the padding, and is the same for all
heads. It is boolean (True = may look) and has shape (B, 1, L, L). The padding's queries may then
look at nothing, and that is right: section 6.7 has the rule for them.
""",
    reference=may_look,
    cases=head_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            combined(lambda causal, real: causal & real[:, None, :]),
            "A mask with three axes is aligned with (H, Lq, Lk), so the mask of sentence b goes to "
            "head b.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real[None, :, None, :]),
            "Your sentences are on the axis of the heads. The batch comes first.",
        ),
        Mistake(
            combined(lambda causal, real: causal | real[:, None, None, :]),
            "You combined the masks with *or*. A key is visible only if both masks permit it.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real[:, None, :, None]),
            "You hid the rows of the padding. Hide its columns, because the keys are what a query "
            "looks at.",
        ),
        Mistake(
            combined(lambda causal, real: real[:, None, None, :].expand(-1, -1, len(causal), -1)),
            "The padding is hidden, but the causal mask is missing.",
        ),
        Mistake(
            combined(lambda causal, real: causal.expand(len(real), 1, -1, -1)),
            "The future is hidden, but the padding is not.",
        ),
        Mistake(
            combined(lambda causal, real: ~(causal & real[:, None, None, :])),
            "Your mask has the opposite meaning: your True means hidden.",
        ),
        Mistake(
            combined(lambda causal, real: causal & ~real[:, None, None, :]),
            "You hid the words and left the padding visible.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real.flip(-1)[:, None, None, :]),
            "You hid the ends of the sentences, as `padding_mask` does. Here the padding is on "
            "the left.",
        ),
        Mistake(
            lambda lengths, length: combined(lambda causal, real: causal & real[:, None, None, :])(
                length - lengths, length
            ),
            "`lengths` counts the real words, not the padding.",
        ),
        Mistake(
            lambda lengths, length: combined(lambda causal, real: causal & real[:, None, None, :])(
                lengths - 1, length
            ),
            "Off by one: the first real word is hidden. After p padding positions, it is at "
            "position p.",
        ),
        Mistake(
            combined(
                lambda causal, real: (
                    causal & real[:, None, None, :]
                    | ~real[:, None, :, None] & torch.eye(len(causal)).to(causal)
                )
            ),
            "You let the padding attend to itself. Leave its rows empty: the book's `softmax` "
            "turns them into zeros.",
        ),
    ),
    hints=(
        "Make two masks first, (L, L) and (B, L). Which axis of the second belongs to the keys?",
        "Compare `torch.arange(length)` with itself, and with the position at which each sentence "
        "begins.",
        "Indexing with None inserts an axis: (B, L) becomes (B, 1, 1, L). Then `&` broadcasts.",
    ),
    insight="The causal mask alone hides padding on the right from real words, but not padding on "
    "the left.",
    comes_back="06.pytorch converts such a mask for PyTorch's layer.",
    others=(by_distance,),
)
