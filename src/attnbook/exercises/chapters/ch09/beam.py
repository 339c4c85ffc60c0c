"""Exercises of chapter 9: a model that translates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.common_mistakes import MistakeSet, WrongLine
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _

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


def shift_cases(generator: Generator) -> list[Case]:
    def case(note: str, length: int, *words: int) -> Case:
        rows = torch.randint(3, 40, (len(words), length), generator=generator)
        rows[:, 0] = BEGIN
        padding = torch.arange(length) > torch.tensor(words)[:, None]
        return Case((rows.masked_fill(padding, PAD),), {"B": len(words), "L": length}, note)

    some = torch.randint(1, 8, (5,), generator=generator).tolist()
    return [
        case("1 sentence of 3 words, no padding", 4, 3),
        case("2 sentences, of 4 and 2 words", 5, 4, 2),
        case("3 sentences, the longest one last", 7, 2, 5, 6),
        case("4 sentences, one of them empty", 6, 3, 0, 5, 1),
        case("room for one more word than the longest sentence has", 8, 5, 6),
        case(_("5 sentences of {lengths} words").format(lengths=some), 9, *some),
    ]


def shifted(target: Tensor) -> Tensor:
    return torch.cat((target[:, 1:], torch.zeros_like(target[:, :1])), dim=1)


def end_after_the_words(target: Tensor) -> Tensor:
    """Replace the first PAD of each row, if there is one, with END."""
    first = (target == PAD) & (target == PAD).long().cumsum(1).eq(1)
    return target.masked_fill(first, END)


SHIFT = Exercise(
    id="09.shift",
    title="What comes next",
    level=1,
    minutes=8,
    section="9.4",
    prompt="""
The decoder is given `target` (B, L), the ids of B English sentences: BEGIN, the words, and enough
PAD to fill the row. Write `my_labels(target)`. It returns a tensor of the same shape with the right
answer at each position: the word that comes next, END after the last word, and PAD at positions
that do not count. PAD is 0, BEGIN is 1, END is 2, and every word has a larger id.
""",
    reference=my_labels,
    cases=shift_cases,
    axes="B L",
    mistakes=(
        Mistake(lambda target: target, "Nothing was shifted, so a model would only learn to copy."),
        Mistake(shifted, "The words are right, but without END a model never learns to stop."),
        Mistake(
            lambda target: torch.cat((target[:, 1:], torch.full_like(target[:, :1], END)), dim=1),
            "END is at the end of each row. In a padded row it belongs after the last word.",
        ),
        Mistake(
            lambda target: shifted(target).masked_fill(shifted(target) == PAD, END),
            "All padding became END. Each sentence has one END, and the rest stays PAD.",
        ),
        Mistake(
            lambda target: target.roll(-1, dims=1),
            "`roll` moves BEGIN from the beginning to the end of the row. And where is END?",
        ),
        Mistake(
            lambda target: torch.cat((torch.zeros_like(target[:, :1]), target[:, :-1]), dim=1),
            "The rows were shifted to the right: each position is asked for the word *before* it.",
        ),
        Mistake(
            lambda target: target[:, 1:],
            "Each row has lost a position. Your answer needs as many positions as `target`.",
        ),
        Mistake(
            lambda target: shifted(end_after_the_words(target)),
            "A sentence that fills its row has no END: it has no PAD to replace.",
        ),
    ),
    properties=(
        Property(
            "BEGIN is never a right answer. It is given, and it never comes next.",
            lambda answer, case: not bool((answer == BEGIN).any()),
        ),
        Property(
            "Each sentence needs exactly one END. Some of yours have none, or more than one.",
            lambda answer, case: bool(((answer == END).sum(1) == 1).all()),
        ),
        Property(
            "Some words of `target` are missing from the same row of your answer.",
            lambda answer, case: all(
                set(given[given > END].tolist()) <= set(labels.tolist())
                for given, labels in zip(case.arguments[0], answer, strict=True)
            ),
        ),
    ),
    hints=(
        "Write down a short sentence, such as `BEGIN i swim PAD`, and below each of its positions "
        "the right answer.",
        "Shift the row to the left by one, and the words are right. END belongs where a word was "
        "given and nothing follows it.",
        "`torch.cat((target[:, 1:], ...), dim=1)`, then `masked_fill` where `target` is not 0 but "
        "the shifted row is 0.",
    ),
    insight="A sentence of n words poses n + 1 questions, all answered in one pass. The answer to "
    "the last one is END.",
    comes_back="09.loss leaves out the positions that are PAD here.",
    others=(labels_by_lengths,),
)

# --- 09.rows: which row of the map is it? ----------------------------------------------------


def column(row: str) -> int:
    return {"BEGIN": 0, "i": 4, "a": 8, "book": 2, "the": 3, "library": 1}[row]


def columns_mistake(answers: Mapping[str, int], message: str) -> Mistake:
    return Mistake(lambda row: answers.get(row, column(row)), message)


ROWS = Exercise(
    id="09.rows",
    title="Which row writes which word?",
    level=1,
    minutes=6,
    section="9.11",
    prompt="""
