"""The process of the command `examine`: build what a reader's file defines, and examine it.

The file is imported under its own name, so that what it does as a program is not done.
"""

import ast
import builtins
import difflib
import faulthandler
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnbook.examination.examine import examine
from attnbook.examination.report import WRONG, Report
from attnbook.exercises.cards import as_text, console
from attnbook.exercises.cards.feedback import Feedback
from attnbook.exercises.checker.guard import is_out_of_memory
from attnbook.exercises.checker.limits import memory_budget, memory_limit
from attnbook.exercises.terminal.file_cards import stopped_card
from attnbook.exercises.terminal.runner import Output, end_with_parent
from attnbook.language import _

STACK_FILE, CODE_FILE = "stack", "code"  # the stack when the time is over; the exit status
SILENT, FAULTY, NOT_EXAMINED = 0, 1, 2  # exit statuses
MANY = 12  # names in a sentence


def main(folder: str, request: str) -> int:
    """Examine what was asked for, print the report, and write the exit status to a file."""
    end_with_parent()
    if sys.stdout:
        sys.stdout = Output(sys.stdout.buffer, sys.stdout.encoding, line_buffering=True)
    asked = json.loads(request)
    with open(Path(folder, STACK_FILE), "w") as stack:
        faulthandler.dump_traceback_later(asked["seconds"], exit=True, file=stack)
        with memory_limit(None if torch.cuda.is_available() else memory_budget(asked["n_bytes"])):
            code, output = examined(
                Path(asked["path"]), asked["expression"], asked["kind"], asked["facts"]
            )
        faulthandler.cancel_dump_traceback_later()
    console.print_text(output)
    Path(folder, CODE_FILE).write_text(str(code))
    return code


def examined(
    path: Path, expression: str, kind: str | None, facts: dict[str, Any]
) -> tuple[int, RenderableType]:
    """Import a file, build what the expression names, and examine it.

    Returns: the exit status, and the report or a card that says why there is none
    """
    module = module_of(path)
    try:
        module.__loader__.exec_module(module)  # type: ignore[union-attr]
        problem = problem_of(expression, module, path)
        if problem:
            return NOT_EXAMINED, as_text.card(Feedback("failed", problem))
        report = examine(build(expression, module), kind, **facts)
    except SystemExit as error:
        return NOT_EXAMINED, as_text.card(ended_card(path, error.code))
    except BaseException as error:  # the file may raise anything
        if is_out_of_memory(error):
            head = _("{file} needs more memory than it may use").format(file=path.name)
            return NOT_EXAMINED, as_text.card(Feedback("failed", head))
        return NOT_EXAMINED, as_text.card(stopped_card(path, error, module))
    if report.is_faulty:
        return FAULTY, report_as_text(report)
    return NOT_EXAMINED if report.refusal else SILENT, report_as_text(report)


def ended_card(path: Path, code: Any) -> Feedback:
    """Return the card for a file that ended Python while it was imported or examined."""
    head = _("{file} ended Python (exit code {code})").format(file=path.name, code=code)
    message = _(
        "Something in the file ends or crashes Python, so nothing was examined. If it is a "
        'program, too, write that part under `if __name__ == "__main__":`, which does not run here.'
    )
    return Feedback("failed", head, message)


def module_of(path: Path) -> ModuleType:
    """Return the module of a file, not yet executed, in the package that the file is in."""
    sys.dont_write_bytecode = True
    sys.argv = [str(path)]
    names, folder = [path.stem], path.parent
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    sys.path[0] = str(folder)
    name = ".".join(names)
    if name in sys.modules:  # a file may be called like a module that is in use here
        name = f"{name}_"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    torch.manual_seed(0)
    return module


def problem_of(expression: str, module: ModuleType, path: Path) -> str:
    """Say why an expression names nothing in a file, or return ""."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError:
        return _("`{text}` is neither a name nor a call").format(text=expression)
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    missing = next((n for n in names if n not in vars(module) and not hasattr(builtins, n)), "")
    if not missing:
        return ""
    own = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__]
    close = difflib.get_close_matches(missing, vars(module), n=1)
    head = _("{file} defines no `{name}`").format(file=path.name, name=missing)
    if close:
        return f"{head}. " + _("Did you mean `{name}`?").format(name=close[0])
    if own:
        listed = ", ".join(f"`{name}`" for name in own[:MANY])
        return f"{head}. " + _("It defines {names}.").format(names=listed)
    return head


def build(expression: str, module: ModuleType) -> Any:
    """Return what an expression names; a class or a function that needs no arguments is called."""
    torch.manual_seed(0)
    thing = eval(compile(expression, "<examine>", "eval"), vars(module))
    if isinstance(thing, type) or inspect.isfunction(thing):
        parameters = inspect.signature(thing).parameters.values()
        if not parameters or (isinstance(thing, type) and not needed(parameters)):
            return thing()
    return thing


def needed(parameters: Iterable[inspect.Parameter]) -> bool:
    """Whether one of the parameters must be given."""
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(p.default is p.empty and p.kind not in free for p in parameters)


def report_as_text(report: Report) -> RenderableType:
    """Return a report for a terminal, in colors if it has them."""
    parts: list[RenderableType] = [as_text.format_prose(sentence) for sentence in report.seen]
    if report.refusal:
        parts.append(signed("?", "failed", as_text.format_prose(report.refusal)))
    for found in report.findings:
        text = Text("\n").join([as_text.format_prose(found.sentence), Text(found.where, "dim")])
        parts.append(signed(found.level, "failed" if found.level == WRONG else "untouched", text))
    if closing := report.closing():
        parts.append(as_text.format_prose(closing, "dim"))
    return Group(*parts)


def signed(sign: str, kind: Any, text: Text) -> RenderableType:
    """Return a text beside a sign in the color of a kind of card."""
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row(Text(sign, f"bold {as_text.STYLES[kind]}"), text)
    return row


if __name__ == "__main__":
    sys.exit(console.ignore_broken_pipe(lambda: main(*sys.argv[1:])))
