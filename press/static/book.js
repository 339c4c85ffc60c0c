// The behavior of the pages. This script replaces the theme's scripts and Bootstrap: it loads
// faster, and it never measures the whole page during layout.
//
//  1 light and dark   2 the two lists   3 search   4 the current section
//  5 scrolling from the keyboard   6 the reader's progress
//
// Its first names also serve answers.js and print.js, which are loaded after it.
"use strict";

const root = document.documentElement;
const one = (selector) => document.querySelector(selector);
const page = location.pathname.split("/").pop();
const isChapter = (name) => /^\d\d_/.test(name);

// Store something in the browser, if the browser allows it.
function keep(store) {
  try {
    store();
  } catch {
    // continue without storing anything
  }
}

// 1 light and dark: the button cycles through the system's setting and both modes
const system = matchMedia("(prefers-color-scheme: dark)");

function setMode(mode) {
  const dark = mode === "auto" ? system.matches : mode === "dark";
  root.dataset.mode = mode;
  root.dataset.theme = dark ? "dark" : "light";
  keep(() => localStorage.setItem(STORED.mode, mode));
}

one(".theme-switch-button")?.addEventListener("click", () => {
  const modes = system.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
  setMode(modes[(modes.indexOf(root.dataset.mode) + 1) % 3]);
});
system.addEventListener("change", () => setMode(root.dataset.mode));

// Let Escape, or a click outside a dialog, close the dialog. (Sphinx would intercept Escape.)
function closable(dialog) {
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    dialog.close();
  });
  dialog.addEventListener("click", (event) => {
    const box = dialog.getBoundingClientRect();
    const inside = event.clientX >= box.left && event.clientX <= box.right
      && event.clientY >= box.top && event.clientY <= box.bottom;
    if (event.target === dialog && !inside) dialog.close();
  });
}

// 2 the two lists, of chapters and of sections: each keeps its marked entry in view. On a narrow
// screen, a sidebar's content moves into a drawer (a dialog) and back.
const CURRENT_PAGE = "nav.bd-links .current > a";
const CURRENT_SECTION = "#pst-page-toc-nav a.active";

// Scroll a list so that one of its links is in view, a third of the way down. (scrollIntoView would
// move the page, too.)
function keepInView(list, link) {
  if (!list || !link) return;
  const [box, entry] = [list, link].map((element) => element.getBoundingClientRect());
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  if (entry.top >= top + entry.height && entry.bottom <= bottom - entry.height) return;
  list.scrollTop += entry.top - top - (bottom - top) / 3;
}
keepInView(one("#pst-primary-sidebar"), one(CURRENT_PAGE));

for (const side of ["primary", "secondary"]) {
  const button = one(`.${side}-toggle`);
  const bar = one(`#pst-${side}-sidebar`);
  const drawer = one(`#pst-${side}-sidebar-modal`);
  if (!button || !bar || !drawer) continue;
  const move = (from, to) => {
    to.append(...from.childNodes);
    to.className = from.className;
    from.className = "";
  };
  closable(drawer);
  button.addEventListener("click", () => {
    if (side === "primary" && matchMedia("(width >= 992px)").matches) {
      bar.classList.toggle("pst-sidebar-hidden");
    } else {
      move(bar, drawer);
      drawer.showModal();
      keepInView(drawer, one(side === "primary" ? CURRENT_PAGE : CURRENT_SECTION));
    }
  });
  drawer.addEventListener("close", () => move(drawer, bar));
  drawer.addEventListener("click", (event) => event.target.closest("a") && drawer.close());
}

// 3 search: Ctrl+K or a button opens a dialog, except on the search page, which has its own field
const dialog = one("#pst-search-dialog");
const field = one("main form.bd-search input");
closable(dialog);

function search() {
  if (field) field.focus();
  else if (dialog.open) dialog.close();
  else {
    dialog.showModal();
    searchable();
  }
}

