"""Exercises of chapter 9: a machine that translates."""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    some_sizes,
)

PAD, BEGIN, END = 0, 1, 2

# --- 09.shift: what comes next ---------------------------------------------------------------


def my_labels(target: Tensor) -> Tensor:
    later = torch.cat((target[:, 1:], torch.zeros_like(target[:, :1])), dim=1)  # (B, L)
    last = (target != 0) & (later == 0)  # nothing but PAD comes after it
    return later.masked_fill(last, 2)


def labels_by_lengths(target: Tensor) -> Tensor:
    labels = target.roll(-1, dims=1)
    labels[:, -1] = 0
    rows = torch.arange(len(target), device=target.device)
    labels[rows, (target != 0).sum(dim=1) - 1] = 2
    return labels


def targets(generator: Generator, length: int, *words: int) -> Tensor:
    """Rows of BEGIN, that many words, and PAD up to the length."""
    rows = torch.randint(3, 40, (len(words), length), generator=generator)
    rows[:, 0] = BEGIN
    return rows.masked_fill(torch.arange(length) > torch.tensor(words)[:, None], PAD)


def shift_cases(generator: Generator) -> list[Case]:
    def case(note: str, length: int, *words: int) -> Case:
        sizes = {"B": len(words), "L": length}
        return Case((targets(generator, length, *words),), sizes, note)

    some = torch.randint(1, 8, (5,), generator=generator).tolist()
    return [
        case("1 sentence of 3 words, no padding", 4, 3),
        case("2 sentences, of 4 words and of 2", 5, 4, 2),
        case("3 sentences, the longest comes last", 7, 2, 5, 6),
        case("4 sentences, one of them empty", 6, 3, 0, 5, 1),
        case("room for one word more than the longest has", 8, 5, 6),
        case(f"5 sentences of {some} words", 9, *some),
    ]


def shifted(change: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A mistake that is made of the given rows and of those moved up by one place."""

    def wrong(target: Tensor) -> Tensor:
        return change(target, torch.cat((target[:, 1:], torch.zeros_like(target[:, :1])), dim=1))

    return wrong


def end_behind_the_words(target: Tensor) -> Tensor:
    """END in the place of the first PAD, where there is one."""
    first = (target == PAD) & (target == PAD).long().cumsum(1).eq(1)
    return target.masked_fill(first, END)


def end_too_early(target: Tensor) -> Tensor:
    labels = my_labels(target)
    ends = (labels == END)[:, 1:]
    early = torch.cat((ends, torch.zeros_like(labels[:, :1]).bool()), dim=1)
    return labels.masked_fill(labels == END, PAD).masked_fill(early, END)


SHIFT = Exercise(
    id="09.shift",
    title="What comes next",
    level=1,
    minutes=8,
    section="9.4",
    prompt="""
The decoder is given `target` (B, L), the ids of B English sentences: BEGIN, the words, and PAD up
to the longest. Write `my_labels(target)`: what it has to answer in each place, which is the word
that comes next: the words, END behind the last one, and PAD in the places that do not count. The
answer has the same shape (B, L). PAD is 0, BEGIN is 1, END is 2, and every word has a larger id.
""",
    stub="""
def my_labels(target):
    raise NotImplementedError
""",
    reference=my_labels,
    cases=shift_cases,
    axes="B L",
    mistakes=(
        Mistake(
            shifted(lambda target, later: target),
            "Nothing has moved. The model would be asked for the word that it has just been given, "
            "and learn to copy.",
        ),
        Mistake(
            shifted(lambda target, later: later),
            "The words have moved to their places. END is missing: a model that is never asked for "
            "it never learns to stop.",
        ),
        Mistake(
            lambda target: torch.cat((target[:, 1:], torch.full_like(target[:, :1], END)), dim=1),
            "END stands at the end of each *row*. That is right where a sentence fills its row; in "
            "the others it belongs behind the last word, before the padding.",
        ),
        Mistake(
            shifted(lambda target, later: later.masked_fill(later == PAD, END)),
            "All of the padding has become END. One END a sentence, behind its last word; the "
            "other places stay PAD, and do not count.",
        ),
        Mistake(
            lambda target: target.roll(-1, dims=1),
            "`roll` brings what falls out at the front back in at the end: your rows end in BEGIN. "
            "And where is END?",
        ),
        Mistake(
            lambda target: torch.cat((torch.zeros_like(target[:, :1]), target[:, :-1]), dim=1),
            "The rows have moved to the right: each place is asked for the word *before*. What "
            "comes next stands one place to the left of where it was.",
        ),
        Mistake(
            lambda target: target.roll(1, dims=1),
            "The rows have moved to the right, and what fell out came back in front. The next word "
            "has to move to the left.",
        ),
        Mistake(
            end_behind_the_words,
            "END is there, but nothing has moved: BEGIN still comes first, and each place is asked "
            "for the word that it was given.",
        ),
        Mistake(
            lambda target: target[:, 1:],
            "You cut BEGIN off, and each row lost a place. The answer has as many places as the "
            "question: in the place of the last word it is END.",
        ),
        Mistake(
            lambda target: shifted(lambda t, later: later)(end_behind_the_words(target)),
            "The sentence that fills its row has no END: there was no PAD in whose place you could "
            "put it. Move first, then put END.",
        ),
        Mistake(
            lambda target: target.roll(-1, dims=0),
            "You moved the sentences, along the axis of the batch. Move the words: axis 1.",
        ),
        Mistake(
            shifted(lambda target, later: target.masked_fill(target == BEGIN, END)),
            "BEGIN has become END, and nothing has moved. END belongs behind the last word.",
        ),
        Mistake(
            shifted(
                lambda target, later: target.masked_fill((target != PAD) & (later == PAD), END)
            ),
            "Nothing has moved, and END stands in the place of the last word, which is lost.",
        ),
        Mistake(
            end_too_early,
            "Off by one: your END has replaced the last word. It comes behind it.",
        ),
    ),
    properties=(
        Property(
            "No place is asked for BEGIN: it is given, and never comes next.",
            lambda answer, case: not bool((answer == BEGIN).any()),
        ),
        Property(
            "Each sentence has to have one END, and yours have not.",
            lambda answer, case: bool(((answer == END).sum(1) == 1).all()),
        ),
    ),
    hints=(
        "Write the two rows of a short sentence under each other: `BEGIN i swim PAD` and what each "
        "of these places has to answer.",
        "Moved up by one place, the words are right. END comes in the place where a word was given "
        "and nothing follows.",
        "`torch.cat((target[:, 1:], ...), dim=1)`, and `masked_fill` where `target` is not 0 and "
        "what comes later is.",
    ),
    insight="One sentence of n words gives n + 1 questions, all answered in one run: that is "
    "teacher forcing. The last question, where to stop, is the only one whose answer is no word.",
    comes_back="09.loss leaves out the places that you have marked with PAD.",
    others=(labels_by_lengths,),
)


# --- 09.rows: which row of the map is it? ----------------------------------------------------


def column(row: str) -> int:
    return {"BEGIN": 0, "i": 4, "a": 8, "book": 2, "the": 3, "library": 1}[row]


ROWS = Exercise(
    id="09.rows",
    title="Which row writes which word?",
    level=1,
    minutes=6,
    section="9.11",
    prompt="""
A machine has read 我 昨天 在 图书馆 看 了 一 本 书, and has written *i read a book in the library
yesterday*. Suppose that one of its heads always looks at the Chinese word that is about to be
translated. Its map has a row for each word that the decoder was given, from BEGIN on, and these
columns:

| 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
|:--|:--|:--|:--|:--|:--|:--|:--|:--|
| 我 | 昨天 | 在 | 图书馆 | 看 | 了 | 一 | 本 | 书 |
| wǒ | zuótiān | zài | túshūguǎn | kàn | le | yī | běn | shū |
| i | yesterday | in | library | read | (done) | a | (measure) | book |

`column(row)` returns the column in which the row of this name has its greatest weight.
""",
    stub="""
def column(row):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"BEGIN": None, "i": None, "a": None, "book": None, "the": None, "library": None}
    return found[row]
