"""What 13.find and its insight say of the two models is true."""

import torch

from attnbook import device, head_outputs
from attnbook.exercises.catalog import ALL
from attnbook.exercises.chapters.ch13.find import BLOCK, N_HEADS
from attnbook.exercises.chapters.ch13.shared import head_is

CASES = [
    [x.to(device()) for x in case.arguments] for case in ALL["13.find"].cases(torch.Generator())
]


def n_right(model, ids, known, layer=0, head=0, new=lambda outputs: outputs):
    def replace(outputs):
        return torch.where(head_is(head, outputs), new(outputs), outputs)

    with head_outputs(model.layers[layer], replace):
        said = model(ids[:, :-1])[0].argmax(-1)
    return ((said == ids[:, 1:]) & known).sum().item()


def by_mean(outputs):
    return outputs.mean(0, keepdim=True)


def without_each(case, new):
    return {(n, h): n_right(*case, n, h, new) for n in range(2) for h in range(N_HEADS)}


def test_the_models_are_right_where_a_letter_is_predictable():
    for case in CASES:
        assert n_right(*case) > 0.99 * case[2].sum()


def test_the_needed_head_is_clear_and_differs_in_layer_and_number():
    needed = [(0, 2), (1, 3)]
    for case, head in zip(CASES, needed, strict=True):
        left = without_each(case, by_mean)
        best, second = sorted(left.values())[:2]
        assert left[head] == best
        assert second - best > 0.08 * case[2].sum()


def test_the_first_model_does_not_need_the_clearest_previous_token_map():
    model, ids, _known = CASES[0]
    maps = model(ids[:, :-1])[1].diagonal(-1, -2, -1)
    for scores in (maps.mean((1, 3)), maps[..., : BLOCK - 1].mean((1, 3))):
        assert divmod(int(scores.argmax()), N_HEADS) == (0, 1)
    assert without_each(CASES[0], by_mean)[0, 1] == n_right(*CASES[0])
    w_v = model.layers[0].w_v.weight.unflatten(0, (N_HEADS, -1))
    w_o = model.layers[0].w_o.weight.unflatten(1, (N_HEADS, -1))
    assert torch.equal(w_v[1], w_v[3])
    assert torch.equal(w_o[:, 1], w_o[:, 3])


def test_nothing_reads_what_the_clearest_induction_head_of_the_second_model_writes():
    model, ids, known = CASES[1]
    maps = model(ids[:, :-1])[1]
    due = (ids[:, None, :BLOCK] == ids[:, 1:, None]).int().argmax(-1)
    index = due[None, :, None, :, None].expand(*maps.shape[:-1], 1)
    scores = maps.gather(-1, index)[..., 0].transpose(1, 2)[:, :, known].mean(-1)
    assert divmod(int(scores.argmax()), N_HEADS) == (1, 1)
    written = model.layers[1].w_o.weight.unflatten(1, (N_HEADS, -1))[:, 1]
    assert written.any()
    assert not (written.T @ model.unembed).any()


def test_zeros_blame_a_head_whose_output_is_the_same_for_all_sequences():
    for (model, ids, known), (layer, head) in zip(CASES, [(1, 1), (0, 1)], strict=True):
        with head_outputs(model.layers[layer]) as outputs:
            model(ids[:, :-1])
        torch.testing.assert_close(outputs[0][:, head], outputs[0][:1, head].expand(100, -1, -1))
        left = n_right(model, ids, known, layer, head, torch.zeros_like)
        assert left < 0.25 * known.sum()
