"""Move an encoding to another position by rotation."""

import math

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, named_sizes


def move(p: Tensor, angles: Tensor) -> Tensor:
    sines, cosines = p[..., ::2], p[..., 1::2]  # (..., D / 2)
    moved_sines = sines * angles.cos() + cosines * angles.sin()
    moved_cosines = cosines * angles.cos() - sines * angles.sin()
    return torch.stack((moved_sines, moved_cosines), dim=-1).flatten(-2)


def move_through_the_angle(p: Tensor, angles: Tensor) -> Tensor:
    at = torch.atan2(p[..., ::2], p[..., 1::2]) + angles
    return torch.stack((at.sin(), at.cos()), dim=-1).flatten(-2)


def move_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int, by: float = 1.0) -> Case:
        at = 3 * draw(generator, *sizes[:-1], sizes[-1] // 2)
        p = torch.stack((at.sin(), at.cos()), dim=-1).flatten(-2)
        drawn = (p, by * draw(generator, sizes[-1] // 2))
        return Case(drawn, named_sizes("A B L D", sizes), note)

    return [
        case("1 position, 3 hands", 1, 6),
        case("3 positions, 5 hands", 3, 10),
        case("5 positions, 6 hands", 5, 12),
        case("a batch of 2", 2, 5, 8),
        case("two axes in front of the positions", 2, 3, 5, 14),
        case("far: several turns", 3, 8, by=20.0),
    ]


def turned(p: Tensor, angles: Tensor, plus: int = 1, minus: int = -1) -> Tensor:
    s, c = p[..., ::2], p[..., 1::2]
    pair = (s * angles.cos() + plus * c * angles.sin(), c * angles.cos() + minus * s * angles.sin())
    return torch.stack(pair, dim=-1).flatten(-2)


def old_sine_lost(p: Tensor, angles: Tensor) -> Tensor:
    s, c = p[..., ::2], p[..., 1::2]
    s = s * angles.cos() + c * angles.sin()
    c = c * angles.cos() - s * angles.sin()
    return torch.stack((s, c), dim=-1).flatten(-2)


def halves_turned(p: Tensor, angles: Tensor) -> Tensor:
    s, c = p.chunk(2, dim=-1)
    pair = (s * angles.cos() + c * angles.sin(), c * angles.cos() - s * angles.sin())
    return torch.cat(pair, dim=-1)


EXERCISE = Exercise(
    title="Turn the hands",
    level=3,
    minutes=15,
    section="7.4",
    prompt="""
`move(p, angles)` moves encodings without being given their positions. `p` has shape (..., L, D):
column 2k is the sine of hand k and column 2k + 1 its cosine. `angles` has shape (D/2,): hand k has
to turn clockwise by `angles[k]`, which is its frequency times the number of positions to move.
Return the moved encodings, of shape (..., L, D). (The (D, D) matrix of section 7.4 also works, but
takes more multiplications.)
""",
    reference=move,
    cases=move_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda p, angles: turned(p, -angles),
            "Your hands turn in the wrong direction. The pair is (sine, cosine), not (cosine, "
            "sine).",
        ),
        Mistake(
            lambda p, angles: turned(p, angles, 1, 1),
            "Both of your formulas have a plus sign. The one for the cosine needs a minus sign.",
        ),
        Mistake(
            lambda p, angles: turned(p, angles, -1, -1),
            "Both of your formulas have a minus sign. The one for the sine needs a plus sign.",
        ),
        Mistake(
            old_sine_lost,
            "Your cosines are made from the *new* sines. Both formulas need the old pair.",
        ),
        Mistake(
            halves_turned,
            "You paired column k with column k + D/2. A sine and its cosine are neighbors here.",
        ),
        Mistake(
            lambda p, angles: move(p, angles).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2),
            "The numbers are right, but all sines come before all cosines. They should alternate.",
        ),
        Mistake(
            lambda p, angles: p + angles.repeat_interleave(2),
            "You added the angle to the sine and the cosine. Add it *inside* them.",
        ),
        Mistake(
            lambda p, angles: move(p, math.pi / 2 - angles),
            "You swapped the sine and the cosine of the angle. With an angle of 0, nothing should "
            "change.",
        ),
    ),
    properties=(
        Property(
            "A rotation keeps the length of every hand. Yours does not.",
            lambda answer, case: bool(
                (answer.unflatten(-1, (-1, 2)).norm(dim=-1) - 1).abs().max() < 1e-6
            ),
        ),
    ),
    hints=(
        "The sines are `p[..., ::2]` and the cosines `p[..., 1::2]`, each of shape (..., D/2).",
        "Section 7.4 has the two addition formulas. ωt is already inside `p`; `angles` is ωφ.",
        "New sine: old sine · cos + old cosine · sin. New cosine: old cosine · cos − old sine · "
        "sin. Then `stack(..., dim=-1).flatten(-2)`.",
    ),
    others=(move_through_the_angle,),
    gradients=False,  # hands have length 1; answers may differ for other lengths
    comes_back="Rotary positions (chapter 11) turn queries and keys like this, but in the opposite "
    "direction.",
    insight="This takes two multiplications and an addition for each number, while the matrix "
    "takes D multiplications.",
)