for (const button of document.querySelectorAll(".search-button__button")) {
  button.addEventListener("click", search);
}
addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  search();
});
// While the reader types, the dialog offers the best sections. What it needs is loaded when the
// dialog is opened for the first time.
const offers = document.createElement("ul");
const book = new URL("..", new URL(one("[data-static]").dataset.static, location)); // the folder
dialog.querySelector("form").after(offers);

const load = (file) => new Promise((onload) => document.head.append(Object.assign(
  document.createElement("script"), { src: book + file, async: false, onload })));
let loaded;
const searchable = () => loaded ??= Promise.all(
  ["_static/minisearch/minisearch.js", "searchtexts.js", "_static/search.js"].map(load));

dialog.addEventListener("input", async ({ target }) => {
  await searchable();
  const { results } = BookSearch.find(target.value);
  offers.replaceChildren(...results.slice(0, 6).map(({ section, question }) => {
    const href = new URL(`${section.page}.html#${section.id}`, book);
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href, textContent: section.heading });
    if (question) {
      link.append(Object.assign(document.createElement("small"), { textContent: question }));
    }
    item.append(link);
    return item;
  }));
});
offers.addEventListener("click", () => dialog.close());
// The arrow keys move between the field and the sections that it offers.
dialog.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [dialog.querySelector("input"), ...offers.querySelectorAll("a")];
  const next = stops[stops.indexOf(document.activeElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});
// Sphinx marks the letters of a word anywhere on the page. Only whole words of the text stay marked.
// (Sphinx's script also waits for 10 ms, but began before; Chinese has no spaces between words.)
setTimeout(() => {
  const letters = /^(?:(?!\p{Script=Han})\p{L})+$/u;
  const inWord = ({ previousSibling, textContent, nextSibling }) => letters.test(textContent)
    && (letters.test(previousSibling?.textContent.at(-1) ?? "")
      || letters.test(nextSibling?.textContent[0] ?? ""));
  const others = [...document.querySelectorAll(".highlighted")]
    .filter((found) => !found.closest("article") || inWord(found));
  for (const found of others) found.classList.remove("highlighted");
}, 10);
// Sphinx's link for hiding highlights has a javascript: URL, which the page's policy blocks.
addEventListener("click", (event) => {
  if (!event.target.closest?.(".highlight-link a")) return;
  event.preventDefault();
  SphinxHighlight.hideSearchWords();
});
if (/Mac|iPhone|iPad/.test(navigator.platform)) {
  for (const key of document.querySelectorAll(".kbd-shortcut__modifier")) key.textContent = "⌘";
}

// 4 the current section is marked in the table of contents: it is the one at a line just below the
// header. In the last screenful the line moves to the bottom of the window, so that short sections
// are marked, too. The target of a link stays marked after the jump.
const contents = new Map();
for (const link of document.querySelectorAll("#pst-page-toc-nav a")) {
  contents.set(document.getElementById(decodeURIComponent(link.hash.slice(1))), link);
}
const jumpsEnd = () => parseFloat(getComputedStyle(root).scrollPaddingTop);

// The last section that begins above a line. Only sections inside the current one are measured,
// because the browser has not laid out distant ones.
function sectionAt(line) {
  const begun = (section) => section.getBoundingClientRect().top <= line + 2;
  let section = one("article section");
  for (let inner = section; inner; ) {
    section = inner;
    inner = [...section.querySelectorAll(":scope > section")].findLast(begun);
  }
  return section;
}

function sectionRead() {
  const top = jumpsEnd();
  const rest = root.scrollHeight - innerHeight - scrollY;
  const target = one("article :target");
  if (target && Math.abs(Math.min(target.getBoundingClientRect().top - top, rest)) < 2) {
    return target.closest("section");
  }
  return sectionAt(Math.max(top, innerHeight - rest));
}

