// Arrows to turn and lengthen: how length and angle affect dot products and cosines.
"use strict";
(() => {
  const { Figure, define, fill, make, number, softmax, svg } = globalThis.attnbook;
  const SIZE = 160; // of the plane, from the origin to its edge
  const DEGREE = Math.PI / 180;
  const TREMOR = 4 * DEGREE; // a drag that turns an arrow by less only changes its length

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const angle = ([x, y]) => Math.atan2(y, x);

  /** Wrap an angle. @param {number} turn @returns {number} between −π and π */
  const around = (turn) => Math.atan2(Math.sin(turn), Math.cos(turn));

  /** Lengths, products, cosines and weights. @param {number[]} query @param {number[][]} keys */
  function measure(query, keys) {
    const lengths = keys.map((key) => Math.hypot(...key));
    const dots = keys.map((key) => dot(query, key));
    const cosines = dots.map((product, j) => product / lengths[j] / Math.hypot(...query));
    return { lengths, dots, cosines, weights: softmax(dots), fair: softmax(cosines) };
  }

  define("attn-plane", class extends Figure {
    static measure = measure;

    static style = `
      .parts { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.4rem;
        align-items: center; }
      svg { display: block; width: 100%; overflow: visible; user-select: none;
        -webkit-user-select: none; }
      .ring { fill: none; stroke: var(--line); stroke-width: 1.2; opacity: 0.5; }
      .tick { fill: var(--soft); font-size: 14px; }
      .line { stroke: var(--line); stroke-dasharray: 2 5; }
      .drop { stroke: var(--ink); stroke-dasharray: 2 4; stroke-width: 1.4; }
      .shadow { stroke: var(--role-key-fill); stroke-width: 9; opacity: 0.35; }
      .arrow { cursor: grab; color: var(--role-key-fill); }
      .arrow * { touch-action: none; }
      .arrow.query { color: var(--role-query-fill); }
      .arrow:active { cursor: grabbing; }
      .arrow line { stroke: currentColor; stroke-width: 3; }
      .arrow polygon { fill: currentColor; }
      .disc { fill: color-mix(in srgb, currentColor 82%, #000); } /* dark enough for white text */
      .touch { fill: transparent; }
      .arrow text { fill: #fff; font-size: 14px; font-weight: 700; text-anchor: middle;
        dominant-baseline: central; }
      .ground { fill: none; stroke: transparent; stroke-width: 2.5; }
      .arrow:focus-visible { outline: none; }
      .arrow:focus-visible .ground { stroke: var(--ink); }
      .card { padding: 0.35rem 0.6rem 0.5rem; border-radius: 0.4rem; transition: background 0.18s; }
      .card.picked { background: color-mix(in srgb, var(--ink) 8%, transparent); }
      .facts { display: grid; grid-template-columns: 1.4rem 1fr 1fr 1.5fr; gap: 0.5rem;
        align-items: baseline; color: var(--soft); }
      .facts b { color: var(--ink); }
      .facts span, .bars span { white-space: nowrap; }
      .facts .number { display: block; }
      .bars { display: grid; grid-template-columns: max-content 1fr 2.2rem; gap: 0.15rem 0.6rem;
        align-items: center; margin-top: 0.15rem; }
      .bars .number { text-align: right; }
      .track { height: 0.8rem; background: var(--quiet); border-radius: 0.15rem;
        overflow: hidden; }
      .bar { height: 100%; background: var(--role-weights-fill); transform-origin: left; }
      @media (width < 44rem) { .parts { grid-template-columns: 1fr; gap: 0.6rem; }
        svg { max-width: 23rem; margin: auto; } .said { min-height: 4.4em; } }`;

    build() {
      const { query, keys, names, reach } = this.data;
      const { words } = this;
      this.vectors = [query, ...keys].map((vector) => [...vector]);
      this.at = 1;
      this.unit = SIZE / reach;
      const lengths = Array.from({ length: reach }, (_, i) => i + 1);
      this.line = svg("line", { class: "line" });
      this.shadow = svg("line", { class: "shadow", x1: 0, y1: 0 });
      this.drop = svg("line", { class: "drop" });
      this.arrows = this.vectors.map((_, i) => this.arrow(i, i ? names[i - 1] : "q",
        i ? fill(words.key, { name: names[i - 1] }) : words.query));
      this.plane = svg("svg", { viewBox: [-SIZE - 30, -SIZE - 30, 2 * SIZE + 60, 2 * SIZE + 60] },
        svg("g", { "aria-hidden": true }, ...lengths.flatMap((r) => [
          svg("circle", { class: "ring", r: this.unit * r }),
          svg("text", { class: "tick", x: 4, y: this.unit * r - 5 }, String(r))])),
        this.line, this.shadow, this.drop, ...this.arrows);
      this.cards = names.map((name) => make("div", { class: "card" },
        make("div", { class: "facts" }, make("b", {}, name),
          ...[words.length, words.cosine, words.dot].map((word) =>
            make("span", {}, word, make("span", { class: "number" })))),
        make("div", { class: "bars" }, ...[words.by_dot, words.by_cosine].flatMap((word) => [
          make("span", {}, word), make("div", { class: "track" }, make("div", { class: "bar" })),
          make("span", { class: "number" })]))));
      return [make("div", { class: "parts" }, this.plane, make("div", {}, ...this.cards))];
    }

    /** Draw an arrow, with a disc beyond its tip as a handle. */
    arrow(i, letter, name) {
      const turned = svg("g", {}, svg("line", { x1: 0, y1: 0, y2: 0 }),
        svg("polygon", { points: "-11,-6 0,0 -11,6" }));
      const held = svg("g", {}, svg("circle", { class: "touch", r: 24 }),
        svg("circle", { class: "disc", r: 11 }), svg("circle", { class: "ground", r: 14 }),
        svg("text", {}, letter));
      const arrow = svg("g", { class: `arrow ${i ? "" : "query"}`, role: "slider", tabindex: 0,
        "aria-label": name, "aria-valuemin": 0, "aria-valuemax": this.data.reach }, turned, held);
      const pick = () => (this.at = i, this.update());
      arrow.addEventListener("focus", pick);
      arrow.addEventListener("pointerdown", (event) => {
        event.preventDefault(); // do not select text
        arrow.focus({ preventScroll: true });
        arrow.setPointerCapture(event.pointerId);
        const [x, y] = this.point(event);
        const [tx, ty] = this.vectors[i];
        this.grip = { off: [tx - x, ty - y], from: angle(this.vectors[i]) };
      });
      arrow.addEventListener("pointermove", (event) => {
        if (!arrow.hasPointerCapture(event.pointerId)) return;
        const { off, from } = this.grip;
        const [x, y] = this.point(event);
        const to = [x + off[0], y + off[1]];
        const turn = around(angle(to) - from);
        const meant = Math.sign(turn) * Math.max(0, Math.abs(turn) - TREMOR);
        this.set(i, Math.hypot(...to), from + meant);
      });
      arrow.addEventListener("keydown", (event) => {
        const moves = { ArrowUp: [0.1, 0], ArrowDown: [-0.1, 0], ArrowLeft: [0, 5],
          ArrowRight: [0, -5] };
        if (!(event.key in moves)) return;
        event.preventDefault();
        const [longer, turn] = moves[event.key];
        this.set(i, Math.hypot(...this.vectors[i]) + longer,
          angle(this.vectors[i]) + turn * DEGREE);
      });
      return arrow;
    }

    /** The pointer's position in the plane's coordinates. */
    point({ clientX, clientY }) {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(
        this.plane.getScreenCTM().inverse());
      return [x / this.unit, -y / this.unit];
    }

    set(i, length, direction) {
      const kept = Math.max(0.2, Math.min(this.data.reach, length));
      this.vectors[i] = [kept * Math.cos(direction), kept * Math.sin(direction)];
      this.update();
    }

    update() {
      const { names, reach } = this.data;
      const { words, at } = this;
      const [query, ...keys] = this.vectors;
      const { lengths, dots, cosines, weights, fair } = measure(query, keys);
      const span = (line, a, b) => {
        for (const [name, x] of [["x1", a[0]], ["y1", -a[1]], ["x2", b[0]], ["y2", -b[1]]]) {
          line.setAttribute(name, this.unit * x);
        }
      };
      this.arrows.forEach((arrow, i) => {
        const length = Math.hypot(...this.vectors[i]);
        const [x, y] = this.vectors[i].map((part) => part / length);
        const [turned, held] = arrow.children;
        turned.setAttribute("transform", `rotate(${-angle(this.vectors[i]) / DEGREE})`);
        turned.firstChild.setAttribute("x2", Math.max(0, this.unit * length - 9));
        turned.lastChild.setAttribute("transform", `translate(${this.unit * length})`);
        const out = this.unit * length + 14;
        held.setAttribute("transform", `translate(${out * x} ${-out * y})`);
        arrow.setAttribute("aria-valuenow", length.toFixed(2));
        arrow.setAttribute("aria-valuetext", fill(words.turned, { length: number(length, 2),
          degrees: number(angle(this.vectors[i]) / DEGREE, 0) }));
      });
      const ahead = query.map((part) => part / Math.hypot(...query));
      span(this.line, ahead.map((part) => -reach * part), ahead.map((part) => reach * part));
      this.shadow.style.display = this.drop.style.display = at ? "" : "none";
      if (at) {
        const foot = ahead.map((part) => part * dot(ahead, keys[at - 1]));
        span(this.shadow, [0, 0], foot);
        span(this.drop, keys[at - 1], foot);
      }
      this.cards.forEach((card, j) => {
        card.classList.toggle("picked", j === at - 1);
        const shown = [lengths[j], cosines[j], dots[j], weights[j], fair[j]];
        card.querySelectorAll(".number").forEach((one, n) =>
          (one.textContent = number(shown[n], 2)));
        card.querySelectorAll(".bar").forEach((bar, n) =>
          (bar.style.transform = `scaleX(${shown[3 + n]})`));
      });
      const first = at ? at - 1 : weights.indexOf(Math.max(...weights));
      this.say(fill(at ? words.said : words.said_query, { name: names[first],
        length: number(Math.hypot(...this.vectors[at]), 2), weight: number(weights[first], 2),
        fair: number(fair[first], 2), degrees: number(Math.abs(around(angle(keys[first]) -
          angle(query))) / DEGREE, 0) }));
    }
  });
})();
