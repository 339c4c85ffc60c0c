// Two positions as clock hands: the reader moves one, and the other stays a chosen step away.
"use strict";
(() => {
  const { Figure, define, fill, make, number, svg } = globalThis.attnbook;

  /** @param {number} t @param {number} width @returns {number[]} sin and cos of t · ω_k */
  function encoding(t, width) {
    const hands = Array.from({ length: width / 2 }, (_, k) => t / 10000 ** (2 * k / width));
    return hands.flatMap((angle) => [Math.sin(angle), Math.cos(angle)]);
  }

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

  define("attn-dial", class extends Figure {
    static encoding = encoding;

    static style = `
      .parts { display: grid; grid-template-columns: 9rem 1fr; gap: 0.8rem 1.6rem; }
      .map { position: relative; height: 21rem; cursor: ns-resize; touch-action: pan-y; }
      canvas { width: 100%; height: 100%; image-rendering: pixelated; border-radius: 0.3rem;
        display: block; }
      .mark { position: absolute; left: -4px; right: -4px; border: 2px solid var(--ink);
        border-radius: 3px; pointer-events: none; box-sizing: border-box; }
      .mark.from { border-style: dashed; border-color: var(--soft); }
      .clocks { display: grid; grid-template-columns: repeat(4, 1fr); gap: 0.3rem 0.6rem; }
      svg { display: block; width: 100%; overflow: visible; }
      .face { fill: none; stroke: var(--line); }
      .from { stroke: var(--soft); stroke-dasharray: 4 3; }
      .to { stroke: var(--ink); stroke-width: 2.4; }
      .turn { fill: color-mix(in srgb, var(--accent) 28%, transparent); }
      .label { color: var(--soft); font-size: 0.78rem; text-align: center; }
      .ends { display: flex; justify-content: space-between; padding: 0 3%; }
      .curve { fill: none; stroke: var(--ink); stroke-width: 1.6; }
      .axis { stroke: var(--line); }
      .dot { fill: var(--accent); }
      @media (width < 30rem) { .parts { grid-template-columns: 4.6rem 1fr; gap: 0.8rem; }
        .clocks { grid-template-columns: repeat(2, 1fr); } }`;

    build() {
      const { length, width, reach } = this.data;
      const { words } = this;
      this.t = this.data.t;
      this.step = this.data.step;
      const places = Array.from({ length }, (_, t) => String(t));
      const steps = Array.from({ length: 2 * reach + 1 }, (_, i) =>
        (i > reach ? "+" : "") + number(i - reach, 0));
      this.place = this.slider(words.position, places, this.t, (t) => (this.t = t));
      const controls = make("div", { class: "controls" }, this.place,
        this.slider(words.step, steps, this.step + reach, (i) => (this.step = i - reach)));

      const canvas = make("canvas", { width, height: length });
      const pen = canvas.getContext("2d");
      const style = getComputedStyle(document.documentElement);
      const [below, above] = ["below", "above"].map((sign) =>
        style.getPropertyValue(`--signed-${sign}`));
      for (let t = 0; t < length; t++) {
        encoding(t, width).forEach((x, column) => {
          pen.globalAlpha = Math.abs(x);
          pen.fillStyle = x < 0 ? below : above;
          pen.fillRect(column, t, 1, 1);
        });
      }
      this.marks = ["from", "to"].map((name) => make("div", { class: `mark ${name}` }));
      const pick = (event) => {
        if (event.type === "pointermove" && event.buttons !== 1) return;
        const box = canvas.getBoundingClientRect();
        const t = Math.floor(length * (event.clientY - box.top) / box.height);
        const input = this.place.querySelector("input");
        input.value = Math.max(0, Math.min(length - 1, t));
        input.dispatchEvent(new Event("input"));
      };
      const map = make("div", { class: "map", onpointerdown: pick, onpointermove: pick },
        canvas, ...this.marks);

      this.clocks = Array.from({ length: width / 2 }, (_, k) => {
        const turn = svg("path", { class: "turn" });
        const hands = ["from", "to"].map((name) => svg("line", { class: name, x1: 0, y1: 0 }));
        const drawing = svg("svg", { viewBox: "-34 -34 68 68", "aria-hidden": true },
          svg("circle", { class: "face", r: 32 }), turn, ...hands);
        const clock = make("div", { class: "label" }, drawing, fill(words.hand, { k }));
        return { clock, turn, hands };
      });
      this.dot = svg("circle", { class: "dot", r: 5 });
      const here = encoding(0, width);
      this.products = steps.map((_, i) => dot(here, encoding(i - reach, width)));
      const points = this.products.map((y, i) => `${this.x(i - reach)},${this.y(y)}`);
      const curve = svg("svg", { viewBox: "0 0 320 92", "aria-hidden": true },
        svg("line", { class: "axis", x1: 10, x2: 310, y1: this.y(0), y2: this.y(0) }),
        svg("polyline", { class: "curve", points: points.join(" ") }), this.dot);
      const axis = make("div", { class: "label ends" }, make("span", {}, number(-reach, 0)),
        words.axis, make("span", {}, `+${reach}`));
      return [controls, make("div", { class: "parts" }, map, make("div", {},
        make("div", { class: "clocks" }, ...this.clocks.map(({ clock }) => clock)), curve, axis))];
    }

    x(step) { return 160 + 150 * step / this.data.reach; }

    y(product) { return 88 - 80 * product / (this.data.width / 2); }

    update() {
      const { length, width } = this.data;
      const [t, to] = [this.t, this.t + this.step];
      const rows = [encoding(t, width), encoding(to, width)];
      this.marks.forEach((mark, i) => {
        const at = [t, to][i];
        mark.style.display = at < 0 || at >= length ? "none" : "";
        mark.style.top = `calc(${100 * at / length}% - 2px)`;
        mark.style.height = `calc(${100 / length}% + 4px)`;
      });
      this.clocks.forEach(({ turn, hands }, k) => {
        hands.forEach((hand, i) => { // x is the sine, y the cosine
          hand.setAttribute("x2", 30 * rows[i][2 * k]);
          hand.setAttribute("y2", -30 * rows[i][2 * k + 1]);
        });
        const angle = this.step / 10000 ** (2 * k / width);
        const [ax, ay, bx, by] = [rows[0], rows[1]].flatMap((row) =>
          [18 * row[2 * k], -18 * row[2 * k + 1]]);
        const rest = angle % (2 * Math.PI);
        turn.setAttribute("d", `M0 0L${ax} ${ay}A18 18 0 ${Math.abs(rest) > Math.PI ? 1 : 0} ${
          angle > 0 ? 1 : 0} ${bx} ${by}Z`);
      });
      const product = dot(...rows);
      this.dot.setAttribute("cx", this.x(this.step));
      this.dot.setAttribute("cy", this.y(product));
      this.say(fill(this.words.said, { t, to, step: number(this.step, 0),
        product: number(product, 4), degrees: number(180 / Math.PI * this.step, 0) }));
    }
  });
})();
