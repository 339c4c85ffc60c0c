"""A page loads the scripts of the interactive figures that it holds."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from press.extension import widgets


@pytest.mark.parametrize(
    ("body", "loaded"),
    [
        ("<p>none</p>", []),
        ('<mask-painter data="[]"></mask-painter>', ["widgets/mask-painter.js"]),
        ("<mask-painters></mask-painters> &lt;mask-painter>", []),
        (
            "<beam-tree></beam-tree><mask-painter>",
            ["widgets/beam-tree.js", "widgets/mask-painter.js"],
        ),
    ],
)
def test_a_page_loads_the_scripts_of_the_elements_on_it(
    body: str, loaded: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mask-painter.js", "beam-tree.js", "notes.txt"):
        (tmp_path / name).touch()
    monkeypatch.setattr(widgets, "SCRIPTS", tmp_path)
    app = Mock()
    widgets.load_scripts(app, "page", "page.html", {"body": body}, None)
    assert [call.args[0] for call in app.add_js_file.call_args_list] == loaded
