"""Read a model's config.json: what it says about attention, and how large the cache becomes."""

import collections
import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnbook.language import _
from attnbook.models.config_cache import cache_bytes
from attnbook.models.config_fields import leaf, parts, unknown_fields

WORDS = 2**17  # of a long text: 128k
WIDTH = 84  # columns of the printed table


@dataclass(frozen=True)
class Row:
    """One thing that a configuration says: its name, the section about it, and the fields."""

    about: str
    section: str
    text: str


@dataclass(frozen=True)
class ModelConfig:
    """What a config.json says. Printed, it is a table of `rows`.

    rows       what the book explains, then the size of the cache, then all other fields
    unknown    the names of the fields that the book does not explain
    fields     every field that has a value. Those of `text_config` come without this name, and
               those of rotary settings as `rope_parameters.rope_theta`.
    """

    rows: tuple[Row, ...]
    unknown: tuple[str, ...]
    fields: Mapping[str, Any]

    def cache_bytes(self, n_words: int) -> int | None:
        """The bytes of the KV cache of one text with 2-byte numbers, or None if not determined."""
        return cache_bytes(self.fields, n_words)

    def __str__(self) -> str:
        wide = max(len(row.about) for row in self.rows)
        lines = []
        for row in self.rows:
            first, *others = textwrap.wrap(row.text, WIDTH - wide - 9) or [""]
            lines.append(f"{row.about:{wide}}  {row.section:>5}  {first}")
            lines += [f"{'':{wide + 9}}{text}" for text in others]
        return "\n".join(lines)

    __repr__ = __str__


def read_config(config: str | Path | Mapping[str, Any]) -> ModelConfig:
    """Read the configuration of a language model, as it is published with the weights.

    config: the path of a config.json, or its contents as a dict
    Raises: TypeError if it is neither; ValueError if the file does not contain a JSON object
    """
    if isinstance(config, str | Path):
        config = loaded(Path(config))
    if not isinstance(config, Mapping):
        raise TypeError(f"config must be a path or a dict, got {type(config).__name__}")
    fields = flat(config)
    rows, known = [], set[str]()
    for about, section, names in parts():
        found = [name for name in fields if leaf(name) in names.split()]
        known |= {*found}
        if found:
            rows.append(Row(about, section, ", ".join(f"{n} {shown(fields[n])}" for n in found)))
    rest = [name for name in fields if name not in known]
    unknown = unknown_fields(fields)
    rows += [*cache_rows(fields)]
    rows += [Row(_("unknown"), "–", f"{name} {shown(fields[name])}") for name in unknown]
    if outside := [name for name in rest if name not in unknown]:
        rows.append(Row(_("not about attention"), "–", ", ".join(outside)))
    return ModelConfig(tuple(rows), unknown, fields)


def loaded(path: Path) -> Any:
    """The contents of a JSON file that is one object."""
    try:
        config = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path} contains a {type(config).__name__}: a config.json is one object")
    return config


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """All fields that have a value; those of nested rotary settings get names joined by dots."""
    fields: dict[str, Any] = {}
    for name, value in config.items():
        if name == "text_config" and isinstance(value, Mapping):  # of a model that also sees
            fields |= flat(value)
        elif isinstance(value, Mapping) and (prefix or name.startswith("rope_")):
            fields |= flat(value, f"{prefix}{name}.")
        elif value is not None:
            fields[prefix + name] = value
    return fields


def shown(value: Any) -> str:
    """A value in one line; a list by how often each entry occurs."""
    if isinstance(value, list):
        counts = collections.Counter(map(shown, value))
        return " + ".join(f"{count} × {one}" for one, count in counts.items()) or "[]"
    return json.dumps(value, separators=(",", ":"))


def cache_rows(fields: Mapping[str, Any]) -> list[Row]:
    """The size of the cache for one word and for a long text."""
    names = _("cache of 1 word, in bytes"), _("cache of 131,072 words, in bytes")
    sizes = (cache_bytes(fields, n_words) for n_words in (1, WORDS))
    texts = (_("these fields do not say") if size is None else f"{size:,}" for size in sizes)
    return [Row(name, "11.3", text) for name, text in zip(names, texts, strict=True)]
