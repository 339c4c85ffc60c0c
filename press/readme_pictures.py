"""Take the screenshots for the README: part of chapter 5 in each language, in the light theme.

    make book LANGUAGE=zh_CN
    .venv/bin/python -m press.readme_pictures

Look at both afterward: a change in the chapter may move what they show.
"""

import io

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

from manuscript.common import ROOT, run_tool
from press.browser import launch
from press.extension.storage import KEYS

PAGE, FIGURE = "book/05_cross_attention.html", "cross-attention-align-figure"
PICTURES = {"": "book.png", "zh_CN": "book.zh_CN.png"}  # in book/images
SIZE: ViewportSize = {"width": 1280, "height": 860}
BELOW = 212  # pixels from the top of the window to the figure, so that its code is also visible
SHOW = f"localStorage.setItem('{KEYS['answers']}', 'shown')"  # shows the answers to all predictions
SCROLL = f"""() => {{
    document.documentElement.style.scrollBehavior = "auto";
    const figure = document.getElementById("{FIGURE}");
    figure.scrollIntoView();
    scrollBy(0, figure.getBoundingClientRect().top - {BELOW});
}}"""


def main() -> int:
    """Write both pictures; return the exit status."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for folder, name in PICTURES.items():
            page = browser.new_page(viewport=SIZE, color_scheme="light", offline=True)
            page.add_init_script(SHOW)
            page.goto((ROOT / "_build" / "html" / folder / PAGE).as_uri())
            for _ in range(3):  # sections above the figure are laid out only when near the viewport
                page.evaluate(SCROLL)
                page.wait_for_timeout(500)
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            path = ROOT / "book" / "images" / name
            taken.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    run_tool(main)