A model has read 我 昨天 在 图书馆 看 了 一 本 书 and has written “i read a book in the library
yesterday”. Suppose that one of its heads always attends to the Chinese word that is translated
next. Its attention map has a row for each word that the decoder was given, starting with BEGIN, and
these columns:

| 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
|:--|:--|:--|:--|:--|:--|:--|:--|:--|
| 我 | 昨天 | 在 | 图书馆 | 看 | 了 | 一 | 本 | 书 |
| wǒ | zuótiān | zài | túshūguǎn | kàn | le | yī | běn | shū |
| i | yesterday | in | library | read | (done) | a | (measure) | book |

`column(row)` returns the column in which the row with this name has its greatest weight.
""",
    stub="""
def column(row):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"BEGIN": None, "i": None, "a": None,
             "book": None, "the": None, "library": None}
    return found[row]
""",
    reference=column,
    cases=lambda generator: [
        Case((row,), note=_('row "{name}"').format(name=row))
        for row in ("BEGIN", "i", "a", "book", "the", "library")
    ],
    mistakes=(
        columns_mistake(
            {"i": 0, "a": 6, "book": 8, "library": 3},
            "this row was *given* that word. It writes the next one.",
        ),
        columns_mistake(
            {"BEGIN": 4, "i": 6, "a": 2, "the": 1}, "that word is written one row later."
        ),
        columns_mistake(
            {"a": 3, "book": 4, "the": 6, "library": 7},
            "the two languages use different orders: row n need not attend to word n.",
        ),
        columns_mistake(
            {"BEGIN": 1, "i": 1},
            "the Chinese sentence continues with 昨天. Which word does the English one need here?",
        ),
        columns_mistake({"the": 2, "library": 2}, "在 was translated before 图书馆."),
        columns_mistake({"i": 5}, "了 marks a completed action. Which Chinese word means “read”?"),
        columns_mistake(
            {"a": 7}, "本 is a measure word, which English does not need. What is written next?"
        ),
        columns_mistake({"book": 3}, "two English words come before the library."),
    ),
    properties=(
        Property(
            "that word is written in another row. Read the English sentence up to the name of this "
            "row: which word comes next?",
            lambda answer, case: answer == column(case.arguments[0]),
        ),
    ),
    hints=(
        "Write the labels below the target. Which label is below the name of this row?",
        "The row of a word writes the *next* word: the row BEGIN writes i.",
        "The rows write, in this order: i, read, a, book, in, the, library, yesterday, END. Find "
        "each of them in the last line of the table.",
    ),
    insight="A row is named after the word that was given, and its weights are used to write the "
    "next word. If you read the attention map one row off, the model seems to attend to the "
    "word it has just translated. Also, real heads need not attend to the word they translate: "
    "see section 5.6.",
    comes_back="09.greedy also reads such a row: the last one, which writes the next word.",
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
        ids = torch.randint(1, v, (len(words), length), generator=generator)
        ids[0, 0] = 1  # the loss leaves out only PAD, not this id
        labels = ids.masked_fill(torch.arange(length) >= torch.tensor(words)[:, None], PAD)
        logits = size * draw(generator, len(words), length, v)
        sizes = {"B": len(words), "L": length, "V": v}
        return Case((logits, labels, s), sizes, note)

    v = some_sizes(generator, 1)[0] + 8
    return [
        case("1 sentence of 2 words, 5 ids, no padding", 5, 2, 2, s=0.2),
        case("2 sentences, of 3 words and 1 word", 7, 3, 3, 1),
        case("3 sentences, smoothing 0", 6, 4, 1, 4, 2, s=0.0),
        case(_("{n} ids, smoothing 0.3").format(n=v), v, 5, 5, 2, s=0.3),
        case("4 sentences, one of them empty", 9, 6, 6, 0, 3, 2),
        case("logits in the hundreds", 8, 5, 2, 5, 1, size=300.0),
    ]


@dataclass(frozen=True)
class Loss:
    """The lines that compute the loss. Each is right unless it is replaced."""

    logs: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1)
    score: Callable[..., Tensor] = lambda logs, right, s: (1 - s) * right + s * logs.mean(-1)
    mean: Callable[[Tensor, Tensor], Tensor] = lambda loss, real: loss[real].mean()

    def __call__(self, logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        logs = self.logs(logits)
        right = logs.gather(-1, labels[..., None])[..., 0]
        return self.mean(-self.score(logs, right, smoothing), labels != PAD)


LOSS_MISTAKES = (
    WrongLine("logs", lambda logits: logits, "The softmax is missing: these are logits."),
    WrongLine("logs", lambda logits: logits.softmax(-1), "The logarithm is missing."),
    WrongLine(
        "logs",
        lambda logits: logits.log_softmax(1),
        "Your softmax ran over the positions. It should run over the V ids, the last axis.",
    ),
    WrongLine("score", lambda logs, right, s: right, "`smoothing` has no effect."),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * (logs.sum(-1) - right) / (logs.size(-1) - 1),
        "You spread `smoothing` over the V − 1 other ids. Here, as in PyTorch, the right one gets "
        "a part of it as well.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * (logs.sum(-1) - right) / logs.size(-1),
        "The right id should get its part of `smoothing` in addition to 1 − smoothing. Your "
        "probabilities sum to less than 1.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * logs[..., PAD + 1 :].mean(-1),
        "You spread `smoothing` over all ids except PAD. PAD gets a part of it as well.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * logs.sum(-1),
        "Every id gets all of `smoothing`. Each should get `smoothing` / V.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: ((1 - s) * right + s * logs.mean(-1)) / logs.size(-1),
        "At each position you took the mean over the V ids. Take the sum.",
    ),
    WrongLine("mean", lambda loss, real: loss.mean(), "You counted the padding. Leave it out."),
    WrongLine(
        "mean",
        lambda loss, real: (loss * real).mean(),
        "You left the padding out of the sum, but then divided by the number of all positions. "
        "Divide by the number of those that count.",
    ),
    WrongLine(
        "mean",
        lambda loss, real: ((loss * real).sum(1) / real.sum(1)).mean(),
        "You took the mean over each sentence first, so a word in a short sentence counts more, "
        "and an empty sentence gives nan. Take one mean over all words.",
    ),
    WrongLine(
        "mean",
        lambda loss, real: -loss[real].mean(),
        "The sign is wrong: the loss is *minus* the logarithm.",
    ),
)


def other_targets(logits: Tensor, labels: Tensor, s: float) -> Iterator[Tensor]:
    """Yield the loss for targets other than 1 - s for the right id plus s / V for every id."""
    v = logits.size(-1)
    for a, b in (1 - s, 0), (1, s / v), (s, (1 - s) / v), (1 - s, -s / v), (1 - s, s / (v - 1)):
        score = lambda logs, right, s, a=a, b=b: a * right + b * logs.sum(-1)  # noqa: E731
        yield Loss(score=score)(logits, labels, s)


LOSS = Exercise(
    id="09.loss",
    title="A loss by hand",
    level=2,
    minutes=12,
    section="9.5",
    second_reading=True,
    prompt="""
