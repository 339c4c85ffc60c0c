"""The words around the text of a page, in the language of the edition.

Templates translate them with `say("...")`. Scripts use `_("...")`, a function of Sphinx, which
reads translations.js. The page's policy blocks that file as Sphinx writes it, because the file
creates a function from a string. What the catalogs of Sphinx and of the theme lack is in ours.
"""

import json
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.locale import translators

from attnbook.language import _, catalog
from manuscript.edition import LANGUAGE
from manuscript.messages import script_messages

LACKING = (
    _("Link to this heading"),
    _("Link to this image"),
    _("Color mode"),
    _("System Settings"),
)


def offer(app: Sphinx) -> None:
    """Give `say` to the templates, and our catalog to Sphinx and the theme."""
    translators["general", "sphinx"].add_fallback(catalog())
    if app.builder.format == "html":
        app.builder.templates.environment.globals["say"] = _


def write_translations(app: Sphinx, exception: Exception | None) -> None:
    """Rewrite translations.js in a form that the policy allows, and add our scripts' words."""
    path = Path(app.outdir, "_static", "translations.js")
    text = path.read_text("utf8") if path.exists() else ""
    if exception or not text.startswith("Documentation.addTranslations("):
        return
    catalog = json.loads(text.partition("(")[2].rpartition(")")[0])
    words = catalog["messages"] | {message: _(message) for message in script_messages()}
    path.write_text(
        f"Object.assign(Documentation.TRANSLATIONS, {json.dumps(words, ensure_ascii=False)});\n"
        f"Documentation.PLURAL_EXPR = (n) => {catalog['plural_expr']};\n"
        f"Documentation.LOCALE = {json.dumps(LANGUAGE)};\n",
        "utf8",
    )


def setup(app: Sphinx) -> None:
    """Offer `say` before pages are written; rewrite the script after Sphinx has written it."""
    app.connect("builder-inited", offer)
    app.connect("build-finished", write_translations)