const heading = one(".where .section"); // in the header, beside the name of the chapter
const far = one(".far"); // a line below the header, as long as the part of the page that is read
let marked;
let since; // when the marked section became the current one
function mark() {
  const rest = root.scrollHeight - innerHeight;
  far?.style.setProperty("--far", rest > 0 ? Math.min(scrollY / rest, 1) : 0);
  let section = sectionRead();
  while (section && !contents.has(section)) section = section.parentElement;
  const link = contents.get(section);
  if (link === marked) return;
  marked?.classList.remove("active");
  marked?.removeAttribute("aria-current");
  link?.classList.add("active");
  link?.setAttribute("aria-current", "location");
  keepInView(one("#pst-secondary-sidebar"), link);
  if (heading) heading.textContent = link ? nameOf(link) : "";
  if (reachesTheEnd(marked, link)) read();
  marked = link;
  since = performance.now();
}

// A chapter is read when its last section follows the one before it, which was the current one for
// at least five seconds: a jump to the end passes it sooner.
function reachesTheEnd(before, now) {
  const [next, last] = [...contents.values()].slice(-2);
  return now && now === last && before === next && performance.now() - since > 5000;
}

// The heading that a link leads to, without what the page adds to it
function nameOf(link) {
  const copy = link.cloneNode(true);
  for (const added of copy.querySelectorAll(".part, .second-reading, .solved")) added.remove();
  return copy.textContent.trim();
}
// The link to the other edition leads to the section that is being read.
one(".editions a")?.addEventListener("click", ({ currentTarget }) => {
  currentTarget.hash = marked?.hash ?? location.hash;
});
if (contents.size) {
  for (const event of ["scroll", "resize", "hashchange"]) addEventListener(event, mark);
  new ResizeObserver(mark).observe(one("article")); // reports when a distant section is laid out
}

let turn = 0; // incremented when the reader does something else, which ends a jump in progress
for (const event of ["keydown", "pointerdown", "wheel"]) addEventListener(event, () => turn++, true);
async function arrive(where) {
  const mine = turn;
  for (let i = 0; i < 5; i++) { // nearby sections are laid out, which moves the rest
    if (turn !== mine) return;
    scrollTo({ top: where(), behavior: "instant" });
    await new Promise(requestAnimationFrame);
  }
}

// Reload and Back return to the same section. The browser would restore the same pixel offset,
// but sections that are not laid out have different heights. (The page's first script sets "manual"
// if a position is stored; Back within the page is left to the browser.)
addEventListener("pagehide", () => {
  const section = sectionAt(jumpsEnd());
  const place = section && `${section.getBoundingClientRect().top} ${section.id}`;
  if (section) keep(() => (sessionStorage[location.href] = place));
  const link = contents.get(section?.closest("article section > section"));
  if (link && isChapter(page)) {
    keep(() => (localStorage[STORED.last] = JSON.stringify([page + link.hash, nameOf(link)])));
  }
});
addEventListener("load", async () => {
  if (history.scrollRestoration !== "manual") return;
  const [top, id] = sessionStorage[location.href].split(" ");
  const section = document.getElementById(id);
  if (section) await arrive(() => scrollY + section.getBoundingClientRect().top - top);
  history.scrollRestoration = "auto";
});
// With either key, the browser alone would stop too early, because it lays out the sections on the
// way only as it passes them.
const ends = { End: () => root.scrollHeight, Home: () => 0 };
addEventListener("keydown", (event) => {
  const { key, shiftKey, altKey, defaultPrevented } = event;
  const target = event.composedPath()[0]; // also inside an interactive figure
  if (!Object.hasOwn(ends, key) || shiftKey || altKey || defaultPrevented) return;
  if (target.closest("input, select, nav, dialog")) return;
  event.preventDefault();
  arrive(ends[key]);
});

// 5 blocks that scroll sideways can be reached with Tab. Whether they scroll is known only after
// layout. The observer reports then, and again whenever the block or its content changes in size,
// as a formula does when its fonts are loaded.
const scrollers =
  "pre, .cell_output > .output, .pst-scrollable-table-container, div.math, .picture";