""",
    reference=column,
    cases=lambda generator: [
        Case((row,), note=f'row "{row}"') for row in ("BEGIN", "i", "a", "book", "the", "library")
    ],
    mistakes=choices(
        column,
        {
            ("BEGIN", 4): "read is written one row later. The first word that is written is i.",
            ("BEGIN", 1): "Chinese goes on with 昨天; but what is the first English word?",
            ("BEGIN", 8): "BEGIN stands for no Chinese word, but it has a row: in it the first "
            "English word is written.",
            ("i", 0): "this row was *given* i. It writes what comes next.",
            ("i", 1): "Chinese goes on with 昨天. English goes on with another word.",
            ("i", 5): "了 says that it is done, and the form of read needs it, too. The word that "
            "is about to be translated is 看.",
            ("i", 6): "a is written one row later. What comes behind i?",
            ("a", 6): "this row was *given* a. What does it write?",
            ("a", 3): "the fourth row need not look at the fourth word: the languages differ in "
            "order.",
            ("a", 7): "本 is the measure word of 书, and English has no word for it. What is "
            "written next?",
            ("a", 2): "in is written one row later.",
            ("book", 8): "this row was *given* book, and writes the next word.",
            ("book", 4): "the fifth row need not look at the fifth word. What is written behind "
            "book?",
            ("book", 3): "the library comes two words later. One English word is written first.",
            ("the", 2): "the head has been in 在 one row and two words before. What is written "
            "behind the?",
            ("the", 6): "the seventh row need not look at the seventh word. What is written "
            "behind the?",
            ("the", 1): "yesterday is written one row later.",
            ("library", 3): "this row was *given* library, and writes the next word.",
            ("library", 7): "the eighth row need not look at the eighth word. What is written "
            "last?",
            ("library", 8): "the sentence ends in 书 in Chinese. In English it ends in another "
            "word.",
            ("library", 2): "在 has been written, before the library. What is left?",
        },
    ),
    properties=(
        Property(
            "that word is written in another row. Read the English sentence up to the name of this "
            "row: which word comes next?",
            lambda answer, case: answer == column(case.arguments[0]),
        ),
    ),
    hints=(
        "Lay target and labels under each other: which label has the place of this name?",
        "The row of a word is the row in which the *next* word is written: BEGIN writes i.",
        "From row to row: i, read, a, book, in, the, library, yesterday, END. Find each in the "
        "last line of the table.",
    ),
    insight="Names at the rows say what was given, and the weights serve what is written next. Who "
    "reads a map one row off finds a machine that looks back at what it has just translated. And "
    "real heads need not look where this one does: see section 5.6.",
    comes_back="Chapter 12 meets heads that look one place beside, on purpose.",
    code=False,
)

# --- 09.loss: a loss by hand -----------------------------------------------------------------


def my_loss(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    logs = logits.log_softmax(dim=-1)  # (B, L, V)
    right = logs.gather(-1, labels[..., None])[..., 0]  # (B, L)
    score = (1 - smoothing) * right + smoothing * logs.mean(dim=-1)
    return -score[labels != 0].mean()


def loss_by_distribution(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    wanted = torch.full_like(logits, smoothing / logits.size(-1))
    wanted = wanted.scatter_add(-1, labels[..., None], torch.full_like(logits, 1 - smoothing))
    each = -(wanted * logits.log_softmax(-1)).sum(-1)  # (B, L)
    real = (labels != 0).to(each)
    return (each * real).sum() / real.sum()


def loss_cases(generator: Generator) -> list[Case]:
    def case(note: str, v: int, length: int, *words: int, s: float = 0.1, size: float = 2) -> Case:
        ids = torch.randint(2, v, (len(words), length), generator=generator)
        labels = ids.masked_fill(torch.arange(length) >= torch.tensor(words)[:, None], PAD)
        logits = size * draw(generator, len(words), length, v)
        sizes = {"B": len(words), "L": length, "V": v}
        return Case((logits, labels, s), sizes, note)

    v = some_sizes(generator, 1)[0] + 8
    return [
        case("1 sentence of 2 words, of 5 that there are, no padding", 5, 2, 2, s=0.2),
        case("2 sentences, of 3 words and of 1", 7, 3, 3, 1),
        case("3 sentences, smoothing 0", 6, 4, 1, 4, 2, s=0.0),
        case(f"{v} words, smoothing 0.3", v, 5, 5, 2, s=0.3),
        case("4 sentences, one of them empty", 9, 6, 6, 0, 3, 2),
        case("scores of hundreds", 8, 5, 2, 5, 1, size=300.0),
    ]


Line = Callable[[Tensor, Tensor, float], Tensor]


def losing(
    score: Callable[[Tensor, Tensor, Tensor, float], Tensor] | None = None,
    reduce: Callable[[Tensor, Tensor], Tensor] = lambda loss, real: loss[real].mean(),
    to_logs: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1),
) -> Callable[[Tensor, Tensor, float], Tensor]:
    """The loss with one line of another kind."""

    def wrong(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        logs = to_logs(logits)
        right = logs.gather(-1, labels[..., None])[..., 0]
        total = (1 - smoothing) * right + smoothing * logs.mean(-1)
        if score is not None:
            total = score(logs, right, labels, smoothing)
        return reduce(-total, labels != PAD)

    return wrong


def of_means(loss: Tensor, real: Tensor) -> Tensor:
    """The mean of the sentences' means."""
    return torch.stack([row[seen].mean() for row, seen in zip(loss, real, strict=True)]).mean()