Write `my_loss(logits, labels, smoothing)`, the training loss of chapter 9, without using
`cross_entropy`. `logits` (B, L, V) are the scores of V ids, before the softmax; `labels` (B, L) are
the right ids, and 0 where there is only padding. At each position, the right id gets a wanted
probability of 1 − `smoothing`, and `smoothing` is then spread evenly over all V ids, including the
right one and PAD. The loss of a position is minus the sum, over all ids, of the wanted probability
times ln of the model's probability. Return the mean over all positions that are not padding.
""",
    reference=my_loss,
    cases=loss_cases,
    without=("cross_entropy", "CrossEntropyLoss"),
    properties=(
        Property(
            "Your answer is right, except when logits are in the hundreds. Then a probability is "
            "rounded to 0, and its logarithm is lost. `log_softmax` never computes the "
            "probability itself.",
            lambda answer, case: bool(
                case.arguments[0].abs().max() < 100
                or torch.isclose(answer, my_loss(*case.arguments))
            ),
        ),
        Property(
            "Only the wanted probabilities are wrong. The right id gets 1 − smoothing, and then "
            "each of the V ids gets another smoothing / V.",
            lambda answer, case: (
                bool(torch.isclose(answer, my_loss(*case.arguments)))
                or not any(torch.isclose(answer, x) for x in other_targets(*case.arguments))
            ),
        ),
    ),
    mistakes=(),
    common_mistakes=MistakeSet(lambda loss: loss, LOSS_MISTAKES, right=Loss()),
    hints=(
        "`log_softmax` gives (B, L, V) logarithms. At each position you need two numbers: the "
        "logarithm for the right id, and the mean over all ids.",
        "`logs.gather(-1, labels[..., None])` picks the logarithms for the right ids, with a last "
        "axis of size 1.",
        "`labels != 0` as an index keeps the words and drops the padding. Then take the mean.",
    ),
    insight="The mean over all V ids does not depend on the label. Smoothing adds it as a term "
    "that grows when any id gets too little probability, so no logit gets far above the others.",
    comes_back="09.beam adds such logarithms, word by word, to compare whole sentences.",
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
    """Return a model that writes these sentences, if it is asked for their words in order.

    After END, or after a word that is not in its plan, it writes words that are in no plan.
    The best word wins by a small margin, so sampling would often pick another one.
    """

    def model(target: Tensor) -> Tensor:
        shape = tuple(target.shape)
        if target.dim() != 2 or len(target) != len(plans) or target.size(1) > 40:
            message = _(
                "target has shape {shape}: each call needs all {n} sentences, with one more word "
                "at each step"
            )
            raise ValueError(message.format(shape=shape, n=len(plans)))
        answer = scores[torch.arange(target.size(1)) % len(scores)].repeat(len(plans), 1, 1)
        for b, plan in enumerate(plans):
            given = target[b].tolist()
            for i in range(len(given)):
                on_the_way = given[0] == BEGIN and given[1 : i + 1] == list(plan[:i])
                word = plan[i] if on_the_way and i < len(plan) else 3 + (i + b) % 2
                answer[b, i, word] = answer[b, i].max() + 0.1
        return answer.to(target.device)

    return model


def greedy_cases(generator: Generator) -> list[Case]:
    def case(note: str, longest: int, *lengths: int) -> Case:
        plans = [
            [*torch.randint(5, 12, (n,), generator=generator).tolist(), *([END] if end else [])]
            for n, end in ((n, n < longest) for n in lengths)
        ]
        model, begin = written_by(plans, draw(generator, 5, 12)), torch.full((len(plans), 1), BEGIN)
        return Case((model, begin, longest), {"B": len(plans)}, note)

    return [
        case("1 sentence of 2 words", 6, 2),
        case("2 sentences of 3 words", 7, 3, 3),
        case("3 sentences, of 4, 1 and 2 words", 9, 4, 1, 2),
        case("2 sentences, the longer one last", 8, 1, 5),
        case("2 sentences, one of them never ends", 5, 2, 5),
        case("4 sentences, one of them empty", 6, 3, 0, 2, 4),
        case("exactly as long as allowed", 4, 3, 1),
    ]


@dataclass(frozen=True)
class Greedy:
    """The loop in parts. Each is right unless it is replaced."""

    read: Callable[[Model, Tensor], Tensor] = lambda model, target: model(target)[:, -1:]
    choose: Callable[[Tensor], Tensor] = lambda scores: scores.argmax(-1)
    pad: Callable[[Tensor, Tensor], Tensor] = lambda word, done: word.masked_fill(done, PAD)
    ended: Callable[[Tensor, Tensor], Tensor] = lambda done, word: done | (word == END)
    stop: Callable[[Tensor], Tensor] = torch.all
    answer: Callable[[Tensor], Tensor] = lambda target: target[:, 1:]

    def __call__(self, model: Model, target: Tensor, longest: int) -> Tensor:
        done = torch.zeros_like(target, dtype=torch.bool)
        for _ in range(longest):
            word = self.pad(self.choose(self.read(model, target)), done)
            target = torch.cat((target, word), dim=1)
            done = self.ended(done, word)
            if self.stop(done):
                break
        return self.answer(target)


def read_first_row(model: Model, target: Tensor) -> Tensor:
    return model(target)[:, :1]


GREEDY_MISTAKES = (
    WrongLine(
        "read",
        read_first_row,
        "Row 0 has the scores for the word after BEGIN, however many words have been written.",
    ),
    WrongLine(
        "read",
        lambda model, target: model(target)[:, -1],
        "`[:, -1]` drops an axis: the words (B,) broadcast with `done` (B, 1) to (B, B). Keep that "
        "axis.",
    ),
    WrongLine(
        "read",
        lambda model, target: model(target[:, -1:])[:, -1:],
        "The model reads only the last word. It needs all words so far.",
    ),
    WrongLine(
        "choose",
        lambda scores: scores.argmax(1),
        "`argmax` ran over the positions. The scores of the words are on the last axis.",
    ),
    WrongLine("pad", lambda word, done: word, "A sentence that has ended keeps getting words."),
    WrongLine(
        "pad",
        lambda word, done: word.masked_fill(done, END),
        "After its END, a sentence gets more ENDs. It should get PAD.",
    ),
    WrongLine(
        "pad",
        lambda word, done: word.masked_fill(~done, PAD),
        "The sentences that have *not* ended get PAD. `masked_fill` fills where its mask is True.",
    ),
    WrongLine(
        "ended", lambda done, word: word == END, "`done` forgets the sentences that ended earlier."
    ),
    WrongLine(
        "stop",
        torch.any,
        "The loop stops as soon as *one* sentence has ended. (Once that is fixed, look at what "
        "sentences get after their END.)",
    ),
    WrongLine("stop", lambda done: False, "The loop continues after all sentences have ended."),
    WrongLine(
        "answer",
        lambda target: target,
        "Your answer still begins with BEGIN, which was given. Leave it out.",
    ),
)

GREEDY = Exercise(
    id="09.greedy",
    title="Three faults in a loop",
    level=2,
    minutes=12,
    section="9.7",
    prompt="""
