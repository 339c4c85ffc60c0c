"""The settings of JupyterLab for `make lab`, and the chapter that it opens.

By default, JupyterLab asks whether it may fetch news, shows the source of a linked page instead of
its text, and leaves formulas too dark and pictures too bright for a dark theme. The settings that
change this are in my/ and apply to this server only, as does kernel_startup.py, which the server's
kernels run when they start. The reader's own settings take precedence.
"""

import json
from pathlib import Path
from urllib.parse import quote

from attnbook.colors import ROLES
from attnbook.exercises import log
from manuscript.cells import exercises_of
from manuscript.chapters import number_of, pages
from manuscript.edition import LANGUAGE
from tools.lab.copies import newer

SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    "@jupyterlab/translation-extension:plugin": {"locale": LANGUAGE},
}
FOLDER, STARTUP = ".lab", "startup.py"
ON_DARK = '[data-jp-theme-light="false"]'


def arguments(mine: Path) -> list[str]:
    """Write JupyterLab's settings; return its arguments, which include what to open."""
    folder = mine / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / "overrides.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    (folder / "custom.css").write_text(style(), encoding="utf-8")
    code = str(Path(__file__).with_name("kernel_startup.py"))
    startup = f'__import__("runpy").run_path({code!r})["install"]()\n'
    (folder / STARTUP).write_text(startup, encoding="utf-8")
    return [
        str(mine),
        # In a container, only this makes JupyterLab open the chapter.
        f"--LabApp.default_url=/lab/tree/{quote(to_do(mine))}",
        f"--LabApp.app_settings_dir={folder}",
        f"--ServerApp.tornado_settings={{'static_custom_path': [{str(folder)!r}]}}",
        "--LabApp.custom_css=True",
        # This reduces what the server prints to its address, warnings and errors.
        "--Application.log_level=WARN",
    ]


def to_do(mine: Path) -> str:
    """The newest copy of the first chapter with an unsolved exercise, or of the last chapter."""
    events, _ = log.read()
    found = [path for path in pages() if number_of(path)]
    todo = [path for path in found if any(not events[e.id]["pass"] for e in exercises_of(path))]
    first = mine / [*todo, found[-1]][0].name
    new = newer(first)
    return new.name if new.exists() else first.name


def style() -> str:
    """CSS for a dark theme: pictures as on dark pages, and each role's `dark` color in formulas."""
    pictures = f"{ON_DARK} :is(.jp-RenderedSVG, .jp-RenderedImage) img"
    rules = f"{pictures} {{ filter: invert(0.933) hue-rotate(180deg) saturate(1.15); }}\n"
    for role in ROLES.values():
        red, green, blue = bytes.fromhex(role.light[1:])
        formula = f'{ON_DARK} mjx-container [style*="rgb({red}, {green}, {blue})"]'
        rules += f"{formula} {{ color: {role.dark} !important; }}\n"
    return rules