LOSS = Exercise(
    id="09.loss",
    title="A loss by hand",
    level=2,
    minutes=12,
    section="9.5 (second reading)",
    prompt="""
Write `my_loss(logits, labels, smoothing)`: the loss that chapter 9 trains with, without
`cross_entropy`. `logits` (B, L, V) are the scores of V words, before the softmax; `labels` (B, L)
the ids of the right ones, 0 where there is only padding. In each place the model is wanted to give
the right word the share 1 − `smoothing`, and `smoothing` is spread evenly over all V ids, the right
one and PAD among them. The loss of a place is minus the sum of share times ln of the probability;
the answer is their mean over all places of the batch that are no padding.
""",
    stub="""
def my_loss(logits, labels, smoothing):
    raise NotImplementedError
""",
    reference=my_loss,
    cases=loss_cases,
    without=("cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss"),
    properties=(
        Property(
            "With ordinary scores you are right. Scores of hundreds make a probability that is "
            "rounded to 0, and its ln is lost, or is that of the small number you added. "
            "`log_softmax` never goes through the probability.",
            lambda answer, case: bool(
                case.arguments[0].abs().max() < 100
                or torch.isclose(answer, my_loss(*case.arguments))
            ),
        ),
    ),
    mistakes=(
        Mistake(
            losing(reduce=lambda loss, real: loss.mean()),
            "The padding counts. In those places nothing is asked, and PAD, the id 0, is no right "
            "answer: leave them out.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: (loss * real).sum() / real.numel()),
            "The padding adds nothing to your sum, but you divide by all places, the padding "
            "among them. Divide by the number of words.",
        ),
        Mistake(
            losing(reduce=of_means),
            "This is the mean of the sentences' means: a word of a short sentence counts more than "
            "one of a long sentence (and an empty one makes it nan). All words count alike.",
        ),
        Mistake(
            losing(
                reduce=lambda loss, real: (loss * real).sum(1).div(real.sum(1).clamp_min(1)).mean()
            ),
            "You take the mean of each sentence, and then of the sentences: so a word of a short "
            "one counts more than a word of a long one. Take one mean over all words of the batch.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: loss.sum() / real.sum()),
            "You divide by the number of words, but the padding is still in your sum.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: loss[real].sum()),
            "This is the sum over the words. The mean is asked for, so that a large batch does not "
            "take larger steps.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: loss[real].sum() / len(loss)),
            "You divide by the number of sentences. Divide by the number of words.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: loss[~real].mean()),
            "Only the padding counts here: the mask is the wrong way round.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: -loss[real].mean()),
            "The sign: the logarithm of a probability is negative, and a loss is minus that. As it "
            "is, training would make the right words rarer.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: right),
            "This is the loss without smoothing: the right word gets all.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: (1 - s) * right),
            "The right word gets 1 − smoothing, and the rest is spread nowhere: that is the loss "
            "without smoothing, a little smaller.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: right + s * logs.mean(-1)),
            "The shares add up to 1 + smoothing. What is spread has to be taken from the right "
            "word: 1 − smoothing stays with it.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: s * right + (1 - s) * logs.mean(-1)),
            "The two shares have changed places: the right word gets 1 − smoothing.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: (1 - s) * right + s * logs.sum(-1)),
            "Every word gets `smoothing` here. It is spread over all of them: each gets the V-th "
            "part.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: (
                    (1 - s) * right + s * (logs.sum(-1) - right) / (logs.size(-1) - 1)
                )
            ),
            "You spread over the V − 1 other words. That is smoothing, too; asked for is that of "
            "PyTorch, in which the right word has its part of what is spread.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: (
                    (1 - s) * right + s * logs.sum(-1) / (logs.size(-1) - 1)
                )
            ),
            "Each of the V words gets the part of V − 1: your shares add up to more than 1. Spread "
            "over V.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: (
                    (1 - s) * right + s * (logs[..., 1:].sum(-1) - right) / (logs.size(-1) - 2)
                )
            ),
            "You spread over the V − 2 ids that are neither right nor PAD. Here, as in PyTorch, "
            "each of the V gets its part, those two as well.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: (
                    (1 - s) * right + s * (logs.sum(-1) - right) / logs.size(-1)
                )
            ),
            "The right word has to have its part of what is spread, too: your shares do not add up "
            "to 1.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: (1 - s) * right + s * logs[..., 1:].mean(-1)),
            "You spread over the words without PAD. Here, as in PyTorch, PAD counts as one of the "
            "V.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: ((1 - s) * right + s * logs.mean(-1)) / logs.size(-1)
            ),
            "In each place you took the mean of share times ln of the probability over the V "
            "words. It is their sum.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: (
                    (1 - s) * right + s * logs[..., 1:].sum(-1) / logs.size(-1)
                )
            ),
            "PAD has no share here, so that the shares do not add up to 1. The places of PAD do "
            "not count, but the id is one of the V.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: ((1 - s) * right.exp() + s / logs.size(-1)).log()
            ),
            "You mixed the probability with the even one, and took the logarithm of that. The "
            "shares stand before the logarithms: sum share times ln p.",
        ),
        Mistake(
            losing(
                lambda logs, right, labels, s: (1 - s) * right + s * logs.mean(),
            ),
            "The even part is averaged over all places of the batch, the padding among them. Leave "
            "the padding out of both parts.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: (1 - s) * right - s * logs.mean()),
            "The even part has the wrong sign, and its mean runs over the padding, too.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: (1 - s) * right - s * logs.mean(-1)),
            "The even part has the wrong sign: it is added, as the right word's is.",
        ),
        Mistake(
            losing(lambda logs, right, labels, s: (1 - s) * right + s / logs.size(-1)),
            "What is spread has to be multiplied by the logarithms of the probabilities, and "
            "summed: a number alone teaches nothing.",
        ),
        Mistake(
            losing(to_logs=lambda logits: logits),
            "The softmax is missing: these are scores and not yet the logarithms of probabilities.",
        ),
        Mistake(
            losing(to_logs=lambda logits: logits.softmax(-1)),
            "The logarithm is missing: this is minus a probability. Nearly sure and wholly sure, "
            "or nearly impossible and impossible, would be almost the same.",
        ),
        Mistake(
            losing(to_logs=lambda logits: logits.softmax(-1).log()),
            "In scores of hundreds some probabilities are rounded to 0, and ln 0 is −∞. "
            "`log_softmax` takes both in one step.",
        ),
        Mistake(
            losing(to_logs=lambda logits: logits.softmax(-1).clamp_min(1e-9).log()),
            "A small number keeps ln away from 0, and changes the loss where the model is surely "
            "wrong. `log_softmax` needs no such help.",
        ),
        Mistake(
            losing(to_logs=lambda logits: logits.log_softmax(1)),
            "The softmax ran over the places of the sentence. It runs over the V words, the last "
            "axis.",
        ),
        Mistake(
            losing(to_logs=lambda logits: logits.log_softmax(0)),
            "The softmax ran over the sentences of the batch. It runs over the V words, the last "
            "axis.",
        ),
        Mistake(
            losing(to_logs=lambda logits: logits.log_softmax(-1) / torch.log(torch.tensor(2.0))),
            "These are logarithms to the base 2. Asked for are natural ones, `log_softmax`.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: loss),
            "This is the loss of each place. One number is asked for: the mean over the words.",
        ),
        Mistake(
            losing(reduce=lambda loss, real: loss[real]),
            "These are the losses of the words, one by one. One number is asked for: their mean.",
        ),
    ),
    hints=(
        "`log_softmax` gives (B, L, V) logarithms. Two things are needed of each place: that of "
        "the right word, and the mean of all.",
        "`logs.gather(-1, labels[..., None])` picks the right word's, with an axis of size 1 at "
        "the end.",
        "The mean over the words: `labels != 0` as an index leaves the others out.",
    ),
    insight="The mean over all V is the same for every right word: smoothing adds one term, which "
    "grows when some word gets too little. So a score cannot run off to infinity, and the model "
    "is never wholly sure.",
    comes_back="09.beam adds up these logarithms, word by word, to compare whole sentences.",
    others=(loss_by_distribution,),
)

