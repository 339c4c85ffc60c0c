"""Does a translator use rules or memory?"""

from collections.abc import Callable

from attnbook.exercises.exercise import Case, Exercise
from attnbook.language import _

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
RULES = PROGRAMS["A"]
MEMORY, DICTIONARY, SHORT = ((PROGRAMS[a], PROGRAMS[b]) for a, b in ("BF", "CE", "DG"))

EXERCISE = Exercise(
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
    choices={
        (RULES, "memory"): "it translates new sentences. Did you compare its answer with the right "
        "translation, including “the” and “is”?",
        (RULES, "dictionary"): "it does not translate word by word: look at how it translates a "
        "new sentence.",
        (RULES, "short"): "it translates sentences of any length. Are your long sentence and your "
        "translation of it right?",
        (MEMORY, "rules"): "try a sentence that is not in the table, made of words that are.",
        (MEMORY, "dictionary"): "it always answers with a whole sentence from the table.",
        (MEMORY, "short"): "it fails even on short sentences if they are new.",
        (DICTIONARY, "rules"): "look for “is” in its translation of a sentence that is not in the "
        "table.",
        (DICTIONARY, "memory"): "its answer to a new sentence is not in the table.",
        (DICTIONARY, "short"): "it gets even short new sentences wrong. Look at its mistakes.",
        (SHORT, "rules"): "try a sentence of three clauses, longer than any in the table.",
        (SHORT, "memory"): "it translates new sentences, as long as they are short.",
        (SHORT, "dictionary"): "it writes “is” and “the” where English needs them.",
    },
    hints=(
        "A sentence from the table tells you little. Think of what each kind does with a new one.",
        "In 苹果 很 新, all words are known, but not their combination. Only two of the four kinds "
        "get it right, and the other two fail in different ways.",
        "A sentence of three clauses, longer than any in the table, separates the two kinds that "
        "get it right.",
    ),
    insight="Five of the seven would pass a test on known sentences. New combinations tell rules "
    "from mere repetition, though not from a memory that also swaps words. Longer sentences show "
    "whether the rules also work beyond the lengths seen in training. The chapter's own three "
    "translators are “short” in this test (9.9), but length is not what stops them: they already "
    "fail on 书 很 贵 ， 茶 很 甜, whose form no training sentence of theirs has.",
    comes_back="10.experiment and 11.experiment test other kinds of black boxes.",
    others=(kind_by_all_short_ones,),
)
