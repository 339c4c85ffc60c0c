"""More right answers to 12.sees."""


def seen_by_counting(thing):
    source, target = "苹果 很 甜".split(), "BEGIN the apple is sweet".split()
    if thing == "a":
        return len(target[:4])
    if thing in ("b", "g"):
        return len(("the GAP is sweet today" if thing == "b" else "GAP apple is sweet").split())
    if thing in ("c", "d"):
        return len([*source, *target[:4]])
    return source.index("很") + 1 if thing == "e" else len(source)


RIGHT = (seen_by_counting,)
