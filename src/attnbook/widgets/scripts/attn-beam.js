// Beam search as a tree: a row for each step, with the best candidates first.
"use strict";
(() => {
  const { Figure, define, fill, make, number, svg } = globalThis.attnbook;

  /**
   * The candidates of every step, with the sums of their log-probabilities and their scores.
   * @param {{width: number, penalty: number, steps: [number, number, number][][]}} tree
   */
  function grow({ width, penalty, steps }) {
    let beam = [{ total: 0, count: 0, over: false, path: [] }];
    return steps.map((step, row) => {
      const candidates = step.map(([place, word, chance], column) => {
        const before = beam[place];
        const count = before.count + !before.over; // a finished sentence does not grow
        const total = before.total + chance;
        return { place, word, total, count, carried: before.over, over: word === 0,
          score: total / ((5 + count) / 6) ** penalty, kept: column < width,
          path: [...before.path, [row, column]] };
      });
      beam = candidates.slice(0, width);
      return candidates;
    });
  }

  define("attn-beam", class extends Figure {
    static grow = grow;

    static style = `
      .figure { display: flex; flex-direction: column; --row: 2.45rem; }
      .said { order: 1; margin: 0 0 0.8rem; min-height: 2.9em; }
      .tree { order: 2; position: relative; height: calc(var(--rows) * var(--row)); }
      svg { position: absolute; inset: 0; width: 100%; height: 100%; }
      line { stroke: var(--line); stroke-width: 1.2; }
      line.dropped { stroke: var(--quiet); }
      line.chosen { stroke: var(--accent); stroke-width: 3; }
      .row { display: grid; grid-template-columns: repeat(var(--columns), 1fr); height: var(--row); }
      .cell { position: relative; margin: 0 6%; height: calc(var(--row) * 0.66); display: flex;
        flex-wrap: wrap; gap: 0 0.5rem; justify-content: center; align-items: center; line-height: 1.1;
        box-sizing: border-box; border: 1px solid var(--line); border-radius: 0.4rem; cursor: default;
        background: var(--ground); white-space: nowrap; }
      .blank { border: 1px dashed var(--quiet); }
      .kept { background: color-mix(in srgb, var(--ink) 9%, var(--ground)); }
      .dropped { border-style: dashed; border-color: var(--quiet); color: var(--soft); }
      .over { border: 2px solid var(--ink); }
      .carried { border-style: dotted; }
      .chosen { background: var(--accent); border-color: var(--accent); color: var(--ground); }
      .cell .number { font-size: 0.76rem; color: inherit; }
      @media (width < 30rem) { .figure { --row: 2.9rem; } .cell { font-size: 0.72rem; margin: 0 3%;
        flex-direction: column; flex-wrap: nowrap; gap: 0; } .cell .number { font-size: 0.7rem; }
        .said { min-height: 5.8em; } }`;

    build() {
      const { trees } = this.data;
      const { words } = this;
      this.grown = trees.map(grow);
      this.tree = trees.length - 1;
      const middle = Math.floor(this.grown[this.tree].length / 2);
      this.go(middle);
      const rows = Math.max(...this.grown.map((steps) => steps.length));
      const columns = Math.max(...this.grown.flat().map((step) => step.length));
      const names = Array.from({ length: rows }, (_, row) => String(row + 1));
      this.steps = this.stepper(words.steps, names, middle, (row) => this.go(row));
      const controls = make("div", { class: "controls" },
        this.options(words.searches, trees.map(({ name }) => name), this.tree, (tree) => {
          this.tree = tree;
          this.go(Math.min(this.seen, this.grown[tree].length - 1));
        }), this.steps);
      this.lines = svg("svg", { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none",
        "aria-hidden": true });
      this.cells = names.map((_, row) => Array.from({ length: columns }, (__, column) =>
        make("div", { role: "gridcell", onpointerenter: () => this.pick(row, column),
          onpointerdown: () => this.press(row, column) })));
      this.rows = this.cells.map((cells) => make("div", { role: "row", class: "row" }, ...cells));
      const grid = make("div", { class: "tree", role: "grid", "aria-label": words.name,
        onkeydown: (event) => this.key(event) }, this.lines, ...this.rows);
      grid.style.setProperty("--rows", rows);
      grid.style.setProperty("--columns", columns);
      return [controls, grid];
    }

    /** Show the steps up to a row, and choose its best candidate. */
    go(row) {
      this.seen = row;
      this.chosen = [row, 0];
    }

    /** Show the steps up to the pressed cell, if they are still hidden, and pick that cell. */
    press(row, column) {
      this.seen = Math.max(this.seen, Math.min(row, this.grown[this.tree].length - 1));
      this.pick(row, column);
    }

    pick(row, column) {
      if (row > this.seen || !this.grown[this.tree][row]?.[column]) return;
      this.chosen = [row, column];
      this.update();
    }

    key(event) {
      const [row, column] = this.chosen;
      const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
        ArrowRight: [0, 1] }[event.key] ?? [];
      if (down === undefined) return;
      event.preventDefault();
      const steps = this.grown[this.tree];
      const next = Math.max(0, Math.min(steps.length - 1, row + down));
      this.seen = Math.max(this.seen, next); // down from the last visible row shows one more step
      this.pick(next, Math.max(0, Math.min(steps[next].length - 1, column + right)));
      this.cells[this.chosen[0]][this.chosen[1]].focus();
    }

    update() {
      const { trees, vocabulary } = this.data;
      const { chosen, seen, words } = this;
      const steps = this.grown[this.tree];
      const { input } = this;
      input.max = steps.length - 1;
      input.value = seen;
      this.steps.querySelector("output").textContent = seen + 1;
      input.setAttribute("aria-valuetext", seen + 1);
      const picked = steps[chosen[0]][chosen[1]];
      const path = new Set(picked.path.map(String));
      const lines = [];
      this.cells.forEach((cells, row) => {
        this.rows[row].style.visibility = steps[row] ? "" : "hidden";
        cells.forEach((cell, column) => {
          const one = steps[row]?.[column];
          cell.style.visibility = one ? "" : "hidden";
          cell.tabIndex = -1;
          cell.className = "cell blank";
          cell.replaceChildren();
          if (!one || row > seen) return;
          const on = path.has(String([row, column]));
          const name = one.carried ? words.over : vocabulary[one.word];
          cell.replaceChildren(make("span", {}, name),
            make("span", { class: "number" }, number(one.score, 2)));
          cell.className = ["cell", one.kept ? "kept" : "dropped", one.over && "over",
            one.carried && "carried", on && "chosen"].filter(Boolean).join(" ");
          if (String(chosen) === String([row, column])) cell.tabIndex = 0;
          cell.setAttribute("aria-selected", on);
          if (row > 0) {
            lines.push([on, svg("line", { class: `${one.kept ? "kept" : "dropped"} ${on ? "chosen" : ""}`,
              x1: one.place + 0.5, x2: column + 0.5, y1: row - 0.34, y2: row,
              "vector-effect": "non-scaling-stroke" })]);
          }
        });
      });
      this.lines.replaceChildren(...lines.sort(([a], [b]) => a - b).map(([, line]) => line));
      const sentence = picked.path.map(([row, column]) => steps[row][column])
        .filter(({ carried }) => !carried).map(({ word }) => vocabulary[word]).join(" ");
      this.say(fill(picked.kept ? words.kept : words.dropped, { sentence, count: picked.count,
        total: number(picked.total, 2), score: number(picked.score, 2),
        width: trees[this.tree].width }));
    }
  });
})();
