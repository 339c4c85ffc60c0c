"""The models that run in a page (press/live). Each is loaded when its figure is first used.

A model's file in `_static` holds the arithmetic, the model, what the figure does with the model,
and the weights. An element names this file in its attribute `src`, with a digest, so that a browser
loads the file again after a change.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LIVE = Path(__file__).parents[1] / "live"
MODELS = {  # element: name, class, scripts
    "attn-translate": ("translator", "Translator", ("engine", "translator", "workbench")),
    "attn-sampling": ("writer", "Writer", ("engine", "writer")),
}


def joined(element: str) -> str:
    """The file of an element's model: its scripts, and the model made from its weights."""
    name, made, scripts = MODELS[element]
    texts = [(LIVE / f"{script}.js").read_text("utf-8") for script in scripts]
    weights = (LIVE / f"{name}.json").read_text("utf-8").rstrip()
    made_here = f"globalThis.attnbook.{name} = new globalThis.attnbook.{made}({weights});\n"
    return "\n".join([*texts, made_here])


def add_addresses(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Tell each element where its model is."""
    for element, (name, *_) in MODELS.items():
        if f"<{element} " in (body := context.get("body", "")):
            digest = hashlib.sha256(joined(element).encode()).hexdigest()[:8]
            address = f"{context['pathto'](f'_static/live-{name}.js', 1)}?v={digest}"
            found = rf'(<{element} data="[^"]*")'
            context["body"] = re.sub(found, rf'\1 src="{address}"', body)


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the files of all models."""
    if not exception:
        for element, (name, *_) in MODELS.items():
            path = Path(app.outdir, "_static", f"live-{name}.js")
            path.write_text(joined(element), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Change each page before it is written, and write the files after the pages."""
    app.connect("html-page-context", add_addresses)
    app.connect("build-finished", write)
