// A softmax whose keys arrive in blocks; the reader picks their order and the size of the blocks.
"use strict";
(() => {
  const { Figure, define, fill, make, number } = globalThis.attnbook;

  /**
   * What is known after each block: the largest score, the factor for the earlier sums, and the sum
   * and the mixture of values, both relative to that largest score.
   * @param {number[]} scores @param {number[][]} values @param {number[]} order @param {number} size
   */
  function gather(scores, values, order, size) {
    let largest = -Infinity;
    let total = 0;
    let mixed = values[0].map(() => 0);
    const steps = [];
    for (let from = 0; from < order.length; from += size) {
      const block = order.slice(from, from + size);
      const before = largest;
      largest = Math.max(largest, ...block.map((key) => scores[key]));
      const shrink = Math.exp(before - largest);
      const powers = block.map((key) => Math.exp(scores[key] - largest));
      const plus = powers.reduce((sum, power) => sum + power, 0);
      total = total * shrink + plus;
      mixed = mixed.map((x, d) =>
        powers.reduce((sum, power, i) => sum + power * values[block[i]][d], x * shrink));
      steps.push({ block, largest, shrink, plus, total, mixed });
    }
    return steps;
  }

  define("attn-online", class extends Figure {
    static gather = gather;

    static style = `
      .board { display: grid; grid-template-columns: 5.2rem 1fr; }
      .names, .column { display: grid; grid-template-rows: 2.1rem 7.4rem repeat(4, 1.55rem);
        align-items: center; }
      .names { color: var(--soft); }
      .names > :nth-child(2) { align-self: end; padding-bottom: 0.15rem; }
      .columns { position: relative; height: 15.7rem; }
      .column { position: absolute; inset: 0 auto 0 0; width: calc(100% / var(--count));
        transform: translateX(calc(100% * var(--place))); transition: transform 0.22s;
        text-align: center; font-variant-numeric: tabular-nums; isolation: isolate; }
      .column::before { content: ""; position: absolute; inset: 0; z-index: -1;
        background: color-mix(in srgb, var(--ink) 5%, transparent); }
      .column.first::before { border-radius: 0.4rem 0 0 0.4rem; left: 2px; }
      .column.last::before { border-radius: 0 0.4rem 0.4rem 0; right: 2px; }
      .column.first.last::before { border-radius: 0.4rem; }
      .column.now::before { background: color-mix(in srgb, var(--accent) 20%, transparent); }
      .column.held { z-index: 1; }
      .column.waits > :not(button, .score) { visibility: hidden; }
      .column.waits .score { color: var(--soft); }
      .column.shrinks .shrink, .column.new .largest { font-weight: 700; }
      .column button { font: inherit; color: inherit; background: var(--ground); padding: 0;
        border: 1px solid var(--line); margin: 0 6px; border-radius: 0.4rem; cursor: grab;
        touch-action: pan-y; user-select: none; -webkit-user-select: none; height: 1.75rem; }
      .column button:hover { border-color: var(--ink); }
      button:focus-visible { outline: 3px solid var(--accent); outline-offset: -2px; }
      .space { position: relative; height: 7.1rem; align-self: end; margin: 0 18%; }
      .bar { position: absolute; inset: 1.3rem 0 0; background: var(--line); border-radius: 2px 2px 0 0;
        transform-origin: bottom; transition: transform 0.22s; }
      .power { position: absolute; inset: auto -40% 0; transition: transform 0.22s;
        font-size: 0.78rem; }
      .output { display: grid; grid-auto-flow: column; grid-auto-columns: 1fr; gap: 2px;
        height: 6rem; margin-top: 0.3rem; position: relative; }
      .output::before { content: ""; position: absolute; inset: 50% 0 auto; height: 1px;
        background: var(--line); }
      .output > div { position: relative; }
      .output i { position: absolute; left: 0; right: 0; top: 50%; height: 50%;
        background: var(--soft); transform-origin: top; transition: transform 0.22s; }
      .output b { position: absolute; left: -1px; right: -1px; top: calc(50% - 1.25px); height: 2.5px;
        background: var(--accent); }
      .caption { color: var(--soft); margin-top: 0.9rem; }
      .said { min-height: 4.4em; }
      @media (width < 30rem) { .board { grid-template-columns: 3.9rem 1fr; font-size: 0.78rem; }
        .column button { margin: 0 2px; } .column button, .power, .names { font-size: 0.7rem; }
        .names { white-space: nowrap; } .said { min-height: 7.3em; } }`;

    build() {
      const { labels, sizes } = this.data;
      const { words } = this;
      this.order = labels.map((_, i) => i);
      this.size = sizes[0];
      this.seen = Math.ceil(labels.length / 2);
      this.steps = this.stepper(words.seen, labels.map((_, i) => String(i + 1)), this.seen - 1,
        (position) => (this.seen = position + 1));
      const controls = make("div", { class: "controls" }, this.steps,
        this.options(words.sizes, sizes.map(String), 0, (position) => {
          const keys = Math.min(this.seen * this.size, labels.length);
          this.size = sizes[position];
          this.seen = Math.ceil(keys / this.size);
        }));
      const row = (name) => make("span", { class: name });
      this.columns = labels.map((label, key) => {
        const button = make("button", { type: "button",
          onclick: () => this.held === undefined && this.move(key, this.order.indexOf(key) - 1),
          onkeydown: (event) => this.key(event, key),
          onpointerdown: (event) => this.grab(event, key),
        }, label);
        return make("div", { class: "column" }, button,
          make("div", { class: "space" }, make("div", { class: "bar" }), row("power")),
          row("score"), row("largest"), row("shrink"), row("total"));
      });
      const columns = make("div", { class: "columns" }, ...this.columns);
      columns.style.setProperty("--count", labels.length);
      this.place = (x) => {
        const box = columns.getBoundingClientRect();
        return Math.floor((x - box.left) / box.width * labels.length);
      };
      const names = make("div", { class: "names" }, ...["words", "power", "score", "largest",
        "shrink", "total"].map((name) => make("span", {}, words.rows[name])));
      const { scores, values } = this.data;
      const whole = gather(scores, values, this.order, labels.length)[0];
      this.wanted = whole.mixed.map((x) => x / whole.total);
      this.reach = Math.max(...values.flat().map(Math.abs));
      this.bars = this.wanted.map((x) => {
        const mark = make("b");
        mark.style.transform = `translateY(${-3 * x / this.reach}rem)`;
        return make("div", {}, make("i"), mark);
      });
      return [controls, 
        make("div", { class: "board" }, names, columns),
        make("div", { class: "caption" }, words.output),
        make("div", { class: "output", "aria-hidden": true }, ...this.bars)];
    }

    /** Move a word to another place; the place before the first is the last. */
    move(key, place) {
      const count = this.order.length;
      this.order = this.order.filter((one) => one !== key);
      this.order.splice((place + count) % count, 0, key);
      this.update();
    }

    key(event, key) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.move(key, (this.order.indexOf(key) + step) % this.order.length);
    }

    /** A dragged word swaps places with those it passes; onclick handles a press without a drag. */
    grab(event, key) {
      const button = event.target;
      this.held = undefined;
      button.setPointerCapture?.(event.pointerId);
      button.onpointermove = ({ clientX }) => {
        const place = Math.max(0, Math.min(this.order.length - 1, this.place(clientX)));
        if (place === this.order.indexOf(key)) return;
        this.held = key;
        this.move(key, place);
      };
      button.onpointerup = button.onpointercancel = () => {
        button.onpointermove = null;
        setTimeout(() => { this.held = undefined; this.update(); }); // after the click
      };
    }

    update() {
      const { labels, scores, values } = this.data;
      const { order, size, words } = this;
      const steps = gather(scores, values, order, size);
      const step = steps[this.seen - 1];
      const keys = Math.min(this.seen * size, order.length);
      const { input } = this;
      input.max = steps.length - 1;
      input.value = this.seen - 1;
      this.steps.querySelector("output").textContent = keys;
      input.setAttribute("aria-valuetext", keys);
      order.forEach((key, place) => {
        const at = Math.floor(place / size);
        const last = (place + 1) % size === 0 || place === order.length - 1;
        const { largest, shrink, total } = steps[at];
        const column = this.columns[key];
        const waits = place >= keys;
        const set = (name, text) => (column.querySelector(`.${name}`).textContent = text);
        const power = waits ? 0 : Math.exp(scores[key] - step.largest);
        column.style.setProperty("--place", place);
        column.classList.toggle("first", place % size === 0);
        column.classList.toggle("last", last);
        column.classList.toggle("now", at === this.seen - 1);
        column.classList.toggle("waits", waits);
        column.classList.toggle("held", this.held === key);
        column.classList.toggle("shrinks", at > 0 && shrink < 1);
        column.classList.toggle("new", at > 0 && shrink < 1);
        column.querySelector(".bar").style.transform = `scaleY(${power})`;
        column.querySelector(".power").style.transform = `translateY(${-5.8 * power}rem)`;
        set("power", number(power, 2));
        set("score", number(scores[key], 2));
        set("largest", last ? number(largest, 2) : "");
        set("shrink", !last ? "" : at ? number(shrink, 2) : "–");
        set("total", last ? number(total, 2) : "");
      });
      let off = 0;
      this.bars.forEach((bar, d) => {
        const x = step.mixed[d] / step.total;
        off = Math.max(off, Math.abs(x - this.wanted[d]));
        bar.firstChild.style.transform = `scaleY(${-x / this.reach})`;
      });
      const shrinks = steps.slice(1, this.seen).filter(({ shrink }) => shrink < 1).length;
      const pattern = this.seen === 1 ? words.first : step.shrink < 1 ? words.larger : words.smaller;
      const end = this.seen === steps.length ? words.end : words.so_far;
      this.say([pattern, end].map((text) => fill(text, {
        words: step.block.map((key) => labels[key]).join(" "), shrink: number(step.shrink, 2),
        plus: number(step.plus, 2), total: number(step.total, 2), off: number(off, 2), shrinks,
        level: number(step.largest + Math.log(step.total), 4) })).join(" "));
    }
  });
})();
