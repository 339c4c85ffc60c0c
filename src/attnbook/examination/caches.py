"""A model with a cache: word by word, and several words at once, against the whole text."""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.examination.calling import parameters_of, pick
from attnbook.examination.exam import Exam
from attnbook.examination.rows import next_id
from attnbook.examination.trace import Event, Fused, Softmax, traced
from attnbook.language import _

CACHE = re.compile(r"(layer_)?past\w*|(kv_?|key_value_)?caches?", re.IGNORECASE)
CHUNKS = (2, 3, 1)  # new words in each step
LATE = 4  # a word in the second chunk, which its row 2 must not see


def check_cache(exam: Exam, ids: Tensor, size: int) -> None:
    """Compare the logits with a cache to those of the whole text."""
    exam.report.attempt(_("with the cache, word by word and in chunks"))
    subject, n = exam.subject, ids.size(1)
    whole = subject(ids)
    words = run_steps(exam, ids, [1] * n)
    if not subject.same(whole, words):
        name_steps(exam, ids, words)
        return
    chunks = run_steps(exam, ids, CHUNKS)
    if subject.same(whole, chunks):
        return
    other = ids.clone()
    other[:, LATE] = next_id(size)(other[:, LATE])
    changed = run_steps(exam, other, CHUNKS)
    if not subject.same(chunks[:, 2:LATE], changed[:, 2:LATE]):
        sentence = _(
            "Three new words after two in the cache see each other's future: word 2's logits move "
            "when word 4 changes. With a cache, several new words need the last rows of the causal "
            "mask."
        )
        exam.report.add("cache_mask", sentence)
    else:
        sentence = _(
            "Three new words after two in the cache see too few words: their mask starts at the "
            "upper left. Use the last rows of the causal mask: `tril(n_cached)`."
        )
        exam.report.add("alignment", sentence)


def note_cache(exam: Exam) -> None:
    """Note a cache that was not tried, because no step was named."""
    names = [p.name for p in parameters_of(exam.subject.thing)]
    found = next((name for name in names if CACHE.fullmatch(name)), "")
    if not found:
        return
    if isinstance(exam.subject.thing, nn.Module) and names.index(found) == 1:
        sentence = _('It takes a cache, `{name}`, which I did not try: say `step="forward"`.')
    else:
        sentence = _(
            "It takes a cache, `{name}`, which I did not try: say `step=`, a function of new ids "
            "and the cache that returns logits and the cache."
        )
    exam.report.note(sentence.format(name=found))


def name_steps(exam: Exam, ids: Tensor, words: Tensor) -> None:
    """Say whether the last word sees the words in the cache."""
    n = ids.size(1)
    n_keys = room_seen(traced(lambda: run_steps(exam, ids, [1] * n)), n)
    if n_keys:
        sentence = _(
            "After {n} words the last one attends to {n_keys} keys: the part of the cache that is "
            "still empty gets weight. Hide it with a mask, or cut it off."
        )
        exam.report.add("cache_mask", sentence.format(n=n, n_keys=n_keys))
        return
    seen = []
    for j in range(n):
        other = ids.clone()
        other[:, j] = torch.where(ids[:, j] == 1, 2, 1)
        moved = run_steps(exam, other, [1] * n)
        if exam.subject.differ(words[:, -1], moved[:, -1]).any():
            seen.append(j)
    whole = [j for j in range(n) if moves_last(exam, ids, j)]
    if set(whole) <= set(seen):
        sentence = _(
            "Word by word with the cache, the logits differ from those of the whole text, although "
            "the last word sees the others. So its position or the contents of the cache are "
            "wrong: a new word's position is the number of words before it, and each layer has "
            "keys and values of its own, the oldest first."
        )
        exam.report.add("cache_positions", sentence)
        return
    if seen in ([], [n - 1]):
        sentence = _(
            "With the cache, the last word sees no other word: the keys and values of earlier "
            "words are not used. Append the new ones to those in the cache."
        )
        exam.report.add("cache_mask", sentence)
        return
    if seen[0] > 0 or set(range(1, n - 1)) & set(seen):
        sentence = _(
            "Word by word with the cache, the last word sees only words {seen}, and without it "
            "words {whole}: keys and values are lost, or belong to another layer."
        )
        names = {"seen": ", ".join(map(str, seen)), "whole": ", ".join(map(str, whole))}
        exam.report.add("cache_mask", sentence.format(**names))
        return
    sentence = _(
        "With the cache, the last word sees only words {seen}. `is_causal=True` shows a single "
        "query the first key only, because its triangle starts at the upper left. With one new "
        "word leave the mask out; with several, use the last rows of the triangle."
    )
    exam.report.add("alignment", sentence.format(seen=", ".join(map(str, seen))))


def moves_last(exam: Exam, ids: Tensor, j: int) -> bool:
    """Whether the last word of the whole text moves when word j changes."""
    other = ids.clone()
    other[:, j] = torch.where(ids[:, j] == 1, 2, 1)
    whole, moved = exam.subject(ids), exam.subject(other)
    return bool(exam.subject.differ(whole[:, -1], moved[:, -1]).any())


def room_seen(events: list[Event], n: int) -> int:
    """Return how many keys get weight in the last step if they are more than n words, or 0."""
    counts = [
        int((event.weights > 0 if isinstance(event, Softmax) else event.seen).sum(-1).max())
        for event in events
        if isinstance(event, (Softmax, Fused))
    ]
    return counts[-1] if counts and counts[-1] > n + 1 else 0  # one more may be a sink


def run_steps(exam: Exam, ids: Tensor, lengths: list[int] | tuple[int, ...]) -> Tensor:
    """Return the logits of a text that is read in steps of these lengths."""
    step = step_of(exam)
    cache: Any = new_cache(exam)
    logits = []
    for part in ids.to(exam.subject.device).split(list(lengths), 1):
        result = step(part, cache)
        found = pick(result, part.shape)
        if found is None:
            raise RuntimeError(_("the step returns no logits (B, L, V)"))
        logits.append(found.cpu())
        cache = returned_cache(result, cache)
    return torch.cat(logits, 1)


def step_of(exam: Exam) -> Callable[[Tensor, Any], Any]:
    """Return the function that takes new words and a cache."""
    step = exam.facts.step
    if callable(step):
        return step
    if isinstance(step, str):
        return getattr(exam.subject.thing, step)
    return exam.subject.thing


def new_cache(exam: Exam) -> Any:
    """Return an empty cache: that of the model's `new_cache`, or None."""
    make = getattr(exam.subject.thing, "new_cache", None)
    return make() if callable(make) else None


def returned_cache(result: Any, cache: Any) -> Any:
    """Return the cache after a step: a part of the result, or the same object, if it grows."""
    if hasattr(result, "past_key_values"):
        return result.past_key_values
    if isinstance(result, tuple) and len(result) > 1:
        return result[1]
    return cache
