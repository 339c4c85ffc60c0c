// Generating word by word: what is computed for the newest word, and what is read from a cache.
"use strict";
(() => {
  const { Figure, define, fill, make } = globalThis.attnbook;

  /**
   * Multiplications that one layer needs for one more word: projections, scores, mixing.
   * @param {number} keys that the word is compared with @param {number} width of the model
   */
  function cost(keys, width) {
    return 4 * width * width + 2 * keys * width;
  }

  define("attn-cache", class extends Figure {
    static cost = cost;

    static style = `
      .board { display: grid; grid-template-columns: 6.4rem repeat(var(--count), 1fr); gap: 3px;
        align-items: center; }
      .word { text-align: center; color: var(--soft); overflow: hidden; text-overflow: ellipsis;
        white-space: nowrap; }
      .word.at { color: var(--ink); font-weight: 700; }
      .side { display: flex; justify-content: flex-end; gap: 0.5rem; align-items: center;
        padding-right: 0.4rem; color: var(--soft); white-space: nowrap; }
      .side.at { color: var(--ink); font-weight: 700; }
      .side .cell { width: 1.4rem; }
      .stack { height: calc(var(--heads) * 7px); align-self: end; }
      .values { align-self: start; }
      .stack > div { height: calc(var(--heads) * 7px - 2px); box-sizing: border-box;
        mask: repeating-linear-gradient(#000 0 5px, transparent 5px 7px); }
      .keys { display: flex; flex-direction: column; justify-content: end; }
      .cell { height: 1.25rem; border-radius: 0.2rem; box-sizing: border-box; }
      .cell, .stack > div, i { --half: color-mix(in srgb, var(--fill) 30%, transparent);
        transition: background-color 0.15s; }
      .new { background: var(--fill); }
      .read { background: var(--half); }
      .idle { border: 1px solid var(--quiet); }
      .gone { mask: none !important; border: 1px dashed var(--line); }
      .legend { display: flex; flex-wrap: wrap; gap: 0.1rem 1.1rem; margin: 0.7rem 0; color: var(--soft); }
      i { display: inline-block; width: 0.95rem; height: 0.95rem; margin-right: 0.4rem;
        vertical-align: -0.15rem; border-radius: 0.2rem; box-sizing: border-box; --fill: var(--ink); }
      table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
      th { font-weight: normal; color: var(--soft); text-align: right; padding: 0.15rem 0.3rem;
        vertical-align: bottom; line-height: 1.2; }
      td { text-align: right; padding: 0.15rem 0.3rem; border-top: 1px solid var(--quiet); }
      th:first-child, td:first-child { text-align: left; }
      tr.at { font-weight: 700; background: color-mix(in srgb, var(--accent) 14%, transparent); }
      @media (width < 30rem) { .board { grid-template-columns: 4.6rem repeat(var(--count), 1fr);
        gap: 2px; font-size: 0.72rem; } .side { gap: 0.25rem; padding-right: 0.2rem; }
        .side .cell { width: 1rem; } .word.at { font-weight: 400; text-decoration: underline; }
        table { font-size: 0.76rem; } th, td { padding-inline: 0.15rem; }
        .said { min-height: 4.4em; } }`;

    build() {
      const { labels, modes, heads } = this.data;
      const { words } = this;
      this.at = Math.floor(labels.length / 2);
      this.mode = modes.length - 1;
      const controls = make("div", { class: "controls" },
        this.stepper(words.newest, labels, this.at, (at) => (this.at = at)),
        this.options(words.modes, modes.map(({ name }) => name), this.mode,
          (mode) => (this.mode = mode)));
      const stacks = (name) => labels.map(() => make("div", { class: `stack ${name}` }, make("div")));
      const cell = () => make("div", { class: "cell" });
      this.names = labels.map((label) => make("div", { class: "word" }, label));
      this.keys = stacks("keys");
      this.values = stacks("values");
      this.queries = labels.map(cell);
      this.cells = labels.map(() => labels.map(cell));
      const rows = labels.map((label, i) => [
        make("div", { class: "side" }, label, this.queries[i]), ...this.cells[i]]);
      const side = (name) => make("div", { class: "side" }, name);
      const board = make("div", { class: "board", "aria-hidden": true }, side(""), ...this.names,
        side(words.keys), ...this.keys, ...rows.flat(), side(words.values), ...this.values);
      for (const [name, value] of Object.entries({ count: labels.length, heads })) {
        board.style.setProperty(`--${name}`, value);
      }
      const fills = { "role-query-fill": this.queries, "role-key-fill": this.keys,
        "role-value-fill": this.values, soft: this.cells.flat() };
      for (const [name, parts] of Object.entries(fills)) {
        parts.forEach((part) => part.style.setProperty("--fill", `var(--${name})`));
      }
      this.board = board;
      this.legend = make("div", { class: "legend", "aria-hidden": true },
        ...Object.entries(words.legend).map(([name, text]) =>
          make("span", {}, make("i", { class: name }), text)));
      this.counts = modes.map(({ name }) => make("tr", {}, make("td", {}, name),
        ...words.counts.slice(1).map(() => make("td"))));
      const head = words.counts.map((name) => make("th", { scope: "col" }, name));
      return [controls, board, this.legend, make("table", {},
        make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...this.counts))];
    }

    /** The counts of one mode at a word: multiplications, their total so far, bytes kept. */
    count({ read }, at) {
      const { width } = this.data;
      const steps = Array.from({ length: at + 1 }, (_, t) => cost(read[t].length + 1, width));
      return [steps[at], steps.reduce((sum, one) => sum + one, 0), 2 * 4 * read[at + 1].length * width];
    }

    update() {
      const { labels, modes } = this.data;
      const { at, words } = this;
      const { read } = modes[this.mode];
      const held = new Set(read[at]);
      labels.forEach((_, i) => {
        for (const part of [this.names[i], this.queries[i].parentElement]) {
          part.classList.toggle("at", i === at);
        }
        this.queries[i].className = `cell ${i === at ? "new" : "idle"}`;
        const kept = i > at ? "idle" : i === at ? "new" : held.has(i) ? "read" : "gone";
        this.keys[i].firstChild.className = kept;
        this.values[i].firstChild.className = kept;
        this.cells[i].forEach((cell, j) => {
          const seen = i === at && (j === at || held.has(j));
          cell.className = `cell ${seen ? "new" : "idle"}`;
        });
      });
      const language = document.documentElement.lang || "en";
      modes.forEach((mode, m) => {
        this.counts[m].classList.toggle("at", m === this.mode);
        this.count(mode, at).forEach((count, i) =>
          (this.counts[m].children[i + 1].textContent = count.toLocaleString(language)));
      });
      const bytes = this.count(modes[this.mode], at).at(-1);
      this.say(fill(words.said, { word: labels[at], read: held.size, gone: at - held.size,
        bytes: bytes.toLocaleString(language) }));
    }
  });
})();
