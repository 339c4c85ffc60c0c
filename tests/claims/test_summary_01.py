"""The summary of chapter 1, tried with other vectors and widths."""

import torch
from torch import Tensor, nn
from torch.autograd.functional import jacobian
from torch.testing import assert_close

from attnbook import scaled_dot_product_attention, softmax
from tests.support.claims import claim


@claim(
    "the softmax turns the scores into **weights**, and the answer is the weighted mixture of all"
    " **values**",
    "Every value contributes, always.",
    seed=(11, 12),
    width=(3, 40),
)
def test_the_answer_moves_with_each_value_in_proportion_to_its_weight(seed, width):
    torch.manual_seed(seed)
    query, keys = torch.randn(1, width).double(), torch.randn(9, width).double()
    values = torch.randn(9, 5).double()
    answer, weights = scaled_dot_product_attention(query, keys, values)
    assert (weights > 0).all()
    for i in range(9):
        changed = values.clone()
        changed[i] += 1
        moved = scaled_dot_product_attention(query, keys, changed)[0] - answer
        assert_close(moved, weights[:, [i]].expand(1, 5))


@claim(
    "Multiply the scores by a large number and soft look-up becomes hard; multiply them by 0 and it"
    " becomes the plain average.",
    seed=(11, 12),
    books=(4, 300),
)
def test_a_large_factor_makes_the_look_up_hard_and_0_makes_it_even(seed, books):
    torch.manual_seed(seed)
    scores, values = torch.randn(books).double(), torch.randn(books, 5).double()
    assert_close(softmax(1e6 * scores) @ values, values[scores.argmax()])
    assert_close(softmax(0 * scores) @ values, values.mean(0))


@claim("A hard choice has no slope to learn from.", seed=(11, 12), books=(4, 300))
def test_small_changes_of_scores_move_a_soft_answer_and_no_hard_one(seed, books):
    torch.manual_seed(seed)
    scores, values = torch.randn(books).double(), torch.randn(books, 5).double()
    best, next_best = scores.topk(2).values
    for i in range(books):
        nudged = scores.clone()
        nudged[i] += 0.4 * (best - next_best)
        assert nudged.argmax() == scores.argmax()
        assert not torch.equal(softmax(nudged) @ values, softmax(scores) @ values)


@claim(
    "The score is a dot product: the two lengths times the cosine of the angle.",
    "A long key gets higher scores from the queries it suits and lower ones from the others;",
    "a long query makes the choice sharper.",
    seed=(11, 12),
    width=(3, 40),
)
def test_what_the_length_of_a_key_and_of_a_query_does(seed, width):
    torch.manual_seed(seed)
    queries, keys = torch.randn(50, width).double(), torch.randn(9, width).double()
    scores = queries @ keys.T
    lengths = queries.norm(dim=-1)[:, None] * keys.norm(dim=-1)
    assert_close(scores, lengths * torch.cosine_similarity(queries[:, None], keys, dim=-1))
    longer = queries @ (2 * keys[0])
    suits = scores[:, 0] > 0
    assert (longer > scores[:, 0]).equal(suits)
    assert suits.any()
    assert not suits.all()
    sharp, soft = softmax(2 * queries @ keys.T), softmax(scores)
    assert (sharp.amax(-1) > soft.amax(-1)).all()


@claim(
    r"For many queries at once, attention is $\text{softmax}\left(\textcolor{query}{Q}\,"
    r"\textcolor{key}{K}^\top / \sqrt{d_k}\right)\textcolor{value}{V}$, with one row of the result"
    " per query.",
    seed=(11, 12),
    width=(3, 40),
)
def test_the_equation_has_a_row_for_each_query(seed, width):
    torch.manual_seed(seed)
    query, key, value = (torch.randn(n, width).double() for n in (7, 9, 9))
    found, _ = scaled_dot_product_attention(query, key, value)
    assert_close(found, (query @ key.T / width**0.5).softmax(-1) @ value)
    for row, one in zip(found, query, strict=True):
        assert_close(scaled_dot_product_attention(one[None], key, value)[0][0], row)


@claim(
    "In self-attention, any two words are one step apart, and all outputs are computed at once.",
    "An RNN needs L steps for both,",
    "The price of self-attention is L² scores.",
    seed=(11, 12),
    words=(5, 30),
)
def test_an_rnn_passes_on_a_word_through_each_state_and_attention_directly(seed, words):
    torch.manual_seed(seed)
    x = torch.randn(words, 8).double().requires_grad_()
    output, weights = scaled_dot_product_attention(x, x, x)  # one step
    for row in output:
        assert torch.autograd.grad(row.sum(), x, retain_graph=True)[0].ne(0).any(-1).all()
    assert weights.numel() == words**2

    cell = nn.RNNCell(8, 8).double()

    def reached(cut: int | None) -> bool:
        """Whether the last state depends on the first word if the state is cut after a step."""
        state, steps = torch.zeros(8).double(), 0
        for i, row in enumerate(x):
            state = cell(row, state.detach() if i == cut else state)
            steps += 1
        assert steps == words
        return bool(torch.autograd.grad(state.sum(), x)[0][0].any())

    assert reached(None)
    assert not any(reached(cut) for cut in range(1, words))


@claim(
    "if the query comes last, it has to choose what to keep before it knows what will be asked.",
    seed=(11, 12),
    state=(4, 10),
)
def test_a_state_follows_the_query_only_if_the_query_comes_first(seed, state):
    """If it comes last, all answers are read from one state, which follows as few numbers."""
    torch.manual_seed(seed)
    contents, queries = torch.randn(20).double(), torch.eye(20).double()
    cell, read = nn.GRUCell(21, state).double(), nn.Linear(state, 1).double()

    def answers(contents: Tensor, first: bool) -> Tensor:
        """The answers to 20 queries, each in its own run of the RNN: (20,)."""
        steps = [torch.cat([each.expand(20, 1), 0 * queries], 1) for each in contents]
        steps.insert(0 if first else 20, torch.cat([torch.zeros(20, 1), queries], 1))
        states = torch.zeros(20, state).double()
        for step in steps:
            states = cell(step, states)
        return read(states)[:, 0]

    slopes = (jacobian(lambda x: answers(x, first), contents) for first in (True, False))  # noqa: B023
    kept = [int(torch.linalg.matrix_rank(each, rtol=1e-10)) for each in slopes]
    assert kept[0] > state == kept[1]
