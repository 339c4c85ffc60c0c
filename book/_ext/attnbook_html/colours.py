"""The colours of the roles as CSS variables, for style sheets, figures and formulas alike.

`attnbook.colours` is the one place that holds them. They stand in a <style> of every page, which
the template book/_templates/layout.html writes from `role_styles`.
"""

from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from attnbook.colours import ROLES


def role_styles() -> str:
    """CSS: --role-NAME for text in the theme at hand, --role-NAME-fill for areas, .role-NAME."""
    light = "".join(f"--role-{n}:{r.light};--role-{n}-fill:{r.fill};" for n, r in ROLES.items())
    dark = "".join(f"--role-{n}:{r.dark};" for n, r in ROLES.items())
    classes = "".join(f".role-{n}{{color:var(--role-{n})}}" for n in ROLES)
    return f':root{{{light}}}html[data-theme="dark"]{{{dark}}}{classes}'


def _set(app: Sphinx, config: Config) -> None:
    config.role_styles = role_styles()


def _to_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["role_styles"] = app.config.role_styles


def setup(app: Sphinx) -> None:
    """Give every page its `role_styles`; as a config value, a changed colour rewrites all pages."""
    app.add_config_value("role_styles", "", "html")
    app.connect("config-inited", _set)
    app.connect("html-page-context", _to_page)