# --- 09.greedy: three faults in a loop -------------------------------------------------------

Model = Callable[[Tensor], Tensor]


def my_greedy(model: Model, target: Tensor, longest: int) -> Tensor:
    done = torch.zeros_like(target, dtype=torch.bool)  # (B, 1)
    for _ in range(longest):
        scores = model(target)[:, -1:]  # (B, 1, V)
        word = scores.argmax(dim=-1).masked_fill(done, 0)  # (B, 1)
        target = torch.cat((target, word), dim=1)
        done = done | (word == 2)
        if done.all():
            break
    return target[:, 1:]


def greedy_then_clean(model: Model, target: Tensor, longest: int) -> Tensor:
    for _ in range(longest):
        target = torch.cat((target, model(target)[:, -1].argmax(-1, keepdim=True)), dim=1)
    words = target[:, 1:]
    ended = (words == 2).long().cumsum(dim=1) - (words == 2).long()  # (B, L), ends before each
    words = words.masked_fill(ended > 0, 0)
    return words[:, : int((words != 0).sum(dim=1).max())]


def written_by(plans: Sequence[Sequence[int]], scores: Tensor) -> Model:
    """A model that writes these sentences, if each word is asked for in its place.

    Behind END, and behind a word that is not its own, it goes on with words that lead nowhere.
    """

    def model(target: Tensor) -> Tensor:
        if target.dim() != 2 or len(target) != len(plans):
            raise ValueError(
                f"target has shape {tuple(target.shape)}: (B, L) is wanted, with B={len(plans)}"
            )
        if target.size(1) > 40:
            raise ValueError(
                f"{target.size(1)} words: some sentences never end, stop them at `longest`"
            )
        answer = scores[torch.arange(target.size(1)) % len(scores)].repeat(len(plans), 1, 1)
        for b, plan in enumerate(plans):
            given = target[b].tolist()
            for i in range(len(given)):
                on_the_way = given[0] == BEGIN and given[1 : i + 1] == list(plan[:i])
                word = plan[i] if on_the_way and i < len(plan) else 3 + (i + b) % 2
                answer[b, i, word] = 9.0
        return answer.to(target.device)

    return model


def greedy_cases(generator: Generator) -> list[Case]:
    def case(note: str, longest: int, *lengths: int) -> Case:
        plans = [
            [*torch.randint(5, 12, (n,), generator=generator).tolist(), *([END] if end else [])]
            for n, end in ((n, n < longest) for n in lengths)
        ]
        scores = draw(generator, 5, 12)
        begin = torch.full((len(plans), 1), BEGIN)
        sizes = {"B": len(plans)}
        return Case((written_by(plans, scores), begin, longest), sizes, note)

    return [
        case("1 sentence of 2 words", 6, 2),
        case("2 sentences of 3 words", 7, 3, 3),
        case("3 sentences, of 4 words, of 1 and of 2", 9, 4, 1, 2),
        case("2 sentences, the longest comes last", 8, 1, 5),
        case("2 sentences, one of them never ends", 5, 2, 5),
        case("4 sentences, one of them empty", 6, 3, 0, 2, 4),
        case("exactly as long as permitted", 4, 3, 1),
    ]


def decoding(
    row: Callable[[Tensor], Tensor] = lambda scores: scores[:, -1:],
    fill: int | None = PAD,
    over: Callable[[Tensor], Tensor] = torch.all,
    keeps: bool = True,
    begin: bool = False,
    stops: bool = True,
    axis: int = -1,
    more: int = 0,
) -> Callable[[Model, Tensor, int], Tensor]:
    """The loop with some of its lines changed."""

    def wrong(model: Model, target: Tensor, longest: int) -> Tensor:
        done = torch.zeros_like(target, dtype=torch.bool)
        for _ in range(longest + more):
            word = row(model(target)).argmax(axis)
            word = word[:, :1] if axis != -1 else word
            if fill is not None:
                word = word.masked_fill(done, fill)
            target = torch.cat((target, word), dim=1)
            done = (done & keeps) | (word == END)
            if stops and over(done):
                break
        return target if begin else target[:, 1:]

    return wrong


def first_row(scores: Tensor) -> Tensor:
    return scores[:, :1]