`my_greedy(model, target, longest)` should write a batch of sentences, always choosing the word with
the highest score. `model(target)` takes all ids so far, (B, L), including those of sentences that
have ended, and returns scores (B, L, V). Row i has the scores for the word after position i.
`target` (B, 1) is BEGIN for each sentence. The answer (B, n) omits BEGIN and has the words,
each sentence's END, and PAD after it; n is at most `longest`, and no more than the longest sentence
needs. PAD is 0, BEGIN is 1, and END is 2. The loop below runs, but it has three faults.
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
            Greedy(read=read_first_row, stop=torch.any),
            "At least two faults are left: which row has the scores for the next word, and when "
            "has the whole batch ended? The third shows up once these are repaired: what does a "
            "sentence get after it has ended?",
        ),
    ),
    common_mistakes=MistakeSet(lambda loop: loop, GREEDY_MISTAKES, right=Greedy()),
    properties=(
        Property(
            "After its END, a sentence has only PAD, but one of yours has other words.",
            lambda answer, case: (
                not bool(((answer == END).cumsum(1)[:, :-1] * answer[:, 1:]).any())
            ),
        ),
    ),
    hints=(
        "Print `target` at each step for two sentences of different lengths, and look at what each "
        "step adds.",
        "After three words the model returns four rows. Which one has seen all of them?",
        "`[:, -1:]`, `.masked_fill(done, 0)`, `done.all()`.",
    ),
    insight="None of the three faults raises an error, and with a batch of one sentence, two of "
    "them have no effect. Test such a loop with sentences of different lengths.",
    comes_back="Chapter 11 runs this loop without computing earlier rows again.",
    others=(greedy_then_clean,),
)

