"""Measure every page of the built book with Lighthouse: `make lighthouse`, after `make book`.

Prints the median of five runs for phone and for desktop, and fails if one is below what the book
promises. It needs Node's npx and Chromium; neither `make book` nor `make test` does.
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
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
PROMISED = {"mobile": (90, 100, 100, 100), "desktop": (98, 100, 100, 100)}
COMMAND = [
    *("npx", "--yes", "lighthouse@13.5.0", "--quiet", "--output=json"),
    f"--only-categories={','.join(CATEGORIES)}",
    "--skip-audits=robots-txt",  # asked for from inside the page, whose policy refuses that
]


class Compressed(http.server.SimpleHTTPRequestHandler):
    """Serves pages, styles and scripts as a web host does: compressed, and to be kept."""

    def do_GET(self) -> None:
        """Answer with the file."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        packed = path.suffix in (".html", ".css", ".js", ".svg")
        content = gzip.compress(path.read_bytes()) if packed else path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip" if packed else "identity")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "max-age=31536000")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the table is the output."""


def measure(url: str, device: str) -> list[float]:
    """The scores of one run, 0 to 100."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        flags = f"--chrome-flags=--headless {' '.join(FLAGS)} --user-data-dir={folder}/profile"
        preset = ["--preset=desktop"] if device == "desktop" else []
        run = [*COMMAND, *preset, flags, f"--output-path={report}", url]
        environment = os.environ | {"CHROME_PATH": chromiums()[0]}
        done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            sys.exit(f"lighthouse: no report for {url}: {done.stderr.strip()}")
        scores = json.loads(report.read_text("utf8"))["categories"]
    return [100 * (scores[name]["score"] or 0) for name in CATEGORIES]


def main() -> None:
    """Measure, print a table, and fail if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="as in book/index.html; default: every page")
    parser.add_argument("--runs", type=int, default=5, help="runs per page and device; default 5")
    asked = parser.parse_args()
    pages = asked.pages or sorted(p.relative_to(HTML).as_posix() for p in HTML.glob("book/*.html"))
    if not pages or not chromiums() or not shutil.which("npx"):
        sys.exit("lighthouse: it needs the built book (make book), Node's npx, and Chromium")
    handler = functools.partial(Compressed, directory=str(HTML))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    missed = 0
    print(f"{'page':32s} {'device':8s} " + " ".join(f"{name:>14s}" for name in CATEGORIES))
    for page in pages:
        for device, promised in PROMISED.items():
            url = f"http://127.0.0.1:{server.server_port}/{page}"
            runs = [measure(url, device) for _ in range(asked.runs)]
            medians = [round(statistics.median(scores)) for scores in zip(*runs, strict=True)]
            low = [score < least for score, least in zip(medians, promised, strict=True)]
            missed += sum(low)
            cells = (f"{s:13d}{'!' if bad else ' '}" for s, bad in zip(medians, low, strict=True))
            print(f"{page:32s} {device:8s} " + " ".join(cells), flush=True)
    if missed:
        sys.exit(f"lighthouse: {missed} scores below the promise, marked with !")


if __name__ == "__main__":
    main()
