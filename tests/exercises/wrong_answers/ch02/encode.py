"""Wrong answers to 02.encode, each with words of what the reader is told."""

import torch


def a_sorted_list_and_index(words, corpus):
    vocabulary = sorted(corpus)
    unknown = len(vocabulary)
    return torch.tensor([vocabulary.index(w) if w in vocabulary else unknown for w in words])


def a_sorted_list_and_a_dictionary(words, corpus):
    vocabulary = sorted(corpus)
    number = {word: i for i, word in enumerate(vocabulary)}
    return torch.tensor([number.get(word, len(vocabulary)) for word in words])


def a_dictionary_of_repetitions(words, corpus):
    number = {word: i for i, word in enumerate(sorted(corpus))}
    return torch.tensor([number.get(word, len(number)) for word in words])


WRONG = {
    a_sorted_list_and_index: "the sorted corpus, which still has repetitions.",
    a_sorted_list_and_a_dictionary: "You numbered repeated words too, and unknown ones got the "
    "length of the corpus.",
    a_dictionary_of_repetitions: "You numbered repeated words too, so the ids have gaps.",
}
