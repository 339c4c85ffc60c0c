"""The book's data: the embedded sentence equals that of S1 to the last printed digit."""

import torch

from attnbook.corpus.sentence import LIFE_IS_SHORT, life_is_short, tokens, vocabulary

# The numbers that S1 prints for its embedded sentence, copied from its text.
S1_EMBEDDED = """
 0.3374 -0.1778 -0.3035 -0.5880  0.3486  0.6603 -0.2196 -0.3792
 0.7671 -1.1925  0.6984 -1.4097  0.1794  1.8951  0.4954  0.2692
 0.5146  0.9938 -0.2587 -1.0826 -0.0444  1.6236 -2.3229  1.0878
 0.6716  0.6933 -0.9487 -0.0765 -0.1526  0.1167  0.4403 -1.4465
 0.2553 -0.5496  1.0042  0.8272 -0.3948  0.4892 -0.2168 -1.7472
-1.6025 -1.0764  0.9031 -0.7218 -0.5951 -0.7112  0.6230 -1.3729
-1.3250  0.1784 -2.1338  1.0524 -0.3885 -0.9343 -0.4991 -1.0867
 0.8805  1.5542  0.6266 -0.1755  0.0983 -0.0935  0.2662 -0.5850
-0.0770 -1.0205 -0.1690  0.9178  1.5810  1.3010  1.2753 -0.2010
 0.4965 -1.5723  0.9666 -1.1481 -1.1589  0.3255 -0.6315 -2.8400
 0.8768  1.6221 -1.4779  1.1331 -1.2203  1.3139  1.0533  0.1388
 2.2473 -0.8036 -0.2808  0.7697 -0.6596 -0.7979  0.1838  0.2293
"""


def test_the_dictionary_and_the_ids_are_those_of_s1() -> None:
    words = tokens(LIFE_IS_SHORT)
    ids = vocabulary(words)
    assert list(ids.items()) == [
        ("Life", 0),
        ("dessert", 1),
        ("eat", 2),
        ("first", 3),
        ("is", 4),
        ("short", 5),
    ]
    assert [ids[word] for word in words] == [0, 4, 5, 2, 1, 3]


def test_all_96_numbers_are_those_that_s1_prints() -> None:
    printed = S1_EMBEDDED.split()
    words, embedded = life_is_short()
    assert words == ["Life", "is", "short", "eat", "dessert", "first"]
    assert embedded.shape == (6, 16)
    assert len(printed) == 96
    assert [f"{x:.4f}" for x in embedded.flatten().tolist()] == printed


def test_the_state_of_the_global_generator_is_unchanged() -> None:
    torch.rand(1)  # so that the generator has left its initial state
    before = torch.random.get_rng_state()
    life_is_short()
    assert torch.equal(before, torch.random.get_rng_state())


def test_each_call_returns_new_rows() -> None:
    life_is_short()[1].zero_()
    assert life_is_short()[1].abs().min() > 0


def test_a_repeated_word_gets_one_number() -> None:
    assert vocabulary(["甜", "很", "甜"]) == {"很": 0, "甜": 1}
    assert vocabulary([]) == {}