const sizes = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const block = target.closest(scrollers);
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    else block.removeAttribute("tabindex");
  }
});
for (const block of document.querySelectorAll(scrollers)) {
  block.tabIndex = 0;
  sizes.observe(block);
  if (block.matches("div.math")) sizes.observe(block.firstElementChild);
}

// On a phone, a long line of code is wrapped, with a hanging indent, so that the comment with its
// shape stays in view; css/phones.css does so for each .line. A printed table keeps its columns.
const COLUMNS = /\S {2,}\S|\[\[|^ *[│|]/m;
const narrow = matchMedia("(width < 768px)");
function wrapCode() {
  if (!narrow.matches) return;
  narrow.removeEventListener("change", wrapCode);
  for (const pre of document.querySelectorAll(".highlight pre")) {
    if (pre.closest(".cell_output :is(.text_plain, .stream)") && COLUMNS.test(pre.textContent)) continue;
    pre.innerHTML = pre.innerHTML.replace(/^(?:<span><\/span>)?(.*)\n?/gm, (line, text) => {
      if (!line) return "";
      const indent = text.replace(/<[^>]*>/g, "").match(/^ */)[0].length;
      const shown = text.replace(/( {3,})(?=<span class="c1">)/, '<span class="gap">$1</span>')
        .replace(/^ {13,}/, '<span class="gap deep">$&</span>'); // aligned with a bracket far right
      return `<span class="line" style="--indent: ${indent > 12 ? 12 : indent + 4}ch">${shown}\n</span>`;
    });
  }
}
narrow.addEventListener("change", wrapCode);
wrapCode();

// 6 the reader's progress: this browser stores which chapters were read to the end, the last section
// visited, and which exercises were solved. Nothing is sent anywhere; a button on the first page erases it.
function kept(ask) {
  try {
    return ask(localStorage);
  } catch {
    return null;
  }
}

function read() {
  if (isChapter(page)) keep(() => (localStorage[STORED.read + page] = "yes"));
}

const progress = () => kept((store) => Object.keys(store).filter((key) =>
  [STORED.last, STORED.read, STORED.solved].some((begin) => key.startsWith(begin)))) ?? [];
const span = (className, textContent) =>
  Object.assign(document.createElement("span"), { className, textContent });

for (const link of document.querySelectorAll("nav.bd-links a, .chapters a")) {
  const name = link.pathname.split("/").pop();
  if (kept((store) => store[STORED.read + name])) {
    link.classList.add("read");
    link.append(span("", _(" (read)")));
  }
  const chapter = `${STORED.solved}${name.slice(0, 2)}.`;
  const solved = progress().filter((key) => key.startsWith(chapter)).length;
  if (isChapter(name) && solved) link.append(span("solved", _(" {solved} solved").replace("{solved}", solved)));
}

// Count this page's solved exercises in the contents; update the count as exercises are solved.
const asked = document.querySelectorAll("attn-choice");
const exercises = contents.get(asked[0]?.closest("article section > section"));
if (exercises) {
  const count = exercises.appendChild(span("solved", ""));
  const tell = () => {
    const solved = [...asked].filter(({ key }) => kept((store) => store[key])).length;
    count.textContent = solved ? _(" {solved} of {all} solved")
      .replace("{solved}", solved).replace("{all}", asked.length) : "";
  };
  addEventListener("solved", tell);
  addEventListener("load", tell);
}

const start = one(".start");
const last = kept((store) => JSON.parse(store[STORED.last] ?? "null"));
if (start && last) {
  const [href, textContent] = last;
  start.prepend(Object.assign(document.createElement("a"),
    { href, textContent: _("Continue: {section}").replace("{section}", textContent) }));
}
if (start && progress().length) {
  const forget = Object.assign(document.createElement("button"),
    { className: "guess all", textContent: _("Forget what I have read and solved on these pages") });
  forget.addEventListener("click", () => {
    for (const key of progress()) localStorage.removeItem(key);
    location.reload();
  });
  one(".chapters").after(forget);
}
