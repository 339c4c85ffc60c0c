// Two layers of attention on one sequence: where each head attends, and what changes without it.
"use strict";
(() => {
  const { Figure, define, fill, make, number, walk } = globalThis.attnbook;

  /** Parse names with numbers (a97b3) into pairs; a name alone means 100. @param {string} text */
  function pairs(text) {
    return [...text.matchAll(/(\D)(\d*)/g)].map(([, name, x]) => [name, x ? Number(x) : 100]);
  }

  /** Parse several parts, each of which has rows of such pairs. @param {string} text */
  function parts(text) {
    return text.split("|").map((part) => part.split(" ").map(pairs));
  }

  define("attn-induction", class extends Figure {
    static pairs = pairs;

    static style = `
      .sequence { display: grid; grid-template-columns: repeat(var(--half), 1fr); gap: 0.3rem 2px;
        margin: 0.3rem 0 1rem; text-align: center; }
      [role=row] { display: contents; }
      .token { border-radius: 0.3rem; border: 1px solid transparent; cursor: default;
        line-height: 1.35; padding: 0.1rem 0; }
      .token:not(.last) { background: color-mix(in srgb, var(--ink) 6%, transparent); }
      .token[aria-selected=true] { background: var(--accent); color: var(--ground); }
      .token.next { border: 1px dashed var(--ink); }
      .token b { display: block; font-weight: 600; }
      .token span { display: block; min-height: 1.35em; font-size: 0.8rem; color: var(--soft); }
      .token[aria-selected=true] span { color: inherit; }
      .token span.right { color: var(--ink); }
      .token span.wrong { color: var(--state-failed); font-weight: 700; text-decoration: underline; }
      .token[aria-selected=true] span:is(.right, .wrong) { color: inherit; }
      .layer { display: grid; grid-template-columns: 5.2rem 1fr 4.4rem; gap: 3px 0.6rem;
        align-items: center; margin-bottom: 0.9rem; }
      .layer label { display: flex; align-items: center; gap: 0.35rem; min-height: 1.5rem;
        white-space: nowrap; cursor: pointer; }
      .layer input { margin: 0; accent-color: var(--accent); width: 1rem; height: 1rem; }
      .strip { display: grid; grid-template-columns: repeat(var(--half), 1fr) 3px
        repeat(calc(var(--half) - 1), 1fr); gap: 1px; }
      .strip::before { content: ""; grid-column: calc(var(--half) + 1); grid-row: 1; }
      .strip > * { grid-row: 1; text-align: center; color: var(--soft); }
      .strip i { height: 1.35rem; border-radius: 0.15rem; box-sizing: border-box;
        border: 1px solid var(--quiet); background: color-mix(in srgb,
        var(--role-weights-fill) calc(100% * var(--weight, 0)), transparent);
        transition: background 0.15s; }
      .strip i.later { border-color: transparent; }
      .strip .at { color: var(--ink); font-weight: 700; }
      .strip i.at { border-color: var(--ink); }
      .head { color: var(--soft); }
      .adds { white-space: nowrap; font-variant-numeric: tabular-nums; }
      .off { color: var(--soft); }
      .strip.off { opacity: 0.35; }
      .bars { display: grid; grid-template-columns: 5.2rem 1fr; gap: 4px 0.6rem; align-items: center; }
      .bar { display: flex; height: 1.5rem; border-radius: 0.3rem; overflow: hidden; }
      .bar span { flex: none; box-sizing: border-box; text-align: center; white-space: nowrap;
        overflow: hidden; border-right: 1px solid var(--ground); line-height: 1.5rem;
        background: color-mix(in srgb, var(--ink) 16%, transparent); }
      .bar span.due { background: var(--accent); color: var(--ground); }
      .bar .closed { flex: 1; }
      .said { min-height: 4.3em; }
      @media (width < 30rem) { .layer { grid-template-columns: 2.7rem 1fr 2.7rem; column-gap: 0.3rem; }
        .layer .head { font-size: 0.75rem; }
        .layer .long { display: none; } .strip { gap: 0; font-size: 0.7rem; }
        .strip i { border-width: 1px 0 1px 1px; border-radius: 0; }
        .bars { grid-template-columns: 4rem 1fr; column-gap: 0.3rem; } .said { min-height: 5.8em; } }`;

    build() {
      const { sequence, below, above, asked } = this.data;
      const { words } = this;
      this.letters = [...sequence];
      this.half = this.letters.length / 2;
      this.last = this.letters.length - 2;
      this.at = this.data.start;
      this.asked = new Set(asked);
      this.off = [new Set(), new Set()]; // the removed heads of each layer
      this.below = { weights: parts(below.weights), adds: below.adds.split("|").map(pairs) };
      this.above = above.map(({ weights, adds, says }) => ({ weights: parts(weights),
        adds: adds.split("|").map(pairs), says: parts(says) }));
      this.tokens = this.letters.map((letter, i) => make("div", i > this.last
        ? { class: "token last", "aria-hidden": true }
        : { class: "token", role: "gridcell", onclick: () => this.pick(i) },
        make("b", {}, letter), make("span", { "aria-hidden": true })));
      const lines = [0, this.half].map((from) => this.tokens.slice(from, from + this.half));
      const picker = make("div", { class: "sequence", role: "grid", "aria-label": words.sequence },
        ...lines.map((line) => make("div", { role: "row" }, ...line)));
      lines[1][this.half - 1] = this.tokens[this.last]; // nothing comes after the last letter
      picker.addEventListener("keydown", (event) => walk(event, lines,
        [Math.floor(this.at / this.half), this.at % this.half],
        ([line, i]) => this.pick(line * this.half + i)));
      picker.style.setProperty("--half", this.half);
      this.right = make("output");
      this.layers = words.layers.map((name, layer) => this.layer(name, layer));
      this.bars = words.bars.map(() => make("div", { class: "bar" }));
      const bars = words.bars.flatMap((name, i) => [make("div", { class: "head" }, name), this.bars[i]]);
      return [
        make("div", { class: "name" }, words.sequence, this.right), picker,
        ...this.layers.map(({ grid }) => grid),
        make("div", { class: "bars", "aria-hidden": true }, ...bars)];
    }

    pick(at) {
      this.at = Math.min(at, this.last);
      this.update();
    }

    /** Draw a layer: for each head a switch, a cell per position, and what it adds. */
    layer(name, layer) {
      const { words } = this;
      const places = this.letters.slice(0, -1);
      const strip = (tag, texts) => {
        const made = make("div", { class: "strip", "aria-hidden": true }, ...places.map((_, i) => {
          const cell = make(tag, {}, texts[i] ?? "");
          cell.style.gridColumn = i + 1 + (i >= this.half);
          return cell;
        }));
        made.style.setProperty("--half", this.half);
        return made;
      };
      const top = strip("span", places);
      const heads = this.above[0].weights.map((_, head) => {
        const input = make("input", { type: "checkbox", "aria-label":
          `${name}, ${fill(words.head, { head })}`, onchange: () => this.turn(layer, head) });
        const label = make("label", {}, input, make("span", {},
          make("span", { class: "long" }, fill(words.head, { head: "" })), String(head)));
        return { input, label, strip: strip("i", []), adds: make("div", { class: "adds" }) };
      });
      const grid = make("div", { class: "layer", role: "group", "aria-label": name },
        make("div", { class: "head" }, name), top, make("div", { class: "head" }, words.adds[layer]),
        ...heads.flatMap((head) => [head.label, head.strip, head.adds]));
      return { grid, top, heads };
    }

    /** Toggle a head. At most one head of layer 1 is off, and none if any of layer 2 is. */
    turn(layer, head) {
      const off = this.off[layer];
      const was = off.has(head);
      this.off[1 - layer].clear();
      if (layer === 0) off.clear();
      if (was) off.delete(head);
      else off.add(head);
      this.update();
    }

    /** What the second layer does, and the predictions for the second half of the sequence. */
    now() {
      const [below, above] = this.off.map((heads) => [...heads]);
      const run = this.above[below.length ? below[0] + 1 : 0];
      return { ...run, says: run.says[above.reduce((bits, head) => bits + 2 ** head, 0)] };
    }

    update() {
      const { at, half, letters, words } = this;
      const run = this.now();
      const predicted = (i) => run.says[i - half]?.[0][0]; // for position i
      let right = 0;
      this.tokens.forEach((token, i) => {
        const known = this.asked.has(i);
        const hit = predicted(i) === letters[i];
        right += known && hit;
        token.lastChild.textContent = predicted(i) ?? "";
        token.lastChild.className = known ? (hit ? "right" : "wrong") : "";
        token.classList.toggle("next", i === at + 1);
        if (i > this.last) return;
        token.setAttribute("aria-selected", i === at);
        token.tabIndex = i === at ? 0 : -1;
      });
      this.right.textContent = fill(words.right, { n: right, all: this.asked.size });
      const most = this.layers.map(({ top, heads }, layer) => {
        const { weights, adds } = [this.below, run][layer];
        [...top.children].forEach((cell, i) => cell.classList.toggle("at", i === at));
        return heads.map(({ input, strip, adds: told }, head) => {
          const off = this.off[layer].has(head);
          const row = new Map(weights[head][at].map(([place, x]) => [place.charCodeAt() - 97, x]));
          [...strip.children].forEach((cell, i) => {
            cell.style.setProperty("--weight", (row.get(i) ?? 0) / 100);
            cell.className = i === at ? "at" : i > at ? "later" : "";
          });
          const [letter, x] = adds[head][at];
          input.checked = !off;
          strip.classList.toggle("off", off);
          told.classList.toggle("off", off);
          told.textContent = off ? words.mean : `${letter} +${number(x, 0)}`;
          return letters[row.keys().next().value];
        });
      });
      const next = letters[at + 1];
      [this.above[0].says[0], run.says].forEach((says, i) => {
        const best = says[at + 1 - half] ?? [];
        this.bars[i].replaceChildren(...best.map(([letter, x]) => {
          const part = make("span", letter === next ? { class: "due" } : {},
            x < 6 ? "" : x < 20 ? letter : `${letter} ${x} %`);
          part.style.width = `${x}%`;
          return part;
        }), make("div", { class: "closed" }));
      });
      const [[best, share] = []] = run.says[at + 1 - half] ?? [[]];
      const due = words.due[!this.asked.has(at + 1) ? 2 : best === next ? 0 : 1];
      this.say([best ? fill(words.says, { letter: letters[at], best, share }) : words.first,
        best ? fill(due, { next }) : "",
        ...most.map((found, i) => fill(words.most, { layer: words.layers[i].replace(/^./, (c) => c.toUpperCase()),
          letters: found.join(words.comma) }))].join(" "));
    }
  });
})();
