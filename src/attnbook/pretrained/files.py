"""The files of a checkpoint: its configuration, and its weights, which are never a pickle."""

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from attnbook.checks.tensors import shape

Folder = Traversable | str  # a path, or a folder in a zip file: zipfile.Path
Config = dict[str, Any]


def read_file(folder: Folder, name: str, sha256: str | None = None) -> bytes:
    """The content of a file, which must have this hash if one is given.

    Raises:  FileNotFoundError if there is no such file; ValueError if its hash is another
    """
    folder = Path(folder) if isinstance(folder, str) else folder
    file = folder.joinpath(name)
    if not file.is_file():
        raise FileNotFoundError(f"{folder} has no file {name}")
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if sha256 not in (None, found):
        raise ValueError(f"{file} has the SHA-256 hash {found}: {sha256} is expected")
    return content


def checked_config(
    folder: Folder, model_type: str, supported: Mapping[str, tuple[Any, ...]]
) -> Config:
    """The configuration in config.json, of a model of this type.

    `supported` lists the values that an entry may have, the first of them if it is missing.

    Raises:  FileNotFoundError if there is no such file; ValueError if the type of the model is
             another, or an entry has a value that is not supported
    """
    try:
        config = json.loads(read_file(folder, "config.json"))
        found = config.get("model_type")
    except (ValueError, AttributeError):
        raise ValueError(f"{folder}: config.json is not the configuration of a model") from None
    if found != model_type:
        raise ValueError(f"model_type is {found!r} in config.json: {model_type!r} is expected")
    for name, values in supported.items():
        if config.setdefault(name, values[0]) not in values:
            listed = " or ".join(map(repr, values))
            raise ValueError(f"{name} is {config[name]!r} in config.json: only {listed} will do")
    return config


def read_size(config: Config, name: str) -> int:
    """A size in the configuration.

    Raises:  ValueError if it is missing
    """
    if name not in config:
        raise ValueError(f"config.json has no {name}")
    size: int = config[name]
    return size


def read_weights(folder: Folder, sha256: str | None, prefix: str) -> dict[str, Tensor]:
    """The tensors in model.safetensors by name, without the prefix that some files give them.

    The hash is that of the same bytes from which the tensors are made.

    Raises:  FileNotFoundError if there is no such file; ValueError if its hash is another, or it is
             damaged
    """
    content = read_file(folder, "model.safetensors", sha256)
    try:
        tensors = load(content)
    except SafetensorError as error:
        raise ValueError(f"{folder}: model.safetensors is damaged ({error})") from None
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}


def fill(
    model: nn.Module,
    tensors: Mapping[str, Tensor],
    their_name: Callable[[str], str],
    convert: Callable[[str, Tensor], Tensor] = lambda name, tensor: tensor,
) -> None:
    """Copy tensors into all parameters of a model; others in the file are not needed.

    `their_name` gives the name in the file for one of our names. `convert` receives our name and
    the tensor, and returns it in our form.

    Raises:  ValueError if tensors are missing, or one has another shape than ours
    """
    own = model.state_dict()
    missing = dict.fromkeys(name for name in map(their_name, own) if name not in tensors)
    if missing:
        raise ValueError(f"model.safetensors lacks these tensors: {', '.join(missing)}")
    for name, parameter in own.items():
        tensor = convert(name, tensors[their_name(name)])
        if tensor.shape != parameter.shape:
            raise ValueError(
                f"{their_name(name)} has shape {shape(tensor)}: config.json requires "
                f"{shape(parameter)}"
            )
        parameter.copy_(tensor)
