"""The command `examine`: its options, and the process in which a reader's code is examined."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, get_args, get_type_hints

from attnbook.examination.facts import CHOICES, KINDS, Facts, meanings
from attnbook.exercises.cards import as_text, console
from attnbook.exercises.catalog import UsageError
from attnbook.exercises.terminal import examine_process
from attnbook.exercises.terminal.examine_process import (
    CODE_FILE,
    NOT_EXAMINED,
    STACK_FILE,
    ended_card,
)
from attnbook.exercises.terminal.file_cards import crash_card, keep_lines
from attnbook.exercises.terminal.runner import NEW_GROUP, end
from attnbook.language import _

SECONDS = 120.0  # for importing the file, building what is examined, and examining it
GIGABYTES = 8.0
TARGET = re.compile(r"(.+\.py):(.+)", re.DOTALL)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is examined, its kind, and an option for each fact, named as in Python."""
    target = _("what to examine: a function, an object, or a call, as in 'layer.py:Layer(64, 4)'")
    parser.add_argument("target", metavar="FILE.py:NAME", help=target)
    kind = _("what it is, if it cannot be guessed")
    parser.add_argument("--kind", choices=KINDS, default=None, help=kind)
    types = get_type_hints(Facts)
    for name, meaning in meanings().items():
        parser.add_argument(
            "--" + name.replace("_", "-"),
            dest=name,
            default=argparse.SUPPRESS,
            help=_(meaning),
            **form_of(name, types[name]),
        )


def form_of(name: str, annotation: Any) -> dict[str, Any]:
    """Return what `add_argument` needs to know of the values of a fact."""
    types = (annotation, *get_args(annotation))
    if bool in types:
        return {"action": argparse.BooleanOptionalAction}
    if name in CHOICES:
        return {"choices": CHOICES[name]}
    if float in types:
        return {"type": number_or_word, "metavar": "X"}
    return {"type": int, "metavar": "N"} if int in types else {"metavar": "NAME"}


def number_or_word(text: str) -> float | str:
    """Read a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def examine_target(target: str, kind: str | None, **facts: Any) -> int:
    """Look for faults in attention code of your own."""
    match = TARGET.fullmatch(target)
    if not match:
        raise UsageError(_("name a file and what to examine in it, as in 'layer.py:Layer(64, 4)'"))
    path = Path(match[1]).resolve()
    source = path.read_bytes()
    keep_lines(path, source)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        request = {
            "path": str(path),
            "expression": match[2].strip(),
            "kind": kind,
            "facts": facts,
            "seconds": SECONDS,
            "n_bytes": round(GIGABYTES * 2**30),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", examine_process.__name__, folder, json.dumps(request)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the process would print a traceback
            creationflags=NEW_GROUP,
        )
        try:
            code = process.wait()
        finally:
            end(process)
        if Path(folder, CODE_FILE).exists():
            return int(Path(folder, CODE_FILE).read_text())
        stack = Path(folder, STACK_FILE).read_text("utf-8", "replace")
        card = crash_card(path, stack, code) if stack else ended_card(path, code)
        console.print_text(as_text.card(card))
        return NOT_EXAMINED
