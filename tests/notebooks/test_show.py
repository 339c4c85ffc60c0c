"""show prints numbers and shapes, never a device; show_source shows the library's own text."""

import inspect
import os
from contextlib import contextmanager

import pytest
import torch

from attnbook import device, scaled_dot_product_attention, show, show_source


def shown(capsys, *arguments, **options) -> str:
    show(*arguments, **options)
    return capsys.readouterr().out


def test_a_vector_stands_on_one_line(capsys):
    assert shown(capsys, torch.tensor([1.0, -2.5])) == "shape (2,)\n  1.0000 -2.5000\n"


def test_a_matrix_has_a_line_per_row_with_labels(capsys):
    text = shown(capsys, torch.tensor([[1.0, 0.25], [-0.5, 2.0]]), ["苹果", "甜"], ["a", "b"], 2)
    assert text == "shape (2, 2)\n         a     b\n苹果  1.00  0.25\n  甜 -0.50  2.00\n"


def test_more_dimensions_are_shown_matrix_by_matrix(capsys):
    text = shown(capsys, torch.arange(4).view(2, 1, 2))
    assert text.splitlines() == [
        "shape (2, 1, 2)",
        "[0] shape (1, 2)",
        " 0 1",
        "[1] shape (1, 2)",
        " 2 3",
    ]


def test_a_tiny_negative_number_is_not_minus_zero(capsys):
    assert "-" not in shown(capsys, torch.tensor([-1e-9]))


def test_booleans_whole_numbers_and_single_numbers(capsys):
    assert "True False" in shown(capsys, torch.tensor([True, False])).replace("  ", " ")
    assert shown(capsys, torch.tensor(3)) == "shape ()\n 3\n"


def test_neither_gradient_nor_device_is_printed(capsys):
    text = shown(capsys, torch.ones(2, requires_grad=True))
    assert "grad" not in text
    assert "device" not in text


def test_wrong_labels_are_named():
    with pytest.raises(
        ValueError, match=r"rows has 1 labels but the tensor of shape \(2, 3\) has 2"
    ):
        show(torch.ones(2, 3), rows=["a"])
    with pytest.raises(ValueError, match="columns has 2 labels but"):
        show(torch.ones(2, 3), columns=["a", "b"])
    with pytest.raises(TypeError, match=r"tensor must be a torch.Tensor, got list"):
        show([1.0])


def test_show_source_is_the_source():
    source = show_source(scaled_dot_product_attention)
    assert repr(source) == inspect.getsource(scaled_dot_product_attention).rstrip()
    assert source._repr_markdown_() == f"```python\n{source!r}\n```"


def test_show_source_takes_methods_without_their_indent():
    assert repr(show_source(torch.nn.Linear.forward)).startswith("def forward")


def test_device_obeys_the_environment(monkeypatch):
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cpu")
    assert device() == torch.device("cpu")
    monkeypatch.setenv("ATTNBOOK_DEVICE", "tpu")
    with pytest.raises(ValueError, match="ATTNBOOK_DEVICE='tpu': it must be 'cpu' or 'cuda'"):
        device()
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="PyTorch sees no CUDA device"):
        device()
    monkeypatch.delenv("ATTNBOOK_DEVICE")
    assert device() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with settings_of_torch_restored():
        assert device() == torch.device("cuda")


@contextmanager
def settings_of_torch_restored():
    """Whatever a test changes in them."""
    kept = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    exact = torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = kept
        torch.use_deterministic_algorithms(exact)


def test_a_gpu_is_told_to_compute_whole_products_in_a_fixed_order(monkeypatch):
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cuda")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with settings_of_torch_restored():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.use_deterministic_algorithms(False)
        device()
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
        assert torch.are_deterministic_algorithms_enabled()
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_a_cpu_is_left_as_it_is(monkeypatch):
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cpu")
    with settings_of_torch_restored():
        torch.use_deterministic_algorithms(False)
        device()
        assert not torch.are_deterministic_algorithms_enabled()
