// A mask to paint: which query may attend to which key, the weights, and leaks from the future.
"use strict";
(() => {
  const { Figure, define, fill, make, number, softmax, walk } = globalThis.attnbook;

  define("attn-mask", class extends Figure {
    static style = `
      :host { --depth: 1%; }
      :host([data-theme=dark]) { --depth: 0.5%; } /* so that light letters stay readable */
      .scroll { overflow-x: auto; padding: 3px; }
      table { border-spacing: 3px; border-collapse: separate; font-variant-numeric: tabular-nums;
        user-select: none; -webkit-user-select: none; }
      th { font-weight: normal; padding: 0 0.35rem; white-space: nowrap; color: var(--soft); }
      tbody th { text-align: right; }
      tr.empty th { text-decoration: line-through; }
      td { position: relative; width: 4.1rem; min-width: 2.3rem; height: 2.7rem; padding: 0;
        text-align: center; border-radius: 0.3rem; cursor: pointer; line-height: 1.15;
        transition: background-color 0.15s; }
      td small { display: block; font-size: 0.7rem; }
      td.corner { height: 0; cursor: default; }
      td.open { background: color-mix(in srgb, var(--role-weights-fill)
        calc((8 + 92 * var(--weight)) * var(--depth)), var(--ground)); }
      td.leak { box-shadow: inset 0 0 0 2.5px var(--state-failed); }
      td.leak::after { content: "!"; position: absolute; top: 0.05rem; right: 0.3rem;
        font-weight: 700; }
      @media (width < 30rem) { table { border-spacing: 2px; font-size: 0.78rem; }
        th { padding: 0 0.15rem; } }`;

    build() {
      const { labels, masks } = this.data;
      const { words } = this;
      this.mask = this.cut(masks[0].rows);
      this.at = [0, 0];
      const start = this.options(words.start, masks.map((mask) => mask.name), 0,
        (position) => (this.mask = this.cut(masks[position].rows)));
      this.ready = [...start.querySelectorAll("input")];
      const polarity = this.options(words.polarity, [words.may, words.may_not], 0,
        (position) => (this.flipped = position === 1));
      this.cells = labels.map((query, i) => labels.map((key, j) => make("td", {
        role: "gridcell", tabindex: -1,
        onpointerdown: (event) => this.press(event, i, j),
        onpointerenter: (event) => event.pointerType === "mouse" && this.enter(event, i, j),
      })));
      const grid = make("table", { role: "grid", "aria-label": words.name,
        onkeydown: (event) => this.key(event) },
      make("thead", {}, make("tr", {}, make("td", { class: "corner", role: "presentation" }),
        ...labels.map((label) => make("th", { scope: "col" }, label)))),
      make("tbody", {}, ...labels.map((label, i) =>
        make("tr", {}, make("th", { scope: "row" }, label), ...this.cells[i]))));
      return [make("div", { class: "controls" }, start, polarity),
        make("div", { class: "scroll" }, grid)];
    }

    /** @param {string[]} rows of "1" and "0" @returns {boolean[][]} */
    cut(rows) {
      return rows.map((row) => [...row].map((one) => one === "1"));
    }

    /** Touch paints a single cell, so the page still scrolls; dragging with a mouse paints more. */
    press(event, i, j) {
      event.target.releasePointerCapture?.(event.pointerId);
      this.paint = !this.mask[i][j];
      this.enter({ buttons: 1 }, i, j);
    }

    enter(event, i, j) {
      this.at = [i, j];
      if (event.buttons === 1 && this.paint !== undefined) this.mask[i][j] = this.paint;
      this.update();
    }

    key(event) {
      const went = (to) => {
        this.at = to;
        this.update();
      };
      if (walk(event, this.cells, this.at, went)) return;
      if (event.key !== " " && event.key !== "Enter") return;
      event.preventDefault();
      const [i, j] = this.at;
      this.mask[i][j] = !this.mask[i][j];
      this.update();
    }

    update() {
      const { labels, masks, scores } = this.data;
      const { words } = this;
      let leaks = 0;
      const painted = this.mask.map((row) => row.map(Number).join("")).join();
      masks.forEach(({ rows }, i) => (this.ready[i].checked = rows.join() === painted));
      const rows = scores.map((row, i) => {
        const open = this.mask[i].some(Boolean); // a query that sees nothing gets zeros, not NaN
        return open ? softmax(row.map((s, j) => (this.mask[i][j] ? s : -Infinity)))
          : row.map(() => 0);
      });
      rows.forEach((weights, i) => weights.forEach((weight, j) => {
        const may = this.mask[i][j];
        const leak = may && j > i;
        leaks += leak;
        const cell = this.cells[i][j];
        const written = may === !this.flipped ? "True" : "False";
        cell.replaceChildren(number(weight, 2), make("small", {}, written));
        cell.className = `${may ? "open" : "closed"} ${leak ? "leak" : ""}`;
        cell.style.setProperty("--weight", weight);
        cell.tabIndex = i === this.at[0] && j === this.at[1] ? 0 : -1;
        cell.parentElement?.classList.toggle("empty", !this.mask[i].some(Boolean));
      }));
      const [i, j] = this.at;
      const values = { query: labels[i], key: labels[j], weight: number(rows[i][j], 2), leaks };
      const said = !this.mask[i].some(Boolean) ? words.nothing
        : this.mask[i][j] ? (j > i ? words.leak : words.look) : words.closed;
      this.say(`${fill(said, values)} ${fill(leaks ? words.leaks : words.no_leak, values)}`);
    }
  });
})();
