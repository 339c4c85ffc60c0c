"""Wrong answers to 12.sees, each with words of what the reader is told."""

RIGHT = {"a": 4, "b": 5, "c": 7, "d": 7, "e": 2, "f": 3, "g": 4}


def answers(**wrong):
    return lambda thing: (RIGHT | wrong)[thing]


WRONG = {
    answers(b=6): "nothing is added to the input",
    answers(g=5): "nothing is added to the input",
    answers(c=5): "too few. The vector also depends on its own token",
    answers(c=6): "too few. The vector also depends on its own token",
    answers(d=5): "too few. The vector also depends on its own token",
    answers(f=2): "count the token itself, all before it and all after it.",
    answers(d=8): "nothing is added to the input",
}