GREEDY = Exercise(
    id="09.greedy",
    title="Three faults in a loop",
    level=2,
    minutes=12,
    section="9.7",
    prompt="""
`my_greedy(model, target, longest)` is to write a batch of sentences, always the word with the
highest score. `model(target)` takes the ids so far, (B, L), and returns scores (B, L, V): row i of
a sentence for the word behind its i-th. `target` (B, 1) is BEGIN for each sentence. The answer
(B, n) has the words without BEGIN, each sentence's END, and PAD behind it; n is at most `longest`,
and no more than the longest sentence needs. PAD is 0, BEGIN is 1, END is 2. The loop below runs,
and has three faults.
""",
    stub="""
def my_greedy(model, target, longest):
    raise NotImplementedError  # repair the lines below, then delete this one
    done = torch.zeros_like(target, dtype=torch.bool)
    for _ in range(longest):
        scores = model(target)[:, :1]
        word = scores.argmax(dim=-1)
        target = torch.cat((target, word), dim=1)
        done = done | (word == 2)
        if done.any():
            break
    return target[:, 1:]
""",
    reference=my_greedy,
    cases=greedy_cases,
    axes="B n",
    mistakes=(
        Mistake(
            decoding(first_row, None, torch.any),
            "All three faults are still there. Which row speaks of the next word? When is the "
            "batch done? And what does a sentence write that has ended?",
        ),
        Mistake(
            decoding(first_row, PAD, torch.all),
            "Two are repaired. But row 0 speaks of the word behind BEGIN, however many have been "
            "written: so the first word comes again and again.",
        ),
        Mistake(
            decoding(fill=None),
            "Two are repaired. But a sentence that has ended goes on while the others are "
            "written: behind its END stand more words, where PAD is asked for.",
        ),
        Mistake(
            decoding(over=torch.any),
            "The loop ends as soon as *one* sentence has ended, and the longer ones are cut off. "
            "When it waits for all, see what the ended ones write.",
        ),
        Mistake(
            decoding(first_row, None, torch.all),
            "The loop waits for all now. Two are left: row 0 speaks of the word behind BEGIN "
            "alone, and a sentence that has ended goes on.",
        ),
        Mistake(
            decoding(stops=False),
            "The words are right. But the loop goes on when all sentences have ended, and adds "
            "columns of nothing but PAD.",
        ),
        Mistake(
            decoding(stops=False, fill=None),
            "The rows are right. But nothing ends: neither a sentence at its END, nor the loop "
            "when all have ended.",
        ),
        Mistake(
            decoding(fill=END),
            "Behind its END each sentence has more of them. One is enough; what follows is PAD.",
        ),
        Mistake(
            lambda model, target, longest: decoding(fill=None)(model, target, longest).masked_fill(
                (decoding(fill=None)(model, target, longest) == END).any(1, keepdim=True), PAD
            ),
            "`done` says of a whole sentence that it has ended: with it at the end you wipe out "
            "all its words. Fill in PAD while you write, in the step's own column.",
        ),
        Mistake(
            decoding(fill=BEGIN),
            "Behind its END each sentence has BEGINs. What follows is PAD, the id 0.",
        ),
        Mistake(
            decoding(lambda scores: -scores[:, -1:]),
            "These are the words with the *lowest* scores.",
        ),
        Mistake(
            decoding(keeps=False),
            "A sentence is done in the step of its END, and in the next one you have forgotten it: "
            "`done` has to keep what it knew.",
        ),
        Mistake(
            decoding(keeps=False, fill=None),
            "`done` knows only the step it is in, and what has ended goes on: the loop would stop "
            "if all sentences ended in the same step.",
        ),
        Mistake(
            decoding(begin=True),
            "BEGIN still stands in front. It was given, not written: leave its column out.",
        ),
        Mistake(
            decoding(begin=True, fill=None),
            "BEGIN still stands in front, and a sentence that has ended goes on.",
        ),
        Mistake(
            decoding(axis=1),
            "`argmax` ran over the places, so what you add are numbers of places and no words. The "
            "words are the last axis.",
        ),
        Mistake(
            decoding(more=-1),
            "One step too few: `longest` words may be written.",
        ),
        Mistake(
            decoding(more=1),
            "One step too many: no sentence may have more than `longest` words, END among them.",
        ),
        Mistake(
            lambda model, target, longest: decoding()(model, target, longest)[:, :-1],
            "The last column is missing, the longest sentence's END (or last word) with it.",
        ),
        Mistake(
            lambda model, target, longest: decoding()(model, target, longest).masked_fill(
                decoding()(model, target, longest) == END, PAD
            ),
            "The ENDs are gone. They are part of the answer: without them one cannot tell a "
            "sentence that has ended from one that was cut off.",
        ),
        Mistake(
            lambda model, target, longest: decoding()(
                lambda so_far: model(so_far[:, -1:]), target, longest
            ),
            "You gave the model the last word alone. It remembers nothing from step to step: it "
            "needs all that is written so far, `model(target)`.",
        ),
        Mistake(
            decoding(lambda scores: scores[:, -2:-1] if scores.size(1) > 1 else scores[:, -1:]),
            "The last row but one speaks of the word that has just been written: so each word "
            "comes twice. The last row speaks of the next.",
        ),
    ),
    hints=(
        "Print `target` in each step, for two sentences of different lengths, and look at what is "
        "added.",
        "After three words the model returns four rows. Which one has seen all of them?",
        "`[:, -1:]`, `.masked_fill(done, 0)`, `done.all()`.",
    ),
    insight="None of the three faults raises anything, and with a batch of one sentence two of "
    "them do nothing at all. Try a loop with sentences of different lengths.",
    comes_back="Chapter 11 runs this loop without computing the old rows again.",
    others=(greedy_then_clean,),
)

# --- 09.beam: one step of a beam search ------------------------------------------------------


Beam = tuple[Tensor, Tensor, Tensor]


def my_beam_step(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    stays = torch.full_like(logs, -torch.inf)
    stays[:, 0] = 0.0  # PAD costs nothing
    logs = torch.where(done[:, None], stays, logs)
    every = totals[:, None] + logs  # (k, V)
    best, place = every.flatten().topk(len(totals))
    return best, place // logs.size(1), place % logs.size(1)


def beam_by_lists(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    ways = []
    for beam, total in enumerate(totals):
        if done[beam]:
            ways.append((float(total), beam, 0))
        else:
            ways += [(float(total + p), beam, word) for word, p in enumerate(logs[beam])]
    ways = sorted(ways, reverse=True)[: len(totals)]
    best, beams, words = (torch.tensor(x, device=totals.device) for x in zip(*ways, strict=True))
    return best.to(totals), beams, words


def beam_cases(generator: Generator) -> list[Case]:
    def case(note: str, v: int, done: Sequence[int], spread: float = 1.0, best: int = -1) -> Case:
        k = len(done)
        totals = -3 - spread * draw(generator, k).abs()
        if best >= 0:
            totals[best] = -1.0
        logits = 2 * draw(generator, k, v)
        logits[:, 0] -= 12  # PAD is hardly ever predicted
        logs = logits.log_softmax(-1)
        return Case((totals, logs, torch.tensor(done) > 0), {"k": k, "V": v}, note)

    return [
        case("2 beams, 5 words, none has ended", 5, (0, 0)),
        case("3 beams, 7 words, none has ended", 7, (0, 0, 0)),
        case("4 beams, one of them far ahead", 11, (0, 0, 0, 0), spread=9.0, best=2),
        case("3 beams, beam 1 has ended and leads", 8, (0, 1, 0), best=1),
        behind(case("3 beams, beam 2 has ended and is far behind", 9, (0, 0, 1)), 0, 0, 40),
        case("4 beams, two have ended", 6, (1, 0, 1, 0), spread=2.0),
        case("all 3 have ended", 10, (1, 1, 1)),
        behind(case("3 beams of long sentences, with sums of hundreds", 7, (0, 0, 0)), 900),
        case("1 beam", 12, (0,)),
    ]


def behind(case: Case, *by: float) -> Case:
    """The same, with lower sums: one number for all, or one each."""
    totals, logs, done = case.arguments
    return Case((totals - torch.tensor(by, dtype=totals.dtype), logs, done), case.sizes, case.note)


def stepping(
    allowed: Callable[[Tensor, Tensor], Tensor] | None = None,
    every: Callable[[Tensor, Tensor], Tensor] = lambda totals, logs: totals[:, None] + logs,
    answer: Callable[..., tuple[Tensor, ...]] | None = None,
) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]]:
    """The step with one of its lines changed."""

    def wrong(totals: Tensor, logs: Tensor, done: Tensor) -> tuple[Tensor, ...]:
        k, v = logs.shape
        stays = torch.full_like(logs, -torch.inf)
        stays[:, 0] = 0.0
        logs = torch.where(done[:, None], stays, logs) if allowed is None else allowed(logs, done)
        ways = every(totals, logs)
        best, place = ways.flatten().topk(k)
        if answer is not None:
            return answer(best, place, k, v, totals=totals, ways=ways)
        return best, place // v, place % v

    return wrong


