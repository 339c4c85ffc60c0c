"""More right answers to 09.rows."""


def column_by_list(row):
    written = ["i", "read", "a", "book", "in", "the", "library", "yesterday"]
    at = {"i": 0, "yesterday": 1, "in": 2, "library": 3, "read": 4, "a": 6, "book": 8}
    after = dict(zip(["BEGIN", *written], written, strict=False))
    return at[after[row]]


RIGHT = (column_by_list,)
