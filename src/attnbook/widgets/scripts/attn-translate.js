// A translation: each word's probability, and where each cross-attention head attends.
// The first change loads press/live.
"use strict";
(() => {
  const { Figure, define, fill, make, number, walk } = globalThis.attnbook;

  define("attn-translate", class extends Figure {
    static style = `
      .figure { display: flex; flex-direction: column; }
      .said { order: 1; margin-block: 0.7rem; }
      .detail, .settings { order: 2; }
      .line, form, .chips, .tools, .row { display: flex; flex-wrap: wrap; gap: 0.35rem; }
      .line { gap: 0.5rem; margin-bottom: 0.8rem; }
      form { flex: 1 1 16rem; flex-wrap: nowrap; }
      button, select, form input { font: inherit; color: var(--ink); background: var(--ground);
        border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.25rem 0.6rem;
        min-height: 2rem; min-width: 0; box-sizing: border-box; }
      button, select, .token { cursor: pointer; }
      button:focus-visible, select:focus-visible { outline: 3px solid var(--accent); }
      .line select { flex: 1 1 14rem; }
      form input { flex: 1; }
      .chip, .token { display: grid; justify-items: center; line-height: 1.25; }
      .chip { font-size: 1.1rem; padding: 0.3rem 0.5rem; min-width: 2.6rem; }
      small { font-size: 0.72rem; color: var(--soft); min-height: 1.25em; }
      .name { margin-bottom: 0.25rem; }
      .chip[aria-expanded=true] { box-shadow: 0 0 0 2px var(--accent); }
      .unknown { border: 2px dashed; }
      .tools { margin-top: 0.5rem; }
      .tools select { width: 9.5rem; }
      .rows { display: grid; grid-template-columns: 5.5rem 1fr; gap: 0.5rem; align-items: center;
        margin-top: 0.9rem; min-height: 10.5rem; align-content: start; }
      .rows > button { grid-column: 2; justify-self: start; }
      .row { gap: 0.15rem; }
      .token { position: relative; border: 1px solid transparent; border-radius: 0.4rem;
        padding: 0.2rem 0.35rem 0.4rem; }
      .token::after { content: ""; position: absolute; inset: auto 0.35rem 0.15rem; height: 3px; }
      .token::after, i { border-radius: 2px; background: var(--role-weights-fill);
        transform: scaleX(var(--chance)); transform-origin: left; }
      .token[aria-selected=true] { background: color-mix(in srgb, var(--ink) 10%, transparent);
        border-color: var(--line); }
      .changed { color: var(--state-failed); font-weight: 700; text-decoration: underline; }
      @keyframes come { from { opacity: 0; } }
      @media (prefers-reduced-motion: no-preference) {
        .fresh .token { animation: come 0.2s both calc(var(--i) * 80ms); } }
      .detail { display: grid; grid-template-columns: minmax(0, auto) minmax(13rem, 1fr);
        gap: 0.8rem 1.6rem; align-items: start; margin-bottom: 0.9rem; }
      .scroll { overflow-x: auto; margin-top: 0.3rem; }
      table { border-spacing: 1px; font-size: 0.75rem; line-height: 1.2; }
      th { font-weight: 400; padding: 0; }
      thead th { font-size: 0.8rem; padding: 0.1rem; max-width: 2.6rem; min-width: 1.8rem; }
      th[rowspan] { writing-mode: sideways-lr; color: var(--soft); }
      td { text-align: center; height: 1.6rem; border-radius: 0.2rem; padding: 0; background:
        color-mix(in srgb, var(--role-weights-fill) calc(var(--weight) * 55%), transparent); }
      table button { white-space: nowrap; min-height: 1.6rem; padding: 0 0.4rem; }
      button[aria-pressed=false] { text-decoration: line-through; }
      tr:has([aria-pressed=false]) td { --weight: 0 !important; color: var(--soft); }
      @media print { .figure { display: none; } }
      .bar { display: grid; grid-template-columns: 6.2rem 1fr 2.6rem; gap: 0.4rem; width: 100%;
        align-items: center; text-align: left; margin-top: 0.3rem; border-color: var(--quiet); }
      i { height: 0.7rem; }
      .settings .controls { margin: 0; }
      @media (width < 40rem) { .detail, .rows { grid-template-columns: minmax(0, 1fr); }
        .rows { gap: 0.2rem; min-height: 18.5rem; } .rows > button { grid-column: 1; }
        .token small { width: min-content; } .said { min-height: 5.8em; }
        thead th { min-width: 1.62rem; font-size: 0.75rem; padding: 0; } table button { padding: 0 0.2rem; }
        table { font-size: 0.7rem; } }`;

    get readsChinese() { return document.documentElement.lang.startsWith("zh"); }

    build() {
      const { data: { start, examples }, words } = this;
      this.source = start.source.map(([word]) => word);
      this.known = new Map(start.source.map(([word, ...about]) => [word, about]));
      this.plain = start.steps.map(([word, chance, best, maps]) => ({ word, chance, best,
        maps: maps.map((map) => map.map((weight) => weight / 100)) }));
      this.at = { row: "plain", index: start.index };
      this.field = make("input", { lang: "zh", "aria-label": words.type, autocomplete: "off",
        spellcheck: false, onfocus: () => this.change(() => {}) });
      this.sentences = make("select", { "aria-label": words.examples, onchange: () => {
        const { chinese, english } = examples[this.sentences.selectedIndex];
        this.change((bench) => bench.read(chinese.split(" "), english));
      } }, ...examples.map(({ name, chinese, english }) => make("option", {},
        fill(words.example, { name, sentence: this.readsChinese ? chinese : english }))),
      make("option", { hidden: "" }, words.own));
      const form = make("form", { onsubmit: (event) => {
        event.preventDefault();
        this.change((bench) => bench.type(this.field.value));
      } }, this.field, make("button", {}, words.translate));
      [this.chips, this.tools, this.rows, this.maps, this.bars, this.settings] =
        ["chips", "tools", "rows", "maps", "bars", "settings"].map((name) =>
          make("div", { class: name }));
      this.unchanged();
      this.draw();
      return [make("div", { class: "line" }, this.sentences, form),
        make("span", { class: "name" }, words.source), this.chips, this.tools, this.rows,
        make("div", { class: "detail" }, this.maps, this.bars), this.settings];
    }

    unchanged() {
      const { words } = this;
      Object.assign(this, { off: new Set(), covered: new Set(), given: [], first: 0, width: 1,
        penalty: 0, now: null, forced: null });
      const set = (name, by) => (position) =>
        this.change((bench) => bench.set({ [name]: by(position) }));
      this.settings.replaceChildren(make("div", { class: "controls" },
        this.options(words.search, words.searches, 0, set("width", (i) => i + 1)),
        this.options(words.penalty, ["0", "1"], 0, set("penalty", Number)),
        this.slider(words.first, [...Array(21).keys()], 0, set("first", Number))));
    }

    /** Call a function with the workbench, loaded once. */
    async change(how) {
      const { attnbook } = globalThis;
      attnbook.arriving ??= new Promise((onload, onerror) => document.head.append(
        make("script", { src: this.getAttribute("src"), onload, onerror })));
      try {
        await attnbook.arriving;
      } catch {
        attnbook.arriving = null; // the next change tries again
        this.say(this.words.missing);
        return;
      }
      how(this.bench ??= new attnbook.Workbench(this));
    }

    button(key, text, onclick, more = {}) {
      return make("button", { type: "button", "data-key": key, onclick, ...more }, text);
    }

    /** Draw the sentence; keep focus. */
    draw(fresh = "") {
      const { bench, chip, covered, forced, now, source, words } = this;
      const key = this.shadowRoot.activeElement?.dataset.key;
      this.field.value = source.join(" ");
      this.chips.replaceChildren(...source.map((word, i) => {
        const [pinyin, meaning] = this.known.get(word) ?? ["", words.unknown];
        return make("button", { type: "button", "data-key": `chip ${i}`, "aria-expanded": i === chip,
          class: `chip ${pinyin ? "" : "unknown"} ${covered.has(i) ? "closed" : ""}`,
          onclick: () => this.change((made) => made.open(i)) },
        make("span", { lang: "zh" }, word), make("small", { lang: "zh-Latn" }, pinyin),
        make("small", {}, covered.has(i) ? words.covered : meaning));
      }));
      this.tools.replaceChildren(...(bench?.tools() ?? []));
      this.tokens = {};
      this.rows.replaceChildren(...this.row("plain", now ? words.plain : words.english, fresh,
        (i) => forced?.[i].chance));
      if (now) this.rows.append(...bench.changed(fresh));
      this.drawMaps();
      this.shadowRoot.querySelector(`[data-key="${key}"]`)?.focus();
      this.update();
    }

    /** A translation, one word picked. */
    row(row, name, fresh, after = () => undefined) {
      const pick = (index) => {
        this.at = { row, index };
        this.update();
      };
      const marks = this.bench?.marks(row) ?? [];
      const tokens = this[row].map(({ word, chance }, i) => make("div", { role: "option",
        "data-key": `${row} ${i}`, class: "token", style: `--i: ${i}; --chance: ${after(i) ?? chance}`,
        onclick: () => pick(i),
        onkeydown: (event) => walk(event, [tokens], [0, i], ([, j]) => pick(j)) },
      make("span", { class: marks[i] ? "changed" : "" }, word),
      make("small", { class: after(i) < chance / 2 ? "changed" : "" }, number(chance, 2),
        after(i) === undefined ? "" : ` →\u00a0${number(after(i), 2)}`)));
      this.tokens[row] = tokens;
      return [make("span", { class: "name" }, name), make("div", { class: `row ${fresh}`,
        role: "listbox", "aria-label": name, "aria-orientation": "horizontal" }, ...tokens)];
    }

    drawMaps() {
      const { source, off, covered, words, data: { heads } } = this;
      this.cells = this.plain[0].maps.map(() => source.map(() => make("td")));
      this.caption = make("span", { class: "name" });
      const table = make("table", {}, make("thead", {}, make("tr", {},
        make("td", { colspan: 2 }), ...source.map((word, j) => make("th", { scope: "col",
          lang: "zh", class: covered.has(j) ? "closed" : "" }, word)))),
      make("tbody", {}, ...this.cells.map((cells, h) => make("tr", {},
        ...(h % heads ? [] : [make("th", { rowspan: heads, scope: "rowgroup" },
          words.layers[h / heads])]),
        make("th", { scope: "row" }, this.button(`head ${h}`, fill(words.head, { head: h % heads }),
          () => this.change((bench) => bench.toggle(off, h)), { "aria-pressed": !off.has(h) })),
        ...cells))));
      this.maps.replaceChildren(this.caption, make("div", { class: "scroll", tabindex: 0, role: "group",
        "aria-label": words.maps }, table));
    }

    update() {
      const { at, words } = this;
      const steps = (at.row === "plain" && this.forced) || this[at.row];
      const step = steps[at.index];
      for (const [row, tokens] of Object.entries(this.tokens)) {
        tokens.forEach((token, i) => {
          token.setAttribute("aria-selected", row === at.row && i === at.index);
          token.tabIndex = (row === at.row ? i === at.index : i === 0) ? 0 : -1;
        });
      }
      this.caption.textContent = fill(words.attends, step);
      this.cells.forEach((cells, h) => cells.forEach((cell, j) => {
        const weight = step.maps[h][j];
        cell.style.setProperty("--weight", weight);
        cell.textContent = weight < 0.005 ? "" : number(weight, 2);
      }));
      const before = steps.slice(0, at.index).map(({ word }) => word);
      this.bars.replaceChildren(make("span", { class: "name" }, words.next),
        ...step.best.map(([word, chance], i) => {
          const button = this.button(`bar ${i}`, "", () =>
            this.change((bench) => bench.set({ given: [...before, word] })),
          { class: "bar", style: `--chance: ${chance}` });
          button.append(make("span", {}, word), make("i"),
            make("span", { class: "number" }, number(chance, 3)));
          return button;
        }));
      this.say(this.bench?.remarks(step) ?? fill(words.sure, this.data.start.least));
    }
  });
})();
