"""A page is complete: everything on it is loaded, fits the window and is within its budget."""

import gzip
from pathlib import Path
from urllib.parse import unquote, urldefrag

from tests.support.pages import (
    HTML,
    Opened,
)

# The maximum size of a page in kB, with text compressed as a web host sends it. The index and texts
# for the search grow with the book, and only the search page loads them. Most figures are in the
# page itself; their font counts as a picture.
BUDGET = {"html": 115, "css": 30, "js": 34, "woff2": 150, "pictures": 120}

# Each script returns a list of what is wrong.
ON_EVERY_SCREEN = {
    "formulas that are not set": """[...document.querySelectorAll(
        ':is(span, div).math:not(:has(.katex)), .katex-error')].map(e => e.outerHTML)""",
    # each Stand-in is one of the reader's own fonts
    "formulas that are cut": """[...document.querySelectorAll('article span.math')].filter(e =>
        getComputedStyle(e).overflowY !== 'visible' && e.scrollHeight > e.clientHeight)
        .map(e => e.querySelector('.katex-html').textContent)""",
    "punctuation at the start of a line, after a formula": """(() => {
        const article = document.querySelector('article'), range = document.createRange();
        const texts = article && document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
        return [...document.querySelectorAll('article span.math')].flatMap(math => {
            texts.currentNode = math;
            while (texts.currentNode.lastChild) texts.currentNode = texts.currentNode.lastChild;
            const text = texts.nextNode();
            if (!/^[,.;:?!)\\]”’，。、；：？！）》]/.test(text?.data ?? "")) return [];
            range.setStart(text, 0);
            range.setEnd(text, 1);
            const mark = range.getBoundingClientRect();
            const last = [...math.querySelectorAll('.base')].at(-1) ?? math;
            const end = last.getBoundingClientRect();
            return mark.width && mark.left < end.right - 2
                ? [math.querySelector('.katex-html').textContent + text.data.slice(0, 9)] : [];
        }); })()""",
    "fonts that failed": """[...document.fonts].filter(f => f.status === 'error')
        .map(f => f.family).filter(name => !name.includes('Stand-in'))""",
    "LaTeX in the text": """(() => {
        const copy = document.querySelector('main').cloneNode(true);
        copy.querySelectorAll('pre, code, script, .katex').forEach(e => e.remove());
        return copy.textContent.match(/\\$|\\\\[a-zA-Z]+/g) ?? []; })()""",
    "Chinese that is not marked": """(() => {
        const texts = document.createNodeIterator(
            document.querySelector('main'), NodeFilter.SHOW_TEXT);
        const found = [];
        for (let text; (text = texts.nextNode()); )
            if (/\\p{Script=Han}/u.test(text.data) && !text.parentElement.closest(
                '[lang|=zh], pre, .katex, #search-results, style, script') &&
                ![...path(text)].some(e => e.localName.startsWith('attn-'))) found.push(text.data);
        return found;
        function* path(n) { while ((n = n.parentElement)) yield n; } })()""",
    "text in figures that is small or cut": """(() => {
        const found = [];
        for (const element of document.querySelectorAll("*")) {
            const root = element.shadowRoot;
            const figure = root?.querySelector(".figure")?.getBoundingClientRect();
            const texts = root && document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
            while (texts?.nextNode()) {
                const around = texts.currentNode.parentElement, drawing = around.closest("svg");
                const range = document.createRange();
                range.selectNodeContents(texts.currentNode);
                const box = range.getBoundingClientRect();
                if (!box.width || around.closest(".heard, .table, style")) continue;
                const scale = drawing?.viewBox.baseVal.width
                    ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : 1;
                const size = scale * parseFloat(getComputedStyle(around).fontSize);
                const hidden = getComputedStyle(around).overflowX !== "visible";
                const cut = (hidden && around.scrollWidth > around.clientWidth + 1)
                    || box.right > figure.right + 1 || box.left < figure.left - 1;
                if (size && (size < 10.99 || cut)) {
                    found.push([element.localName, texts.currentNode.textContent, size, cut]);
                }
            }
        }
        return found; })()""",
    "labels of drawn figures that are cut or on one another": """(() => {
        // the corners of a text, without what its letters rarely reach
        function corners(text) {
            const size = parseFloat(getComputedStyle(text).fontSize);
            const start = text.getStartPositionOfChar(0);
            const end = text.getEndPositionOfChar(text.getNumberOfChars() - 1);
            return [[start.x, start.y - 0.7 * size], [end.x, start.y - 0.7 * size],
                [end.x, start.y], [start.x, start.y]]
                .map(([x, y]) => new DOMPoint(x, y).matrixTransform(text.getScreenCTM()));
        }
        const along = (shape, x, y) => shape.map(point => x * point.x + y * point.y);
        // whether a line along a side of one shape has the other shape beyond it
        const apart = (one, other) => [[0, 1], [1, 2]].some(([a, b]) => {
            const [x, y] = [one[b].x - one[a].x, one[b].y - one[a].y];
            const [first, second] = [along(one, x, y), along(other, x, y)];
            const slack = Math.hypot(x, y);  // a pixel
            return Math.max(...first) < Math.min(...second) + slack
                || Math.max(...second) < Math.min(...first) + slack; });
        const found = [];
        for (const figure of document.querySelectorAll(".picture > svg")) {
            const box = figure.getBoundingClientRect();
            const texts = [...figure.querySelectorAll("text")];
            const shapes = box.width ? texts.map(corners) : [];
            shapes.forEach((shape, i) => {
                if (shape.some(({x, y}) => x < box.left - 1 || x > box.right + 1
                    || y < box.top - 1 || y > box.bottom + 1)) found.push(texts[i].textContent);
                for (let j = 0; j < i; j++)
                    if (!apart(shape, shapes[j]) && !apart(shapes[j], shape))
                        found.push(`${texts[j].textContent} / ${texts[i].textContent}`); });
        }
        return found; })()""",
    "pictures that are missing": """[...document.querySelectorAll('article img')]
        .filter(i => !i.naturalWidth).map(i => i.src)""",
    "pictures that say nothing": """[...document.querySelectorAll(
            'article :is(img, .picture > svg)')]
        .filter(i => /^$|^[\\w./-]+\\.(svg|png|jpe?g)$|^_build/.test(i.alt ?? i.ariaLabel ?? ""))
        .map(i => i.outerHTML.slice(0, 200))""",
    "buttons of the header without a ring": """[...document.querySelectorAll(
            '.bd-header-article :is(a, button)')].filter(e => e.checkVisibility()).filter(e => {
        e.focus();
        const {outlineStyle, outlineWidth} = getComputedStyle(e);
        return outlineStyle !== 'solid' || outlineWidth !== '3px'; }).map(e => e.outerHTML)""",
}
# Lists what a script finds while everything that is folded is open
UNFOLDED = """(() => {{
        const folds = [...document.querySelectorAll('details:not([open])')];
        for (const fold of folds) fold.open = true;
        const found = {found};
        for (const fold of folds) fold.open = false;
        return found; }})()"""
