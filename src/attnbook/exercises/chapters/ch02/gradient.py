"""Which rows of an embedding table get a gradient?"""

from attnbook.exercises.exercise import Case, Exercise, Property
from attnbook.language import _


def my_gradient(question: str) -> float:
    return {"a": 2.0, "b": 0.0, "c": 0.4, "d": 0.0, "e": 2.0}[question]


EXERCISE = Exercise(
    title="Who learns?",
    level=1,
    minutes=6,
    section="2.4",
    prompt="""
The vocabulary is *and, milk, or, sugar, tea*. The sentence is "tea and tea or milk", with L = 5
tokens. `embed` is an `nn.Embedding` of 5 rows, and `X = embed(ids)`. After `backward()`, all
numbers in a row of `embed.weight.grad` are the same. `my_gradient(question)` returns that number,
which is 0 for a row without a gradient.

| | loss | row of |
|:--|:--|:--|
| a | `X.sum()` | *tea* |
| b | `X.sum()` | *sugar* |
| c | `X.mean(0).sum()` | *tea* |
| d | `X.detach().sum() + X[1].sum()` | *tea* |
| e | `(F.one_hot(ids, 5).float() @ embed.weight).sum()` | *tea* |
""",
    stub="""
def my_gradient(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": None, "b": None, "c": None, "d": None, "e": None}[question]
""",
    reference=my_gradient,
    cases=lambda generator: [Case((q,), note=_("question {name}").format(name=q)) for q in "abcde"],
    choices={
        (("a", "e"), 1.0): "*tea* occurs twice, and the gradients of both tokens add up in its "
        "row.",
        (("a", "e"), 5.0): "All five tokens are in the sum, but only two of them are *tea*.",
        (("a", "e"), 0.0): "Two of the five tokens are *tea*, so their row is in the loss.",
        (("a", "e"), 0.4): "`sum` does not divide by anything.",
        ("b", 1.0): "*sugar* does not occur. If its row changes, X stays the same.",
        ("c", 2.0): "`mean(0)` divides by the number of tokens.",
        ("c", 1.0): "In a mean, each token counts for 1/L. How many tokens are *tea*?",
        ("c", 0.2): "That is what one token contributes. *tea* occurs twice.",
        ("c", 40.0): "Return a fraction: 40 percent is 0.4.",
        ("c", 0.5): "You divided by the 4 different words. `mean(0)` divides by the number of "
        "tokens.",
        ("d", 2.0): "The detached part sends no gradient back.",
        ("d", 1.0): "`X[1]` is the second token. Which word is it?",
    },
    hints=(
        "Change the row a little. How many times does that change enter the loss?",
        "In (c) each token counts for a fifth. In (d) only one token sends a gradient back: which?",
        "If the loss is a sum, the gradient counts the tokens of a word. (e) is (a), written as a "
        "product.",
    ),
    properties=(
        Property(
            "Count the tokens that use this row. Then ask how much each adds to the gradient: 1, a "
            "fraction, or nothing.",
            lambda answer, case: abs(float(answer) - my_gradient(*case.arguments)) < 1e-6,
        ),
    ),
    comes_back="In section 2.10 a word has two meanings, and both of them change its single row.",
    insight="As an input, a row gets a gradient only when its word is read. (In chapter 12 the "
    "same table also guesses, and then all rows get one.) And (e) is the same as (a), because a "
    "look-up is this product.",
)
