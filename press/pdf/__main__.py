"""Run the press for the PDF: `python -m press.pdf`."""

from playwright.sync_api import sync_playwright

from manuscript.common import ROOT, run_tool
from press.browser import launch
from press.pdf.make import PDF, make


def main() -> int:
    """Make the PDF; return the exit status."""
    print("Printing the book, which takes two or three minutes.", flush=True)
    with sync_playwright() as playwright:
        make(launch(playwright))
    print(f"{PDF.relative_to(ROOT)}: {PDF.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    run_tool(main)
