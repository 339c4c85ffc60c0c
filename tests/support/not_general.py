"""What summaries say that is not a general statement, so that there is nothing to try."""

DEFINITIONS = [  # and advice, and announcements
    "A dictionary is a hard look-up: the exact key or an error.",  # 1
    "A sentence becomes tokens, tokens become ids, and ids become rows: X has shape (L, D).",  # 2
    "So compare numbers, not shapes.",  # 4
    "In our task a word has two questions, whose answers look alike.",
    "Cross-attention is the same equation with two sources: $\\textcolor{query}{Q}$ comes from the"
    " sequence being written, $\\textcolor{key}{K}$ and $\\textcolor{value}{V}$ from the sequence"
    " being read.",  # 5
    "A position number grows without limit, or has no fixed step if it is divided by the length,",
    "Relative methods act where query and key meet.",  # 7
    "Section 8.12 (second reading) shows what warm-up and clipping do in training.",  # 8
    "Held-out sentences show whether a model has learned rules or memorized sentences.",  # 9
    "You can count what attention costs.",  # 10
    "You can choose a form: first the same function with less memory (fused), then fewer words to"
    " attend to (sparse), then another function (linear).",
    "You know two ways to tell a head about distance.",  # 11
    "An induction head finds the earlier position of the current letter and copies the letter after"
    " it.",  # 13
    "You wrote both by hand for two pairs of heads.",
    "Scores and maps only say where heads attend.",
    "To know why a model answers as it does, change one thing.",
    "You know what query–key norms, learned sinks and gates are for.",  # 14
]

RESULTS = [  # of the models in a chapter's cells, which print them
    "Our three translators get 97 to 99 of 100 new combinations right, and 93 to 95 of 100 longer"
    " sentences.",  # 9
    "A parrot, which only repeats translations, gets none of them right.",
    "strong cuts gave fewer different ones.",  # 12
    "two models failed on more than a quarter of the longer sentences.",
    "Squeezing the positions repaired most of these failures, and so did training with random gaps"
    " before the English.",
    "Models with two layers learned this in all five runs, with a sudden drop of the loss.",  # 13
    "With one layer of the same width, at most 11% of the answers were right.",
]