# What the next two scripts share: all elements, including those inside figures, with their
# transitions finished, and whether an element is shown
ELEMENTS = """
        for (const moving of document.getAnimations())
            if (moving instanceof CSSTransition) moving.finish();
        const above = (element) => element.parentElement ?? element.getRootNode().host;
        const elements = [...document.body.querySelectorAll("*")];
        for (const {shadowRoot} of elements)
            if (shadowRoot) elements.push(...shadowRoot.querySelectorAll("*"));
        // an element one pixel wide is for screen readers only
        const shown = (element) => element.getBoundingClientRect().width > 1
            && element.checkVisibility({visibilityProperty: true, opacityProperty: true});"""
# Lists the text, and the links in text, whose contrast is too low by the rules of WCAG 2.2. The
# background of a text is computed from the background colors of the elements around it, without
# images. axe-core is much slower, because it looks up which elements overlap each text, and it
# can't judge some texts. It still judges two pages of the Chinese edition.
FAINT = UNFOLDED.format(
    found="(() => {"
    + ELEMENTS
    + """
        const paint = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
        const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        function luminance(layers) {  // of colors painted over one another, each with its opacity
            for (const [color, alpha] of layers) {
                [paint.fillStyle, paint.globalAlpha] = [color, alpha];
                paint.fillRect(0, 0, 1, 1);
            }
            const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(c => linear(c / 255));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        }
        function contrast(...pair) {
            const [low, high] = pair.map(luminance).sort((a, b) => a - b);
            return (high + 0.05) / (low + 0.05);
        }
        const places = new Map([[undefined, [[["white", 1]], 1]]]);
        function place(element) {  // the colors behind an element's text, and the text's opacity
            if (!places.has(element)) {
                const {backgroundColor, opacity} = getComputedStyle(element);
                const [layers, alpha] = place(above(element));
                const own = [backgroundColor, alpha * opacity];
                const clear = backgroundColor === "rgba(0, 0, 0, 0)";
                places.set(element, [clear ? layers : [...layers, own], own[1]]);
            }
            return places.get(element);
        }
        const says = (element) => [...element.childNodes].some(
            (node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
        const typed = "input:not([type=range], [type=radio], [type=checkbox]), select, textarea";
        const faint = new Map();  // whether each kind of text is
        return elements.filter((element) => {
            if (!says(element) && !element.matches(typed) || !shown(element)) return false;
            if (element.matches("style, script, svg *, .katex *, :disabled")) return false;
            const {color, fontSize, fontWeight} = getComputedStyle(element);
            const [layers, alpha] = place(element);
            const link = element.closest("a");  // in a text, and not underlined?
            const bare = link && getComputedStyle(link).textDecorationLine === "none";
            const around = bare && says(above(link)) && getComputedStyle(above(link)).color;
            const kind = JSON.stringify([color, fontSize, fontWeight, layers, alpha, around]);
            if (!faint.has(kind)) {
                const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
                const [own, other] = [color, around || color].map(c => [...layers, [c, alpha]]);
                const unlike = !around || contrast(own, other) >= 3;
                faint.set(kind, contrast(layers, own) < (large ? 3 : 4.5) || !unlike);
            }
            return faint.get(kind);
        }).map((element) => element.outerHTML.slice(0, 150)); })()"""
)
ON_A_DESK = {
    "the chapter's entry in the list, out of sight": """[
            ...document.querySelectorAll("nav.bd-links .current > a")].filter(entry => {
        const {top, bottom} = entry.getBoundingClientRect();
        const list = document.querySelector("#pst-primary-sidebar").getBoundingClientRect();
        return top < list.top || bottom > Math.min(list.bottom, innerHeight); })
        .map(entry => entry.innerText)""",
    "entries of the contents that are out of sight once they are marked": """(async () => {
        const missed = [];
        for (const link of document.querySelectorAll("#pst-page-toc-nav a")) {
            const section = document.getElementById(decodeURIComponent(link.hash.slice(1)));
            section.scrollIntoView({behavior: "instant"});
            await new Promise(requestAnimationFrame);  // so that the page notices the scroll
            const marked = document.querySelector("#pst-page-toc-nav a.active");
            const list = document.querySelector("#pst-secondary-sidebar").getBoundingClientRect();
            const {top, bottom} = marked?.getBoundingClientRect() ?? {top: NaN};
            const end = Math.min(list.bottom, innerHeight);
            if (!(top >= list.top && bottom <= end)) missed.push(link.hash);
        }
        scrollTo({top: 0, behavior: "instant"});
        return missed; })()""",
    # the Rosetta table of eight columns may be wider
    "code, outputs and tables that are cut": UNFOLDED.format(
        found="""[...document.querySelectorAll(
                'article pre, .pst-scrollable-table-container:not(:has(th:nth-child(7)))')]
            .filter(e => e.scrollWidth > e.clientWidth + 8).map(e => e.innerText.slice(0, 100))"""
    ),
    "formulas, and pictures narrower than the text, beside its middle": """(() => {
        const middle = ({left, right}) => (left + right) / 2;
        const box = element => element.getBoundingClientRect();
        const [widest] = [...document.querySelectorAll("article section > p:not(.start)")].sort(
            (a, b) => b.clientWidth - a.clientWidth);
        return [...document.querySelectorAll("article section > :is(div.math), .picture > *")]
            .map(e => e.querySelector(".katex") ?? e)
            .filter(e => e.checkVisibility() && !e.closest("details, .admonition"))
            .filter(e => box(e).width < box(widest).width)
            .filter(e => Math.abs(middle(box(e)) - middle(box(widest))) >= 2)
            .map(e => e.outerHTML.slice(0, 150)); })()""",
}
# Lists targets under 24 pixels that are too close to another one, by the rule of WCAG 2.2: a circle
# of 24 pixels around each must not reach another target, or the circle of another small one. It
# replaces axe-core's rule target-size, which is much slower.
SMALL_TARGETS = (
    "(() => {"
    + ELEMENTS
    + """
        const roles = "button checkbox gridcell link menuitem option radio slider switch tab";
        const kinds = ["a[href], button, input, select, textarea, summary",
            ...roles.split(" ").map((role) => `[tabindex][role=${role}]`)].join();
        const inline = (node) => node.nodeType === Node.TEXT_NODE
            || node.nodeType === Node.ELEMENT_NODE && getComputedStyle(node).display === "inline";
        function inText(target) {  // as the rule allows
            let block = target;
            while (inline(block)) block = above(block);
            return block !== target && [...block.childNodes].some((node) => inline(node)
                && !node.contains(target) && !node.matches?.(kinds) && node.textContent.trim());
        }
        const small = ({width, height}) => Math.min(width, height) < 23.95;
        const middle = ({left, right, top, bottom}) => [(left + right) / 2, (top + bottom) / 2];
        const gap = (at, start, end) => Math.max(start - at, 0, at - end);
        function close(one, other) {
            const [[x, y], [there, below]] = [one, other].map(middle);
            const {left, right, top, bottom} = other;
            return Math.hypot(gap(x, left, right), gap(y, top, bottom)) < 11.95
                || small(other) && Math.hypot(x - there, y - below) < 23.95;
        }
        const targets = elements.filter((e) => e.matches(kinds) && !e.matches(":disabled"))
            .filter(shown).map((target) => [target, target.getBoundingClientRect()]);
        return targets.filter(([target, box]) => small(box) && !inText(target)
            && targets.some(([other, its]) => !target.contains(other) && !other.contains(target)
                && close(box, its))).map(([target]) => target.outerHTML.slice(0, 150)); })()"""
)
ON_A_PHONE = {
    "targets that are small and close to others": SMALL_TARGETS,
    "tables that are cut": """[...document.querySelectorAll(
            '.pst-scrollable-table-container:not(:has(th:nth-child(7)))')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 100))""",
    "pictures that are cut": """[...document.querySelectorAll('.picture')]
        .filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerHTML)""",
    "pictures that a section cuts": """[...document.querySelectorAll('section section .picture')]
        .filter(e => {
            const [a, b] = [e, e.closest('section')].map(e => e.getBoundingClientRect());
            return a.left < b.left - 1 || a.right > b.right + 1; })
        .map(e => e.innerHTML.slice(0, 150))""",
    "what is too wide": """(() => {
        const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX)
                                   || scrolls(e.parentElement));
        const hidden = e => e.closest('svg *, .katex-mathml, dialog, [id$="-sidebar"]');
        return [...document.body.querySelectorAll('*')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
            .filter(e => !hidden(e) && !scrolls(e.parentElement))
            .map(e => e.outerHTML.slice(0, 150)); })()""",
    "what scrolls, but not from the keyboard": """[...document.querySelectorAll('article *')]
        .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
        .filter(e => /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0)
        .filter(e => !e.querySelector('[tabindex="0"]')).map(e => e.outerHTML.slice(0, 150))""",
    # except an output that is a table of columns, which has to be scrolled sideways
    "code that is cut": UNFOLDED.format(
        found=r"""[...document.querySelectorAll('article .highlight pre')]
            .filter(pre => pre.scrollWidth > pre.clientWidth + 1)
            .filter(pre => !pre.closest('.cell_output')
                || !/\S {2,}\S|\[\[|^ *[│|]/m.test(pre.textContent))
            .map(pre => pre.textContent.slice(0, 80))"""
    ),
}


