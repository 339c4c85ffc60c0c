"""More right answers to 07.longer."""


def verdict_questions(experiment):
    needs_order, longest_trained, read_at_once = {
        "A": (False, 12, 48),
        "B": (True, 12, 48),
        "C": (True, 48, 48),
        "D": (True, 12, 12),
        "E": (True, 12, 12),
    }[experiment]
    if not needs_order:
        return "order"
    if read_at_once > longest_trained:
        return "fair"
    return "seen" if read_at_once == 48 else "length"


RIGHT = (verdict_questions,)
