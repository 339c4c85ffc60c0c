"""Wrong answers to 12.sees, each with words of what the reader is told."""

RIGHT = {"a": 4, "b": 5, "c": 7, "d": 7, "e": 2, "f": 3, "g": 4}


def answers(**wrong):
    return lambda thing: (RIGHT | wrong)[thing]


WRONG = {
    answers(b=6): "nothing is added to the input",
    answers(g=5): "nothing is added to the input",
    answers(d=5): "too few. The vector also depends on its own token",
    answers(d=8): "nothing is added to the input",
}
