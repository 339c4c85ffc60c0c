// The steps of a head, cell by cell: the terms of the chosen cell and their result.
"use strict";
(() => {
  const { Figure, define, fill, make, number, softmax, walk } = globalThis.attnbook;

  // What each step computes, then its inputs: the one on the left, if any, and the one above.
  const STEPS = [["Q", "X", "W_Q"], ["K", "X", "W_K"], ["V", "X", "W_V"], ["scores", "Q", "Kᵀ"],
    ["scaled", "", "scores"], ["masked", "", "scaled"], ["weights", "", "masked"],
    ["output", "weights", "V"]];
  const MADE = STEPS.map(([made]) => made);
  const WIDTH = { X: 0, W_Q: 1, Q: 1, W_K: 1, K: 1, W_V: 2, V: 2, output: 2 }; // others: one column per word
  const MANY = 8; // with more columns or rows, cells have no room for numbers

  /** The product of two matrices. */
  const product = (a, b) => a.map((row) => b[0].map((_, c) =>
    row.reduce((sum, x, k) => sum + x * b[k][c], 0)));

  /** A number with two decimal places, or fewer if there is no room. */
  const shown = (x, room = 1e5) => (x === -Infinity ? "−∞"
    : x >= 1e5 ? x.toExponential(1).replace("+", "")
      : number(x, Math.abs(x) < room ? 2 : Math.abs(x) < 10 * room ? 1 : 0));

  define("attn-steps", class extends Figure {
    static style = `
      .steps { flex-basis: 100%; }
      .stage { display: flex; flex-wrap: wrap; align-items: end; gap: 0.6rem 2.4rem;
        font-variant-numeric: tabular-nums; }
      .scroll { overflow-x: auto; }
      .board, .row { display: flex; }
      .board { --row: 2rem; --w: 2.75rem; align-items: end; gap: 0.5rem; width: max-content;
        font-size: 0.8rem; }
      .title { height: 1.5rem; color: var(--text, var(--soft)); }
      .side { text-align: right; padding-bottom: 1.5rem; }
      .label { display: flex; flex-direction: column; justify-content: center; line-height: 1.1;
        color: var(--soft); }
      .side .label { height: var(--row); }
      .heads { height: 2.1rem; }
      .heads .label { width: var(--w); text-align: center; }
      small { font-size: 0.7rem; }
      .over { --row: 1.7rem; height: var(--high); position: relative; display: flex;
        flex-direction: column; justify-content: end; }
      .over .side { position: absolute; right: calc(100% + 0.5rem); bottom: 0; padding: 0; }
      .cell { --most: 46%; box-sizing: border-box; width: var(--w); height: var(--row);
        display: grid; place-items: center; border: 1px solid var(--ground);
        border-radius: 0.25rem; background-color: color-mix(in srgb, var(--fill, var(--line))
        calc(6% + var(--most) * var(--deep)), var(--ground)); }
      .lit { box-shadow: inset 0 0 0 1.5px var(--text, var(--soft)); }
      [aria-selected] { cursor: pointer; }
      .cell[aria-selected=true] { box-shadow: inset 0 0 0 2.5px var(--ink); }
      .sum { --term: 8.4rem; flex: 1 1 100%; line-height: 1.7; white-space: nowrap;
        display: grid; grid-template-columns: repeat(auto-fill, minmax(var(--term), 1fr)); }
      .sum.few { flex: 1 1 15rem; grid-template-columns: 1fr; }
      b { font-weight: 600; color: var(--text, var(--ink)); }
      sup { line-height: 0; }
      i { display: inline-block; width: 1.1em; font-style: normal; }
      .comes { grid-column: 1 / -1; font-size: 1.1rem; }
      @media (width < 30rem) { .board { --w: 2.15rem; gap: 0.3rem; font-size: 0.7rem; }
        .sum { --term: 6.6rem; font-size: 0.78rem; } .said { min-height: 4.4em; }
        .steps .options { display: grid; grid-template-columns: repeat(4, 1fr); }
        .steps label:nth-child(n + 5) { border-top: 1px solid var(--line); } }
      .wide { --w: min(0.72rem, 1.75vw); }
      .over.tall { --row: 0.42rem; }
      .small { --most: 94%; font-size: 0; border-radius: 0.12rem; }
      [aria-hidden] .small:not(.lit) { opacity: 0.45; }
      .tall .lit { box-shadow: none; }`;

    /** Decode rows of the given width: 16 bits per number, in ten-thousandths. */
    static unpack([width, text]) {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const all = Array.from(new Int16Array(bytes.buffer), (x) => x / 1e4);
      return Array.from({ length: all.length / width }, () => all.splice(0, width));
    }

    /** Every matrix of a head, by its name. */
    static head(X, [W_Q, W_K, W_V], causal) {
      const [Q, K, V] = [W_Q, W_K, W_V].map((w) => product(X, w));
      const turned = K[0].map((_, c) => K.map((row) => row[c]));
      const scores = product(Q, turned);
      const scaled = scores.map((row) => row.map((s) => s / Math.sqrt(Q[0].length)));
      const masked = scaled.map((row, i) => row.map((s, j) => (causal && j > i ? -Infinity : s)));
      const weights = masked.map(softmax);
      return { X, W_Q, W_K, W_V, Q, K, "Kᵀ": turned, V, scores, scaled, masked, weights,
        output: product(weights, V) };
    }

    build() {
      const { sentences, matrices, start: [row, word], words } = this.data;
      const { head, unpack } = this.constructor;
      const x = sentences.map((sentence) => unpack(sentence.x));
      const w = matrices.map(unpack);
      this.row = row;
      this.chosen = { false: 0, true: word }; // the column, keyed by whether columns are words
      const state = { sentence: 0, step: 0, causal: 0 };
      const turn = () => {
        this.labels = sentences[state.sentence].words;
        this.all = head(x[state.sentence], w, state.causal);
        this.step = STEPS[state.step];
        this.draw(...this.step);
      };
      const choice = (name, key, labels) =>
        this.options(name, labels, 0, (position) => turn(state[key] = position));
      const steps = choice(words.steps, "step", words.made);
      steps.className = "steps";
      const controls = make("div", { class: "controls" },
        choice(words.mask, "causal", [words.nothing, words.causal]), steps);
      const names = sentences.map((sentence) => sentence.name);
      if (names.length > 1) controls.prepend(choice(words.sentences, "sentence", names));
      this.board = make("div", { class: "board" });
      this.sum = make("div", { class: "sum" });
      turn();
      return [controls, make("div", { class: "stage" },
        make("div", { class: "scroll" }, this.board), this.sum)];
    }

    /** The names of a matrix's columns. */
    called(name) {
      return name in WIDTH ? this.data.columns?.[WIDTH[name]]
        ?? this.all[name][0].map((_, c) => c) : this.labels;
    }

    /** Draw the matrix that a step computes, with its inputs. */
    draw(made, left, top) {
      this.cells = {};
      const labels = (kind, names) => make("div", { class: kind },
        ...(names.length > MANY ? [] : names).map((text) => {
          const [word, ...gloss] = String(text).split(" ");
          return make("div", { class: "label" }, word, make("small", {}, gloss.join(" ")));
        }));
      const part = (name, kind, ...before) => {
        const [high, wide] = [this.all[name].length, this.all[name][0].length];
        const title = make("div", { class: "title" },
          `${this.words.made[MADE.indexOf(name)] ?? name} (${high}, ${wide})`);
        const grid = this.grid(name, name === made);
        const inside = kind ? [title, grid, ...before]
          : [...before, labels("row heads", this.called(name)), grid, title];
        const size = `${high > MANY ? "tall" : ""} ${wide > MANY ? "wide" : ""}`;
        return this.paint(make("div", { class: `${kind} ${size}` }, ...inside), name);
      };
      const high = ["W_Q", "Kᵀ", "V"].map((name) => this.all[name].length)
        .map((rows) => rows * (rows > MANY ? 0.42 : 1.7));
      this.board.style.setProperty("--high", `${1.5 + Math.max(...high)}rem`);
      this.board.replaceChildren(labels("side", this.labels), ...(left ? [part(left, "")] : []),
        part(made, "", part(top, "over", labels("side", this.called(left)))));
    }

    /** Draw a matrix and keep its cells. The cells of a step's result can be picked. */
    grid(name, made) {
      const matrix = this.all[name];
      const known = [0, ...matrix.flat().filter(Number.isFinite)];
      const [least, most] = [Math.min(...known), Math.max(...known)];
      const size = matrix.length > MANY || matrix[0].length > MANY ? "small" : "";
      this.cells[name] = matrix.map((row, i) => row.map((value, j) => {
        const pick = () => this.pick([i, j]);
        const cell = make("div", {
          class: `cell ${size} ${value === -Infinity ? "closed" : ""}`,
          ...(made && { role: "gridcell", onpointerdown: pick, onpointerenter: pick }),
        }, shown(value, 10));
        cell.style.setProperty("--deep", (value - least) / (most - least));
        return cell;
      }));
      const onkeydown = (event) => walk(event, this.cells[name], this.at, (to) => this.pick(to));
      return make("div", made ? { role: "grid", "aria-label": this.words.name, onkeydown }
        : { "aria-hidden": true }, ...this.cells[name].map((row) =>
        make("div", { class: "row", role: made ? "row" : "none" }, ...row)));
    }

    /** Give an element the colors of a matrix's role, if it has one. */
    paint(element, name) {
      const role = this.data.roles[name];
      element.style.setProperty("--fill", role ? `var(--role-${role}-fill)` : "initial");
      element.style.setProperty("--text", role ? `var(--role-${role})` : "initial");
      return element;
    }

    /** The chosen row and column. */
    get at() {
      const [made] = this.step;
      return [this.row, Math.min(this.chosen[!(made in WIDTH)], this.all[made][0].length - 1)];
    }

    pick([i, j]) {
      this.row = i;
      this.chosen[!(this.step[0] in WIDTH)] = j;
      this.update();
    }

    update() {
      const { all, at: [row, j], cells, words, labels } = this;
      const [made, left, top] = this.step;
      const each = (name, change) => cells[name].forEach((line, i) => line.forEach((cell, c) =>
        change(cell, i === row, c === j)));
      const light = (cell, whether) => cell.classList.toggle("lit", whether);
      if (left) each(left, light);
      each(top, (cell, its, same) =>
        light(cell, left ? same : its && (same || made === "weights")));
      each(made, (cell, its, same) => {
        cell.setAttribute("aria-selected", its && same);
        cell.tabIndex = its && same ? 0 : -1;
      });
      const terms = this.terms(made, left, top);
      const most = Math.max(...["X", "Q", "weights"].map((name) => all[name][0].length));
      const few = this.sum.classList.toggle("few", most <= MANY);
      while (terms.length <= most) terms.splice(few ? 0 : -1, 0, make("span", {}, "\u00a0"));
      this.sum.replaceChildren(...terms);
      const value = all[made][row][j];
      this.say(fill(value === -Infinity ? words.closed : words.said[MADE.indexOf(made)], {
        query: labels[row], key: labels[j], column: this.called(made)[j], width: all.Q[0].length,
        value: shown(value) }));
    }

    /** The chosen cell written out: its terms and their result. */
    terms(made, left, top) {
      const { all, at: [row, j] } = this;
      const mark = (x, name) => this.paint(make("b", {}, shown(x)), name);
      const line = (sign, ...parts) => make("span", {}, make("i", {}, sign), ...parts);
      const result = line("=", mark(all[made][row][j], made));
      result.className = "comes";
      if (left) {
        return [...all[left][row].map((x, k) => line(k ? "+" : "", mark(x, left), " · ",
          mark(all[top][k][j], top))), result];
      }
      const from = all[top][row];
      if (made !== "weights") {
        const root = made === "scaled" ? ` ÷ √${all.Q[0].length}` : "";
        return [line("", mark(from[j], top), root), result];
      }
      const raised = from.map(Math.exp);
      const total = raised.reduce((sum, x) => sum + x);
      result.prepend(`${shown(raised[j])} ÷ ${shown(total)} `);
      return [...from.map((x, k) => line(k ? "+" : "", "e", make("sup", {}, shown(x)),
        ` = ${shown(raised[k])}`)), result];
    }
  });
})();
