"""More right answers to 09.experiment."""

from attnbook.exercises.chapters.ch09.experiment import GLOSSES


def kind_by_two_questions(translate):
    short = translate("书 不 甜").split()
    if "is" not in short:
        return "dictionary"
    if short != "the book is not sweet".split():
        return "memory"
    many = " ， ".join(["茶 很 新"] * 5)
    return "rules" if translate(many).count("the tea is new") == 5 else "short"


def kind_by_many(translate):
    def right(noun, sign, quality):
        middle = "is not" if sign == "不" else "is"
        want = f"the {GLOSSES[noun]} {middle} {GLOSSES[quality]}"
        return translate(f"{noun} {sign} {quality}") == want

    every = [(n, s, q) for n in ("苹果", "茶", "书") for s in "很不" for q in "甜贵新"]
    good = sum(right(*each) for each in every)
    if good < len(every):
        return "dictionary" if translate("茶 很 新") == "tea very new" else "memory"
    long = translate("茶 很 新 ， 茶 不 新 ， 我 的 茶 很 新")
    return "rules" if long.endswith("my tea is new") and "not" in long else "short"


RIGHT = (kind_by_two_questions, kind_by_many)