# --- 09.beam: one step of a beam search ------------------------------------------------------

Beam = tuple[Tensor, Tensor, Tensor]


def my_beam_step(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    stays = torch.full_like(logs, -torch.inf)
    stays[:, 0] = 0.0  # PAD costs nothing
    logs = torch.where(done[:, None], stays, logs)
    every = totals[:, None] + logs  # (k, V)
    best, index = every.flatten().topk(len(totals))
    return best, index // logs.size(1), index % logs.size(1)


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
    def case(note: str, v: int, done: Sequence[int], *behind: float) -> Case:
        totals = -3 - 2 * draw(generator, len(done)).abs() - torch.tensor(behind or (0.0,))
        logits = 2 * draw(generator, len(done), v)
        logits[:, 0] -= 12  # PAD is hardly ever predicted
        arguments = totals, logits.log_softmax(-1), torch.tensor(done) > 0
        return Case(arguments, {"k": len(done), "V": v}, note)

    return [
        case("2 beams, 5 words, none has ended", 5, (0, 0)),
        case("3 beams, 7 words, none has ended", 7, (0, 0, 0)),
        case("4 beams, one of them far ahead", 11, (0, 0, 0, 0), 20, 20, 0, 20),
        case("3 beams, beam 1 has ended and leads", 8, (0, 1, 0), 9, 0, 9),
        case("3 beams, beam 2 has ended and is far behind", 9, (0, 0, 1), 0, 0, 40),
        case("4 beams, two have ended", 6, (1, 0, 1, 0)),
        case("all 3 have ended", 10, (1, 1, 1)),
        case("3 beams of long sentences, with sums in the hundreds", 7, (0, 0, 0), 900),
        case("3 beams, beam 0 has ended and is far ahead", 7, (1, 0, 0), 0, 900, 900),
        case("1 beam", 12, (0,)),
    ]


def ended_logs(logs: Tensor, done: Tensor, pad: Any = 0.0, other: float = -torch.inf) -> Tensor:
    """Return ln p of the next words, with `pad` and `other` for sentences that have ended."""
    row = torch.full_like(logs, other)
    row[:, PAD] = pad
    return torch.where(done[:, None], row, logs)


def best_of(every: Tensor) -> Beam:
    best, place = every.flatten().topk(len(every))
    return best, place // every.size(1), place % every.size(1)


@dataclass(frozen=True)
class Step:
    """The lines of one step of a beam search. Each is right unless it is replaced."""

    logs: Callable[..., Tensor] = ended_logs
    every: Callable[[Tensor, Tensor], Tensor] = lambda totals, logs: totals[:, None] + logs
    choose: Callable[[Tensor], Beam] = best_of
    answer: Callable[..., Beam] = lambda totals, best, sentences, words: (best, sentences, words)

    def __call__(self, totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
        return self.answer(totals, *self.choose(self.every(totals, self.logs(logs, done))))


def one_each(every: Tensor) -> Beam:
    """Choose the best word of each beam."""
    best, words = every.max(-1)
    order = best.argsort(descending=True)
    return best[order], order, words[order]


def ended_first(every: Tensor) -> Beam:
    """First choose the sentences that have ended, and then the best of the others."""
    ended = every[:, 1:2].isinf() & every[:, :1].isfinite()
    place = (every + 1e6 * ended).flatten().topk(len(every)).indices
    best, order = every.flatten()[place].sort(descending=True)
    return best, place[order] // every.size(1), place[order] % every.size(1)


def padded_afterwards(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    best, sentences, words = best_of(totals[:, None] + logs)
    return best, sentences, words.masked_fill(done[sentences], PAD)


BEAM_MISTAKES = (
    WrongLine("logs", lambda logs, done: logs, "A sentence that has ended keeps getting words."),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, pad=logs[:, PAD]),
        "After END you added ln p of PAD. PAD should cost nothing there.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, other=0.0),
        "You continue a sentence that has ended with any word at no cost. Only PAD is possible; "
        "the others get −∞.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, other=-100.0),
        "−100 is very low, but the sums of other sentences may be even lower. An impossible word "
        "gets −∞.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, pad=-torch.inf),
        "A sentence that has ended has no continuation here, so it drops out of the beam.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: F.pad(ended_logs(logs, done)[:, 1:], (1, 0)),
        "You let every sentence add PAD at no cost. PAD should be free only for those that have "
        "ended.",
    ),
    WrongLine("every", lambda totals, logs: logs.clone(), "The sums so far have no effect."),
    WrongLine(
        "choose",
        one_each,
        "You kept the best word of each sentence, as k greedy searches would. But all "
        "continuations of all sentences compete with each other.",
    ),
    WrongLine(
        "choose",
        lambda every: (-best_of(-every)[0], *best_of(-every)[1:]),
        "You kept the k lowest sums. Keep the highest.",
    ),
    WrongLine(
        "choose",
        ended_first,
        "You always keep a sentence that has ended, however far behind it is. It has to compete "
        "with all others.",
    ),
    WrongLine(
        "answer",
        lambda totals, best, sentences, words: (best, words, sentences),
        "You swapped the sentences and the words.",
    ),
    WrongLine(
        "answer",
        lambda totals, best, sentences, words: (sentences, words, best),
        "Return them in this order: sums, sentences, words.",
    ),
)


BEAM = Exercise(
    id="09.beam",
    title="One step of a beam search",
    level=3,
    minutes=15,
    section="9.13",
    second_reading=True,
    prompt="""
A beam search keeps k sentences. `totals` (k,) holds the sum of ln p of each sentence's words so
far, `logs` (k, V) is ln p of each possible next word, and `done` (k,) is True for a sentence
that has ended. Write `my_beam_step(totals, logs, done)`. Of all continuations by one word, it keeps
the k with the highest sums. A sentence that has ended is continued only by PAD, the id 0, at no
cost. Return three tensors (k,), with the best first: the new sums, the index of the sentence that
each continues (0 to k − 1), and the id of the word added (0 to V − 1).
""",
    reference=my_beam_step,
    cases=beam_cases,
    mistakes=(
        Mistake(
            padded_afterwards,
            "You inserted PAD after the choice. Until then, the ended sentence competed with words "
            "that it cannot have.",
        ),
    ),
    common_mistakes=MistakeSet(lambda step: step, BEAM_MISTAKES, right=Step()),
    properties=(
        Property(
            "Return three tensors of shape (k,).",
            lambda answer, case: (
                len(answer) == 3 and all(x.shape == case.arguments[0].shape for x in answer)
            ),
        ),
        Property(
            "You continue a sentence that has ended with a word other than PAD.",
            lambda answer, case: not bool(answer[2][case.arguments[2][answer[1]]].any()),
        ),
        Property(
            "Your sums are right, but your sentences and words are not. In the flattened (k, V) "
            "tensor, an index is the sentence times V plus the word.",
            lambda answer, case: (
                not torch.allclose(answer[0], my_beam_step(*case.arguments)[0])
                or all(map(torch.equal, answer[1:], my_beam_step(*case.arguments)[1:]))
            ),
        ),
        Property(
            "Your sums do not belong to the sentences and words that you return.",
            lambda answer, case: torch.allclose(
                answer[0],
                case.arguments[0][answer[1]]
                + ended_logs(*case.arguments[1:])[answer[1], answer[2]],
            ),
        ),
        Property(
            "Your best sentence does not come first.",
            lambda answer, case: bool((answer[0].diff() <= 0).all()),
        ),
    ),
    hints=(
        "How many continuations are there in all? Compute their sums first, as a (k, V) tensor.",
        "A sentence that has ended gets a row of its own: 0 for PAD and −∞ for all other words. "
        "`torch.where(done[:, None], ..., logs)`.",
        "`.flatten().topk(k)` gives the best sums and their indices. An index is the sentence "
        "times V plus the word.",
    ),
    insight="A sentence that has ended stays in the beam with its sum, and drops out if enough "
    "others overtake it. With k = 1 this is greedy decoding.",
    comes_back="The library's `beam_search` takes such steps until all sentences have ended.",
    others=(beam_by_lists,),
    gradients=False,
)

# --- 09.experiment: rules or memory? ---------------------------------------------------------

Translator = Callable[[str], str]

TABLE = """
| 苹果 很 甜 | píngguǒ hěn tián | the apple is sweet |
| 苹果 不 贵 | píngguǒ bù guì | the apple is not expensive |
| 茶 很 贵 | chá hěn guì | the tea is expensive |
| 茶 不 甜 | chá bù tián | the tea is not sweet |
| 书 很 贵 | shū hěn guì | the book is expensive |
| 我 的 书 不 新 | wǒ de shū bù xīn | my book is not new |
| 我 的 茶 很 甜 | wǒ de chá hěn tián | my tea is sweet |
| 书 很 贵 ， 茶 很 甜 | shū hěn guì, chá hěn tián | the book is expensive and the tea is sweet |
""".strip()
KNOWN = {
    chinese: english
    for chinese, _, english in (row.strip("| ").split(" | ") for row in TABLE.splitlines())
}
GLOSSES = {
    "苹果": "apple", "茶": "tea", "书": "book", "甜": "sweet", "贵": "expensive", "新": "new",
    "很": "very", "不": "not", "我": "i", "的": "'s", "，": "and",
}  # fmt: skip


def kind_of(translate: Translator) -> str:
    new = translate("苹果 很 新")  # each word is known, but this combination is not
    if new != "the apple is new":
        return "dictionary" if new == "apple very new" else "memory"
    longer = translate("书 很 新 ， 我 的 苹果 不 甜 ， 茶 很 贵")
    right = "the book is new and my apple is not sweet and the tea is expensive"
    return "rules" if longer == right else "short"


def kind_by_all_short_ones(translate: Translator) -> str:
    for noun, english in ("苹果", "apple"), ("茶", "tea"), ("书", "book"):
        if translate(f"{noun} 很 新") != f"the {english} is new":
            return "dictionary" if " very " in translate(f"{noun} 很 新") else "memory"
    clauses = ["苹果 很 新", "茶 很 新", "书 很 新", "书 很 甜"]
    whole = " and ".join(translate(clause) for clause in clauses)
    return "rules" if translate(" ， ".join(clauses)) == whole else "short"


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
    """Return the translation of the known sentence with the most similar set of words."""
    words = set(chinese.split())
    return KNOWN[min(KNOWN, key=lambda known: len(set(known.split()) ^ words))]


def same_beginning(chinese: str) -> str:
    """Return the translation of the first known sentence that begins with the same word."""
    first = chinese.split()[:1]
    return next((en for zh, en in KNOWN.items() if zh.split()[:1] == first), "")


def two_clauses(chinese: str) -> str:
    """Translate by rules, but drop all clauses between the first and the last."""
    clauses = chinese.split("，")
    return by_rules("，".join(clauses if len(clauses) < 3 else [clauses[0], clauses[-1]]))


def known_or(other: Translator) -> Translator:
    return lambda chinese: KNOWN.get(" ".join(chinese.split())) or other(chinese)


PROGRAMS: dict[str, Translator] = {
    "A": known_or(by_rules),
    "B": known_or(nearest),
    "C": by_dictionary,
    "D": lambda chinese: " ".join(by_rules(chinese).split()[:9]),
    "E": known_or(by_dictionary),
    "F": same_beginning,
    "G": two_clauses,
}
PROGRAM_MISTAKES = {
    ("rules", "memory"): "it translates new sentences. Did you compare its answer with the right "
    "translation, including “the” and “is”?",
    ("rules", "dictionary"): "it does not translate word by word: look at how it translates a new "
    "sentence.",
    ("rules", "short"): "it translates sentences of any length. Are your long sentence and "
    "your translation of it right?",
    ("memory", "rules"): "try a sentence that is not in the table, made of words that are.",
    ("memory", "dictionary"): "it always answers with a whole sentence from the table.",
    ("memory", "short"): "it fails even on short sentences if they are new.",
    ("dictionary", "rules"): "look for “is” in its translation of a sentence that is not in the "
    "table.",
    ("dictionary", "memory"): "its answer to a new sentence is not in the table.",
    ("dictionary", "short"): "it gets even short new sentences wrong. Look at its mistakes.",
    ("short", "rules"): "try a sentence of three clauses, longer than any in the table.",
    ("short", "memory"): "it translates new sentences, as long as they are short.",
    ("short", "dictionary"): "it writes “is” and “the” where English needs them.",
}


def program_mistake(kind: str, said: str, message: str) -> Mistake:
    return Mistake(lambda program: said if kind_of(program) == kind else kind_of(program), message)


EXPERIMENT = Exercise(
    id="09.experiment",
    title="Rules or memory?",
    level=3,
    minutes=15,
    section="9.8",
    prompt=f"""
Seven programs have learned from these eight pairs, and from nothing else.

| Chinese | pinyin | English |
|:--|:--|:--|
{TABLE}

You get one of them, `translate`. It takes a Chinese sentence as text, with spaces between the
words, and returns an English one. What has it learned? Think of an experiment: `kind_of(translate)`
calls it on sentences of your own and returns `"memory"` (its answer is always a translation from
the table, perhaps of another sentence), `"dictionary"` (it translates new sentences word by word),
`"short"` (it knows the rules, but fails on sentences that are longer than those above), or
`"rules"`.
""",
    reference=kind_of,
    cases=lambda generator: [
        Case((program,), note=_("program {name}").format(name=name))
        for name, program in PROGRAMS.items()
    ],
    mistakes=tuple(
        program_mistake(kind, said, message) for (kind, said), message in PROGRAM_MISTAKES.items()
    ),
    hints=(
        "A sentence from the table tells you little. Think of what each kind does with a new one.",
        "In 苹果 很 新, all words are known, but not their combination. Only two of the four kinds "
        "get it right, and the other two fail in different ways.",
        "A sentence of three clauses, longer than any in the table, separates the two kinds that "
        "get it right.",
    ),
    insight="Five of the seven would pass a test on known sentences. New combinations distinguish "
    "rules from memory, and longer sentences show whether the rules also work beyond the lengths "
    "seen in training. That is why chapter 9 has two tests.",
    comes_back="10.experiment and 11.experiment test other kinds of black boxes.",
    others=(kind_by_all_short_ones,),
    code=False,
)

CHAPTER = "9. Translation"
EXERCISES = (SHIFT, ROWS, LOSS, GREEDY, BEAM, EXPERIMENT)