def assert_complete(opened: Opened, checks: dict[str, str], root: Path = HTML) -> None:
    """Check that everything on the page is loaded, fits the window and is within the size limit."""
    opened.settle()
    opened.page.keyboard.press("Tab")  # the focus ring appears only for keyboard users
    found = {wrong: opened.page.evaluate(check) for wrong, check in checks.items()}
    assert {wrong: where for wrong, where in found.items() if where} == {}
    assert not opened.wide()
    assert_weight(opened, root)


def assert_weight(opened: Opened, root: Path) -> None:
    """Check that the files that the page requested stay within the budget."""
    weights = dict.fromkeys(BUDGET, 0)
    for url in {u.split("?")[0] for u in opened.requested if u.startswith(opened.base)}:
        path = root / unquote(urldefrag(url)[0].removeprefix(opened.base))
        if path.name not in ("searchtexts.js", "minisearch.js"):
            kind = path.suffix[1:] if path.suffix[1:] in BUDGET else "pictures"
            packed = path.suffix in (".woff2", ".png", ".jpg")
            content = path.read_bytes()
            weights[kind] += len(content if packed else gzip.compress(content))
    assert {kind: w for kind, w in weights.items() if w > 1000 * BUDGET[kind]} == {}
    assert min(weights[kind] for kind in ("html", "css", "js")) > 1000  # something was measured
