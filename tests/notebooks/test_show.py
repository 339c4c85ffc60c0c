"""show prints numbers and shapes, never a device; show_source shows the library's own text."""

import inspect
import os

import pytest
import torch

from attnbook import device, scaled_dot_product_attention, show, show_source


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((torch.tensor([1.0, -2.5]),), "shape (2,)\n  1.0000 -2.5000\n"),
        (
            (torch.tensor([[1.0, 0.25], [-0.5, 2.0]]), ["苹果", "甜"], ["a", "b"], 2),
            "shape (2, 2)\n         a     b\n苹果  1.00  0.25\n  甜 -0.50  2.00\n",
        ),
        (
            (torch.arange(4).view(2, 1, 2),),
            "shape (2, 1, 2)\n[0] shape (1, 2)\n 0 1\n[1] shape (1, 2)\n 2 3\n",
        ),
        ((torch.tensor([-1e-9]),), "shape (1,)\n 0.0000\n"),  # not minus zero
        ((torch.tensor(3),), "shape ()\n 3\n"),
        ((torch.tensor([True, False]),), "shape (2,)\n  True False\n"),
        ((torch.ones(2, requires_grad=True),), "shape (2,)\n 1.0000 1.0000\n"),
    ],
    ids=["vector", "matrix", "matrices", "tiny", "number", "booleans", "gradient"],
)
def test_a_tensor_is_shown_with_its_shape_and_without_its_device(arguments, text, capsys):
    show(*arguments)
    assert capsys.readouterr().out == text


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
    with pytest.raises(RuntimeError, match="PyTorch finds no CUDA device"):
        device()
    monkeypatch.delenv("ATTNBOOK_DEVICE")
    assert device() == torch.device("cpu")


def test_only_a_gpu_is_set_to_full_precision_and_deterministic_kernels(monkeypatch):
    kept = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    exact = torch.are_deterministic_algorithms_enabled()
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    try:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.use_deterministic_algorithms(False)
        monkeypatch.setenv("ATTNBOOK_DEVICE", "cpu")
        device()
        assert not torch.are_deterministic_algorithms_enabled()
        monkeypatch.delenv("ATTNBOOK_DEVICE")
        assert device() == torch.device("cuda")
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
        assert torch.are_deterministic_algorithms_enabled()
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = kept
        torch.use_deterministic_algorithms(exact)
