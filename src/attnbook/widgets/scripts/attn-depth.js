// A stack of layers: the gradient at the bottom, and how much the rows at the top still differ.
"use strict";
(() => {
  const { Figure, define, fill, make, number, svg } = globalThis.attnbook;
  const [LEFT, WIDE, TOP, HIGH] = [44, 214, 10, 150]; // the area of the curves
  const [ALIKE, LEVELS] = [0.2, 12];

  /** Format a number as in print: 0.42 or 3 · 10⁻⁷. */
  function written(x) {
    if (x >= 0.01 && x < 1000) return number(x, x < 0.1 ? 3 : 2);
    const [digits, power] = x.toExponential(0).split("e");
    const raised = [...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return `${digits} · 10${raised.join("")}`;
  }

  define("attn-depth", class extends Figure {
    static style = `
      .board { display: flex; flex-wrap: wrap; gap: 0.8rem 1.6rem; }
      .board > * { flex: 1 1 15rem; min-width: 0; }
      svg { display: block; width: 100%; user-select: none; }
      text { fill: var(--soft); font-size: 12px; }
      line { stroke: var(--quiet); }
      polyline { fill: none; stroke: var(--line); stroke-width: 1.3; }
      polyline.chosen { stroke: var(--accent); stroke-width: 2.5; }
      circle { fill: var(--accent); }
      .row { display: grid; grid-template-columns: 3.6rem repeat(8, 1fr); gap: 2px;
        align-items: center; height: 2.1rem; margin-top: 0.3rem; }
      .cell { position: relative; height: 100%; background: var(--quiet); }
      .cell i { position: absolute; left: 0; right: 0; top: 50%; height: 50%;
        background: var(--accent); transform-origin: top; transition: transform 0.18s; }`;

    build() {
      const { labels, reaches, start, words } = this.data;
      [this.residual, this.norm, this.depth] = start;
      const depths = reaches[0][0].map((_, depth) => String(depth));
      const controls = make("div", { class: "controls" },
        this.options(words.residual, words.yes_no, this.residual, (at) => (this.residual = at)),
        this.options(words.norm, words.norms, this.norm, (at) => (this.norm = at)),
        this.slider(words.depth, depths, this.depth, (at) => (this.depth = at)));
      this.rows = labels.map((label) => make("div", { class: "row" }, make("span", {}, label),
        ...Array.from({ length: 8 }, () => make("div", { class: "cell" }, make("i")))));
      return [controls, make("div", { class: "board" },
        make("div", {}, make("div", { class: "name" }, words.reach), this.curves()),
        make("div", { "aria-hidden": true }, make("div", { class: "name" }, words.top),
          ...this.rows))];
    }

    /** A curve for each stack, on a logarithmic scale, with a dot at the chosen depth. */
    curves() {
      const { reaches } = this.data;
      const logs = reaches.map((norms) => norms.map((stack) => stack.map((x) => Math.log10(x))));
      const most = Math.ceil(Math.max(...logs.flat(2)));
      const least = Math.floor(Math.min(...logs.flat(2)));
      const last = logs[0][0].length - 1;
      const x = (depth) => LEFT + WIDE * depth / last;
      const y = (log) => TOP + HIGH * (most - log) / (most - least);
      this.place = () => [x(this.depth), y(logs[this.residual][this.norm][this.depth])];
      this.lines = logs.map((norms) => norms.map((stack) =>
        svg("polyline", { points: stack.map((log, depth) => `${x(depth)},${y(log)}`).join(" ") })));
      this.dot = svg("circle", { r: 5 });
      const marks = [];
      for (let log = 0; log >= least; log -= 5) {
        marks.push(svg("line", { x1: LEFT, x2: LEFT + WIDE, y1: y(log), y2: y(log) }),
          svg("text", { x: LEFT - 6, y: y(log) + 4, "text-anchor": "end" },
            log ? written(10 ** log).slice(4) : "1"));
      }
      for (const depth of [0, last / 2, last]) {
        marks.push(svg("text", { x: x(depth), y: TOP + HIGH + 18, "text-anchor": "middle" }, depth));
      }
      return svg("svg", { viewBox: "0 0 270 184", "aria-hidden": true }, ...marks,
        ...this.lines.flat(), this.dot);
    }

    update() {
      const { differences, labels, reaches, rows, words } = this.data;
      const { depth, norm, residual } = this;
      this.lines.forEach((norms, i) => norms.forEach((line, j) =>
        line.classList.toggle("chosen", i === residual && j === norm)));
      const chosen = this.lines[residual][norm];
      chosen.parentNode.append(chosen, this.dot); // above the others
      const [x, y] = this.place();
      this.dot.setAttribute("cx", x);
      this.dot.setAttribute("cy", y);
      const letters = rows[residual][norm][depth];
      const wide = letters.length / labels.length;
      this.rows.forEach((row, i) => row.querySelectorAll("i").forEach((bar, c) => {
        const height = (letters.charCodeAt(i * wide + c) - 97 - LEVELS) / LEVELS;
        bar.style.transform = `scaleY(${-height})`;
      }));
      const difference = differences[residual][norm][depth];
      this.say(fill(words.said, { depth, difference: number(difference, 2),
        reach: written(Number(reaches[residual][norm][depth])),
        alike: difference < ALIKE ? words.alike : words.apart }));
    }
  });
})();
