"""Choose the control that tests a claim."""

from attnbook.exercises.exercise import Case, Exercise


def which_control(claim: str) -> str:
    return {"task": "B", "pairs": "C", "word": "A", "luck": "B", "new": "C", "needed": "A"}[claim]


EXERCISE = Exercise(
    title="Which control decides?",
    level=3,
    minutes=10,
    section="5.7",
    prompt="""
The attention map of a trained translator has its large weights on the right Chinese words. Here are
six claims about it, or about the painter, with three experiments for each. `which_control(claim)`
gets the name of a claim and returns `"A"`, `"B"` or `"C"`: the one experiment that can refute the
claim if it is wrong.

`"task"`: *training made the map; it was not there before.*
- A: train the model twice as long and read the map again
- B: read the map of the same model before its first step
- C: read the map on a hundred more sentences

`"pairs"`: *the map comes from the pairing of the sentences, not from the sentences themselves.*
- A: train with the Chinese words of each sentence in a different order
- B: train with only half of the pairs
- C: train with the Chinese sentences assigned to the translations at random

`"word"`: *the model finds 苹果 (apple) by the word, not by its position.*
- A: read the map on sentences in which 苹果 comes first, in the middle, or last
- B: read the map on sentences with another food at the position of 苹果
- C: read the map on a hundred sentences with the same word order

`"luck"`: *every initialization leads to such a map.*
- A: test with many more sentences
- B: train from other random seeds, and read all of their maps
- C: train from other random seeds, and read the best of their maps

`"new"`: *the model can align pairs of words that it has never seen together.*
- A: test on the training sentences, in another order
- B: test on new sentences, drawn at random like the training sentences
- C: test on pairs of a taste and a food that never occurred together in training

`"needed"`: *the painter needs attention: attention is why its picture is right.*
- A: give every patch the same mixture of the prompt, and compare the pictures
- B: compare the map and the picture, and see whether they agree
- C: paint another scene with the same prompt
""",
    stub="""
def which_control(claim):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"task": "", "pairs": "", "word": ""}
    then = {"luck": "", "new": "", "needed": ""}
    return (first | then)[claim]
""",
    reference=which_control,
    cases=lambda generator: [
        Case((c,), note=f'which_control("{c}")')
        for c in ("task", "pairs", "word", "luck", "new", "needed")
    ],
    choices={
        ("task", "A"): "That tells you how the map changes later, not whether it was there before "
        "training.",
        ("task", "C"): "That tells you more about the map as it is now. The claim is about its "
        "cause.",
        ("pairs", "A"): "Each sentence still belongs to its translation, so the cause in the claim "
        "is unchanged.",
        ("pairs", "B"): "The remaining sentences are still paired correctly. If the map gets "
        "worse, you cannot tell why.",
        (
            "word",
            "B",
        ): "The position stays and the word changes. Whatever you see, there was no 苹果 to find.",
        ("word", "C"): "With only one word order, you cannot tell the word and its position apart.",
        ("luck", "A"): "More sentences test the same trained model. The initialization may have "
        "been lucky.",
        ("luck", "C"): "The best of many shows that *some* initialization leads to such a map. The "
        "claim is about all of them.",
        ("new", "A"): "The words of these sentences did occur together in training.",
        ("new", "B"): "A new sentence may contain only old pairs. The pairs have to be new.",
        ("needed", "B"): "Agreement between the map and the picture does not show a cause. Take "
        "attention away.",
        ("needed", "C"): "Attention may work for another scene, too. What would the picture look "
        "like without attention?",
    },
    hints=(
        "What cause does the claim name? The experiment has to change only this cause.",
        "Imagine that the claim is wrong. Which of the three results would then differ?",
        "One of the right experiments takes away the training, and one takes away attention. The "
        "others shuffle pairs, move a word, hold pairs out, or use other seeds.",
    ),
    comes_back="Chapter 7 asks the same question about models that read longer texts than they "
    "were trained on.",
    insight="An untrained model, shuffled pairs, several seeds and held-out pairs are all "
    "controls. Each addresses a different doubt about a map.",
)
