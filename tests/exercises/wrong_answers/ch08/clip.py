"""Wrong answers to 08.clip, each with words of what the reader is told."""


def each_by_its_own_float(gradients, limit):
    new = []
    for g in gradients:
        norm = float((g**2).sum()) ** 0.5
        new.append(g * min(1.0, limit / norm))
    return new


WRONG = {each_by_its_own_float: "You gave each gradient a factor of its own"}
