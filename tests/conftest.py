"""Settings for all tests: random draws are the same in every run, and no test fails for being slow.

This file also holds what tests share: the built book and one browser. The browser is Chromium:
ATTNBOOK_CHROMIUM, an installed one, or Playwright's own. Without one, tests that need it are
skipped; ATTNBOOK_REQUIRE_BROWSER=1 makes that a failure.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

import attnbook
from manuscript.common import ROOT, UserError
from press.browser import launch
from tests.support.claims import report_claims
from tests.support.on_device import OnDevice, move_test

# How the tests of each folder use a GPU. Tests of the library are moved to the GPU, with everything
# they create. Tests of exercises, notebooks and claims call device(), as a reader does. The rest,
# which test figures, pages, tools and processes, stay on the CPU.
MOVED, AS_READERS = {"library"}, {"claims", "exercises", "notebooks"}
ON_CPU = {"examination", "figures", "press", "project"}

# The files to begin with, because they take long. The first two build an edition each. The other
# tests of pages come last, in this order, so that none waits for these builds.
FIRST = (
    *("test_chinese_book", "test_pdf", "09_translation", "13_reading_attention"),
    *("12_language_model", "11_modern_attention", "08_transformer", "test_exercises", "test_lab"),
)
PAGES_LAST = ("test_pages", "test_search", "test_search_answers", "test_layout")

collect_ignore = ["claims"]  # unless it is named, as by `make claims`, because it takes long

settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def seeded():
    """Make a test draw the same numbers whether it runs alone, after others, or on any worker."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def on_the_device(request, monkeypatch):
    """Put what a test creates on the GPU, if the tests in its folder run on one."""
    folder = request.path.relative_to(ROOT / "tests").parts[0]
    assert folder in MOVED | AS_READERS | ON_CPU, f"tests/{folder}/ is missing in tests/conftest.py"
    if folder in ON_CPU or request.node.get_closest_marker("on_cpu"):
        monkeypatch.setenv("ATTNBOOK_DEVICE", "cpu")
        yield
    elif os.environ["ATTNBOOK_DEVICE"] == "cpu" or folder in AS_READERS:
        yield
    else:
        attnbook.device()  # this also configures the GPU
        move_test(request.node, monkeypatch)
        with OnDevice():
            yield


@pytest.hookimpl(tryfirst=True)  # before -m claim selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that none is left alone at the end; report claims."""

    def place(item: pytest.Item) -> tuple[int | bool, ...]:
        folders, name = item.path.parts, item.path.stem
        first, last = (
            order.index(name) if name in order else len(order) for order in (FIRST, PAGES_LAST)
        )
        return first, item.path.suffix == ".py", "press" in folders, last

    items.sort(key=place)
    report_claims(items)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A running Chromium."""
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright, channels=())
        except UserError as error:
            required = os.environ.get("ATTNBOOK_REQUIRE_BROWSER") == "1"
            pytest.fail(str(error)) if required else pytest.skip(str(error))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def book(testrun_uid: str) -> None:
    """Build the book strictly. The first worker builds it, and the others wait."""
    once(testrun_uid, ROOT / "_build", ROOT, "en")


@pytest.fixture(scope="session")
def chinese_book(testrun_uid: str) -> None:
    """Build the Chinese edition. What is not translated yet stays in English."""
    folder = ROOT / "_build" / "zh_CN"
    once(testrun_uid, folder, folder, "zh_CN")


def once(testrun: str, notes: Path, source: Path, language: str) -> None:
    """Build an edition, unless another worker has built it in this test run."""
    notes.mkdir(parents=True, exist_ok=True)
    built = notes / "built-for"
    with FileLock(notes / "book.lock"):
        if built.exists() and built.read_text() == testrun:
            return
        environment = {**os.environ, "ATTNBOOK_LANGUAGE": language}
        if language != "en":
            translate = [sys.executable, "-m", "tools.translate", "write"]
            subprocess.run(translate, cwd=ROOT, env=environment, check=True)
        jupyter_book = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
        build = subprocess.run(
            [*jupyter_book, "build", str(source), "-W", "-n", "--keep-going"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if build.returncode:  # otherwise Sphinx would not repeat the warnings for these pages
            shutil.rmtree(source / "_build" / ".doctrees", ignore_errors=True)
        assert build.returncode == 0, build.stderr
        assert "build succeeded" in build.stdout
        built.write_text(testrun)