def ended(value: float, word: int | None = None) -> Callable[[Tensor, Tensor], Tensor]:
    """What an ended beam may go on with: one word, or any, at this price."""

    def allowed(logs: Tensor, done: Tensor) -> Tensor:
        row = torch.full_like(logs, value if word is None else -torch.inf)
        if word is not None:
            row[:, word] = value
        return torch.where(done[:, None], row, logs)

    return allowed


def padding_at_its_price(logs: Tensor, done: Tensor) -> Tensor:
    place = torch.arange(logs.size(1), device=logs.device)
    return logs.masked_fill(done[:, None] & (place != PAD), -torch.inf)


def one_each(best: Tensor, place: Tensor, k: int, v: int, totals: Tensor, ways: Tensor) -> Beam:
    """The best word of each beam."""
    top, words = ways.max(-1)
    order = top.argsort(descending=True)
    return top[order], order, words[order]


def own_words(best: Tensor, place: Tensor, k: int, v: int, totals: Tensor, ways: Tensor) -> Beam:
    top, words = ways.max(-1)
    return top, torch.arange(k, device=top.device), words


def ended_for_nothing(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    return my_beam_step(totals.masked_fill(done, 0.0), logs, done)


def padded_afterwards(done: Tensor, best: Tensor, beams: Tensor, words: Tensor) -> Beam:
    return best, beams, words.masked_fill(done[beams], PAD)


def by_beam(best: Tensor, place: Tensor, k: int, v: int, totals: Tensor, ways: Tensor) -> Beam:
    order = (place // v).argsort(stable=True)
    return best[order], place[order] // v, place[order] % v


BEAM = Exercise(
    id="09.beam",
    title="One step of a beam search",
    level=3,
    minutes=15,
    section="9.13 (second reading)",
    prompt="""
A beam search keeps k sentences. `totals` (k,) are the sums of ln p of their words so far, `logs`
(k, V) ln p of each next word, and `done` (k,) is True for a sentence that has ended. Write
`my_beam_step(totals, logs, done)`: of all sentences that are one word longer, the k with the
highest sums. A sentence that has ended goes on with PAD alone, the id 0, which costs nothing.
Return three tensors (k,), the best first: the new sums, the sentence that each continues (0 to
k − 1), and the word added (0 to V − 1).
""",
    stub="""
def my_beam_step(totals, logs, done):
    raise NotImplementedError
""",
    reference=my_beam_step,
    cases=beam_cases,
    mistakes=(
        Mistake(
            stepping(answer=one_each),
            "You let each sentence go on with its own best word: that is k greedy searches side by "
            "side. All continuations of all sentences compete, and one sentence may have several "
            "among the best.",
        ),
        Mistake(
            stepping(allowed=lambda logs, done: logs, answer=one_each),
            "Two things. Each sentence goes on with its own best word, where all continuations of "
            "all have to compete; and those that have ended go on writing.",
        ),
        Mistake(
            stepping(
                answer=lambda best, place, k, v, totals, ways: (
                    *one_each(best, place, k, v, totals, ways)[:2],
                    ways.argmax(-1),
                )
            ),
            "Two things. Each sentence goes on with its own best word, where all continuations of "
            "all have to compete; and when you put the sentences in order, their words stayed.",
        ),
        Mistake(
            lambda totals, logs, done: padded_afterwards(
                done, *stepping(allowed=lambda logs, done: logs)(totals, logs, done)
            ),
            "You put PAD in after the choice: until then an ended sentence has competed with words "
            "that it cannot write, and paid for them. Before: 0 for PAD, −∞ for all else.",
        ),
        Mistake(
            stepping(allowed=lambda logs, done: logs),
            "`done` has no influence: a sentence that has ended goes on writing. PAD alone may "
            "follow it, at no cost.",
        ),
        Mistake(
            stepping(every=lambda totals, logs: logs),
            "The sums so far do not count here: the next word alone decides. A sentence is as good "
            "as all its words.",
        ),
        Mistake(
            stepping(
                answer=lambda best, place, k, v, totals, ways: (
                    (ways - totals[:, None]).flatten()[place],
                    place // v,
                    place % v,
                )
            ),
            "The choice is right. What you return first is ln p of the new words; the sums of the "
            "sentences that are longer now are asked for.",
        ),
        Mistake(
            stepping(
                answer=lambda best, place, k, v, totals, ways: (
                    totals[place // v],
                    place // v,
                    place % v,
                )
            ),
            "The choice is right. The sums you return are the old ones, without the new word.",
        ),
        Mistake(
            stepping(every=lambda totals, logs: (totals[:, None].exp() * logs.exp()).log()),
            "Right as long as sentences are short. The probability of a long one is rounded to 0, "
            "and then its ln is lost: that is why logarithms are added.",
        ),
        Mistake(
            ended_for_nothing,
            "PAD costs nothing, and so an ended sentence keeps its sum. You gave it the sum 0, as "
            "if it were certain.",
        ),
        Mistake(
            stepping(
                answer=lambda best, place, k, v, totals, ways: (
                    best,
                    ways.T.flatten().topk(k).indices // v,
                    ways.T.flatten().topk(k).indices % v,
                )
            ),
            "You flattened (V, k) and counted as in (k, V): the sentences have to be the rows.",
        ),
        Mistake(
            stepping(allowed=padding_at_its_price),
            "An ended sentence has only PAD left, as it should, but pays what the model asks for "
            "PAD. It has ended: it costs nothing any more.",
        ),
        Mistake(
            stepping(allowed=ended(0.0, END)),
            "An ended sentence goes on with END here. PAD follows END, the id 0.",
        ),
        Mistake(
            stepping(allowed=ended(0.0)),
            "An ended sentence goes on with every word at no cost, so its copies fill the beam. "
            "PAD alone costs nothing; any other word is impossible, −∞.",
        ),
        Mistake(
            stepping(
                allowed=lambda logs, done: torch.where(
                    done[:, None] & (torch.arange(logs.size(1), device=logs.device) == PAD),
                    0.0,
                    logs,
                )
            ),
            "PAD is free for an ended sentence, as it should be. But its other words are still "
            "there, and may win a place: make them impossible, −∞.",
        ),
        Mistake(
            stepping(
                allowed=lambda logs, done: padding_at_its_price(logs, done).index_fill(
                    1, torch.tensor([PAD], device=logs.device), 0.0
                )
            ),
            "PAD is free for every sentence here, and so for those that have not ended it is the "
            "best word there is. It is free behind END alone.",
        ),
        Mistake(
            lambda totals, logs, done: my_beam_step(totals, logs, ~done),
            "`done` is the wrong way round, True for a sentence that has ended: those still "
            "writing get nothing but PAD from you.",
        ),
        Mistake(
            lambda totals, logs, done: stepping(allowed=lambda logs, done: logs, answer=own_words)(
                totals, logs, done
            ),
            "Each sentence goes on with its own best word, in its old place, and those that have "
            "ended go on writing. All continuations of all sentences compete for the k places.",
        ),
        Mistake(
            stepping(answer=own_words),
            "Each sentence goes on with its own best word, in its old place. All continuations of "
            "all sentences compete for the k places, the best comes first.",
        ),
        Mistake(
            stepping(
                every=lambda totals, logs: -(totals[:, None] + logs),
                answer=lambda best, place, k, v, totals, ways: (-best, place // v, place % v),
            ),
            "These are the k *lowest* sums: `argsort` and `sort` begin with the lowest unless you "
            "say `descending=True`.",
        ),
        Mistake(
            stepping(answer=lambda best, place, k, v, totals, ways: (best, place)),
            "The places in the flattened (k, V) are right. Each has to be taken apart: `place // "
            "V` is the sentence, `place % V` the word.",
        ),
        Mistake(
            stepping(answer=lambda best, place, k, v, totals, ways: (best, place // v, place)),
            "The sentences are right. The word is what remains of the place: `place % V`.",
        ),
        Mistake(
            stepping(answer=lambda best, place, k, v, totals, ways: (best, place / v, place % v)),
            "`/` makes fractions. The sentence is a whole number, `place // V`.",
        ),
        Mistake(
            stepping(allowed=ended(-torch.inf)),
            "Nothing may follow an ended sentence here, PAD neither: so it is lost. It has to stay "
            "in the beam as long as its sum is among the best.",
        ),
        Mistake(
            stepping(allowed=lambda logs, done: padding_at_its_price(logs, ~done)),
            "`done` is the wrong way round: those that have not ended may only write PAD.",
        ),
        Mistake(
            stepping(answer=lambda best, place, k, v, totals, ways: (best, place % v, place // v)),
            "Sentence and word have changed places: in a flattened (k, V) the sentence is "
            "`place // V`, the word what remains.",
        ),
        Mistake(
            stepping(answer=lambda best, place, k, v, totals, ways: (best, place // k, place % k)),
            "You divided by k. A row of the (k, V) continuations has V places: `place // V` and "
            "`place % V`.",
        ),
        Mistake(
            stepping(answer=by_beam),
            "The k best, but in the order of the sentences. The best comes first.",
        ),
        Mistake(
            stepping(
                answer=lambda best, place, k, v, totals, ways: tuple(
                    x.flip(0) for x in (best, place // v, place % v)
                )
            ),
            "The k best, but the best comes last.",
        ),
        Mistake(
            stepping(every=lambda totals, logs: totals[:, None] * logs),
            "Probabilities are multiplied, their logarithms are added.",
        ),
        Mistake(
            stepping(every=lambda totals, logs: totals[:, None] - logs),
            "ln p of the new word has to be added to the sum: it is negative, so that every word "
            "makes a sentence less likely.",
        ),
        Mistake(
            stepping(every=lambda totals, logs: totals[:, None] + logs.exp()),
            "`logs` are logarithms already, as the sums are: add them as they are.",
        ),
        Mistake(
            stepping(every=lambda totals, logs: (totals[:, None] + logs).exp()),
            "The choice is right. The sums of logarithms are asked for, and you return "
            "probabilities.",
        ),
        Mistake(
            stepping(every=lambda totals, logs: (totals[:, None] + logs) / 2),
            "Half of the sum: no length is divided by here. The step returns sums; a penalty for "
            "length comes when the search has ended.",
        ),
        Mistake(
            lambda totals, logs, done: tuple(x[:1] for x in my_beam_step(totals, logs, done)),
            "This is only the best continuation. The k best are kept.",
        ),
        Mistake(
            lambda totals, logs, done: my_beam_step(totals, logs, done)[1:],
            "The sums are missing: three tensors are asked for.",
        ),
        Mistake(
            lambda totals, logs, done: torch.stack(
                [x.to(totals) for x in my_beam_step(totals, logs, done)]
            ),
            "Right numbers in one tensor. Three are asked for: sums, sentences and words, the last "
            "two as whole numbers.",
        ),
    ),
    hints=(
        "How many continuations are there in all? Make their sums first, as a (k, V) tensor.",
        "An ended sentence has a row of its own making: 0 for PAD and −∞ for all else. "
        "`torch.where(done[:, None], ..., logs)`.",
        "`.flatten().topk(k)` gives the best sums and their places; a place is the sentence times "
        "V plus the word.",
    ),
    insight="A finished sentence waits in the beam at its price, and falls out if others pass it: "
    "that is why END needs no rule of its own. And with k = 1 this is the greedy search.",
    comes_back="`beam_search` of the library takes this step until all sentences have ended.",
    others=(beam_by_lists,),
    gradients=False,
)

# --- 09.experiment: rules or memory? ---------------------------------------------------------

Translator = Callable[[str], str]

KNOWN = {
    "苹果 很 甜": "the apple is sweet",
    "苹果 不 贵": "the apple is not expensive",
    "茶 很 贵": "the tea is expensive",
    "茶 不 甜": "the tea is not sweet",
    "书 很 贵": "the book is expensive",
    "我 的 书 不 新": "my book is not new",
    "我 的 茶 很 甜": "my tea is sweet",
    "书 很 贵 ， 茶 很 甜": "the book is expensive and the tea is sweet",
}
GLOSSES = {
    "苹果": "apple", "茶": "tea", "书": "book", "甜": "sweet", "贵": "expensive", "新": "new",
    "很": "very", "不": "not", "我": "i", "的": "'s", "，": "and",
}  # fmt: skip


def kind_of(translate: Translator) -> str:
    new = translate("苹果 很 新")  # each word is known, this combination is not
    if new != "the apple is new":
        return "dictionary" if new == "apple very new" else "memory"
    longer = translate("书 很 新 ， 我 的 苹果 不 甜 ， 茶 很 贵")
    right = "the book is new and my apple is not sweet and the tea is expensive"
    return "rules" if longer == right else "short"


def by_rules(chinese: str) -> str:
    clauses = []
    for clause in chinese.split("，"):
        *owner, noun, how, quality = ["", "", "", *clause.split()]
        clauses.append(
            f"{'my' if '我' in owner else 'the'} {GLOSSES.get(noun, noun)} is"
            f"{' not' if how == '不' else ''} {GLOSSES.get(quality, quality)}"
        )
    return " and ".join(clauses)


def by_dictionary(chinese: str) -> str:
    return " ".join(GLOSSES.get(word, word) for word in chinese.split())


def nearest(chinese: str) -> str:
    """The translation of the known sentence that shares most words with it."""

    def distance(known: str) -> int:
        return len(set(known.split()) ^ set(chinese.split()))

    return KNOWN[min(KNOWN, key=distance)]


def same_beginning(chinese: str) -> str:
    """The translation of the first known sentence that begins with the same word."""
    first = chinese.split()[:1]
    return next((en for zh, en in KNOWN.items() if zh.split()[:1] == first), "")


def at_most_nine(chinese: str) -> str:
    return " ".join(by_rules(chinese).split()[:9])


def one_clause(chinese: str) -> str:
    """Rules, for two clauses: of more it loses those in the middle."""
    clauses = chinese.split("，")
    return by_rules("，".join(clauses if len(clauses) < 3 else [clauses[0], clauses[-1]]))


def known_or(other: Translator) -> Translator:
    return lambda chinese: KNOWN.get(" ".join(chinese.split())) or other(chinese)


def kind_by_all_short_ones(translate: Translator) -> str:
    for noun, english in ("苹果", "apple"), ("茶", "tea"), ("书", "book"):
        if translate(f"{noun} 很 新") != f"the {english} is new":
            return "dictionary" if " very " in translate(f"{noun} 很 新") else "memory"
    clauses = ["苹果 很 新", "茶 很 新", "书 很 新", "书 很 甜"]
    whole = " and ".join(translate(clause) for clause in clauses)
    return "rules" if translate(" ， ".join(clauses)) == whole else "short"


PROGRAMS: dict[str, Translator] = {
    "A": known_or(by_rules),
    "B": known_or(nearest),
    "C": by_dictionary,
    "D": at_most_nine,
    "E": known_or(by_dictionary),
    "F": same_beginning,
    "G": one_clause,
}
A, B, C, D, E, F_, G = PROGRAMS.values()

EXPERIMENT = Exercise(
    id="09.experiment",
    title="Rules or memory?",
    level=3,
    minutes=15,
    section="9.8",
    prompt="""
Seven programs have learned from these eight pairs, and from nothing else.

| Chinese | pinyin | English |
|:--|:--|:--|
| 苹果 很 甜 | píngguǒ hěn tián | the apple is sweet |
| 苹果 不 贵 | píngguǒ bù guì | the apple is not expensive |
| 茶 很 贵 | chá hěn guì | the tea is expensive |
| 茶 不 甜 | chá bù tián | the tea is not sweet |
| 书 很 贵 | shū hěn guì | the book is expensive |
| 我 的 书 不 新 | wǒ de shū bù xīn | my book is not new |
| 我 的 茶 很 甜 | wǒ de chá hěn tián | my tea is sweet |
| 书 很 贵 ， 茶 很 甜 | shū hěn guì, chá hěn tián | the book is expensive and the tea is sweet |

You get one, `translate`, which takes a Chinese sentence as text, with blanks between the words, and
returns its English. What has it learned? Think of an experiment, and write it down:
`kind_of(translate)` calls it on sentences of your own and returns `"memory"` (it gives a
translation that it knows, of some other sentence), `"dictionary"` (what it does not know it
translates word by word), `"short"` (it has the rules, but no sentence may be longer than those
above), or `"rules"`.
""",
    stub="""
def kind_of(translate):
    raise NotImplementedError
""",
    reference=kind_of,
    cases=lambda generator: [
        Case((program,), note=f"program {name}") for name, program in PROGRAMS.items()
    ],
    mistakes=choices(
        kind_of,
        {
            (A, "memory"): "it translates new sentences rightly, whatever you make of its words. "
            "Did you compare with the right translation, the and is among its words?",
            (A, "dictionary"): "very and not stand where English wants them. Look at what it makes "
            "of a sentence that is not in the table.",
            (A, "short"): "it goes on as long as you like. Was your long sentence right in itself, "
            "and your translation of it?",
            (B, "rules"): "all that is in the table it knows by heart. Ask for a sentence that is "
            "not there, made of words that are.",
            (B, "dictionary"): "what it answers is good English, of another sentence.",
            (B, "short"): "it fails on short sentences, too, if they are new.",
            (C, "rules"): "no word is wrong, but none is added: where is *is*?",
            (C, "memory"): "it fails even on what is in the table, and it never answers with "
            "another sentence.",
            (C, "short"): "short sentences fail as well.",
            (D, "rules"): "it is right up to the length of the longest sentence in the table. Ask "
            "for a longer one.",
            (D, "memory"): "new combinations are no trouble for it, as long as they are short.",
            (D, "dictionary"): "it writes is and the as English does.",
            (E, "rules"): "what is in the table it knows by heart. What does it make of a sentence "
            "that is not there?",
            (E, "memory"): "it knows the table, but that is not what it answers to a new sentence: "
            "look at the order of its words.",
            (E, "short"): "what fails are new sentences, the short ones as well. Look at how.",
            (F_, "rules"): "ask for a new sentence that begins with a word it knows.",
            (
                F_,
                "dictionary",
            ): "it never puts words in a wrong order: it answers with sentences of the table.",
            (F_, "short"): "short sentences fail as well: it looks at the first word alone.",
            (G, "rules"): "three clauses are more than it has seen, and one of them gets lost.",
            (G, "memory"): "new combinations are no trouble for it. Something else is.",
            (G, "dictionary"): "each clause it writes is good English. Count them.",
        },
    ),
    hints=(
        "What would each of the four kinds answer to a sentence of the table? That asks nothing.",
        "All words known, their combination new: 苹果 很 新. Only two of the four kinds get it "
        "right, and the other two fail in different ways.",
        "What tells the last two apart is a sentence longer than any in the table: three clauses.",
    ),
    insight="A test on known sentences would have let five of the seven pass. New combinations "
    "tell rules from memory; longer sentences tell rules from rules that end where training did. "
    "That is why chapter 9 has two tests.",
    comes_back="Chapter 12 asks in the same way what single heads have learned.",
    others=(kind_by_all_short_ones,),
    code=False,
)

CHAPTER = "9. Translation"
EXERCISES = (SHIFT, ROWS, LOSS, GREEDY, BEAM, EXPERIMENT)
