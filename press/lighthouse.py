"""Measure every page of the built book with Lighthouse: `make lighthouse`, after `make book`.

Serves _build/html with gzip, as a web host would, runs Lighthouse five times for phone and for
desktop, prints the median of each score and fails if one is below what the book promises. It needs
Node's npx and Chromium; neither `make book` nor `make test` does.
"""

import argparse
import functools
import gzip
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from press.browser import FLAGS, chromiums
from tools.common import ROOT

HTML = ROOT / "_build" / "html"
LIGHTHOUSE = "lighthouse@13.5.0"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
PROMISED = {
    "mobile": dict(zip(CATEGORIES, (90, 100, 100, 100), strict=True)),
    "desktop": dict(zip(CATEGORIES, (98, 100, 100, 100), strict=True)),
}
SKIPPED = "robots-txt"  # asked for from inside the page, whose policy refuses that
COMPRESSED = {".html", ".css", ".js", ".svg"}


class Compressed(http.server.SimpleHTTPRequestHandler):
    """Serves files as a web host does: text compressed."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the file, gzipped if it is text."""
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Cache-Control", "max-age=31536000")
        if path.suffix in COMPRESSED:
            content = gzip.compress(content, 9)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the table is the output."""


def measure(url: str, device: str, npx: str, chromium: str) -> dict[str, float]:
    """The four scores of one run, 0 to 100."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [npx, "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"]
        command += [f"--output-path={report}", f"--only-categories={','.join(CATEGORIES)}"]
        command += [f"--skip-audits={SKIPPED}"]
        command += [f"--chrome-flags=--headless {' '.join(FLAGS)} --user-data-dir={folder}/profile"]
        command += ["--preset=desktop"] if device == "desktop" else []
        environment = os.environ | {"CHROME_PATH": chromium}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            sys.exit(f"lighthouse: no report for {url}: {run.stderr.strip() or run.stdout.strip()}")
        scores = json.loads(report.read_text(encoding="utf8"))["categories"]
    return {name: 100 * (scores[name]["score"] or 0) for name in CATEGORIES}


def main() -> None:
    """Measure, print a table, and fail if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="as in book/index.html; default: every page")
    parser.add_argument("--runs", type=int, default=5, help="runs per page and device; default 5")
    arguments = parser.parse_args()
    npx = shutil.which("npx")
    if not npx:
        sys.exit("lighthouse: Node's npx was not found; install Node.js 22 or newer")
    if not HTML.is_dir():
        sys.exit("lighthouse: there is no book to measure; run `make book` first")
    chromium = next(filter(shutil.which, chromiums()), None)
    if not chromium:
        sys.exit("lighthouse: no Chromium found; install it or set ATTNBOOK_CHROMIUM to its path")
    pages = arguments.pages or sorted(str(p.relative_to(HTML)) for p in HTML.glob("book/*.html"))

    handler = functools.partial(Compressed, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        broken = 0
        print(f"{'page':32s} {'device':8s} " + " ".join(f"{name:>14s}" for name in CATEGORIES))
        for page in pages:
            for device, promised in PROMISED.items():
                url = f"http://127.0.0.1:{server.server_port}/{page}"
                runs = [measure(url, device, npx, chromium) for _ in range(arguments.runs)]
                median = {name: statistics.median(run[name] for run in runs) for name in CATEGORIES}
                missed = {name for name in CATEGORIES if round(median[name]) < promised[name]}
                broken += len(missed)
                cells = (f"{median[n]:13.0f}{'!' if n in missed else ' '}" for n in CATEGORIES)
                print(f"{page:32s} {device:8s} " + " ".join(cells), flush=True)
        server.shutdown()
    if broken:
        sys.exit(f"lighthouse: {broken} scores below the promise, marked with !")


if __name__ == "__main__":
    main()
