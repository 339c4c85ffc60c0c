// Who moves whom: change a word of a batch, see which outputs move, and name the layer's fault.
"use strict";
(() => {
  const { Figure, define, fill, make, walk } = globalThis.attnbook;

  define("attn-moves", class extends Figure {
    static style = `
      .layers label { padding-inline: 0.1rem; font-variant-numeric: tabular-nums; }
      .layers label.named::after { content: "✓"; position: absolute; top: -0.1rem; right: 0.15rem;
        font-size: 0.7rem; }
      .boards { display: flex; flex-wrap: wrap; gap: 0.8rem 1.6rem; }
      .board { flex: 1 1 17rem; min-width: 0; }
      table { width: 100%; table-layout: fixed; border-collapse: separate; border-spacing: 3px;
        user-select: none; -webkit-user-select: none; }
      td { height: 2.6rem; padding: 0; text-align: center; line-height: 1.15; overflow: hidden;
        border: 1.5px solid var(--quiet); border-radius: 0.3rem;
        transition: background-color 0.15s, border-color 0.15s; }
      td small { display: block; font-size: 0.7rem; }
      td:not(.moved) small { color: var(--soft); }
      td.padding { color: var(--soft); font-size: 0.75rem; background: repeating-linear-gradient(
        -45deg, var(--quiet) 0 1px, transparent 1px 6px); }
      [role=grid] td { cursor: pointer; }
      [role=grid] td:hover { border-color: var(--ink); }
      td.changed, td.moved { border-color: var(--accent); color: var(--ink); }
      td.changed { background: var(--accent); color: var(--ground); font-weight: 600; }
      td.moved { background: color-mix(in srgb, var(--accent) 22%, transparent); }
      fieldset.faults { margin-top: 0.9rem; }
      .answers { display: flex; flex-wrap: wrap; gap: 0.35rem; margin-top: 0.25rem; }
      .answers label { flex: none; position: relative; padding: 0.15rem 0.6rem; cursor: pointer;
        border: 1px solid var(--line); border-radius: 0.4rem; transition: background 0.15s; }
      .answers label:hover { border-color: var(--ink); }
      .answers label:has(:checked) { background: var(--accent); border-color: var(--accent);
        color: var(--ground); }
      .answers label:has(:focus-visible) { outline: 3px solid var(--ink); outline-offset: 1px; }
      .answers input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
      .said { min-height: 4.4em; }
      @media (width < 30rem) { table { border-spacing: 2px; } td { font-size: 0.78rem; } }`;

    build() {
      const { layers, sentences } = this.data;
      const { words } = this;
      this.layer = 0;
      this.at = [0, 0];
      const pick = this.options(words.layer, layers.map((_, i) => `${i + 1}`), 0, (position) => {
        this.layer = position;
        this.answer = undefined;
      });
      pick.classList.add("layers");
      this.numbers = [...pick.querySelectorAll(".options label")];
      this.inputs = sentences.map((sentence, i) => sentence.map((word, j) => make("td", {
        role: "gridcell", class: word ? "" : "padding",
        onpointerdown: () => this.change([i, j]),
        onpointerenter: (event) => event.pointerType === "mouse" && this.change([i, j]),
      }, word || words.padding)));
      this.outputs = sentences.map((sentence) => sentence.map((word) =>
        (word ? make("td", {}, word, make("small")) : make("td", { class: "padding" }))));
      const grid = make("table", { role: "grid", "aria-label": words.change,
        onkeydown: (event) => walk(event, this.inputs, this.at, (to) => this.change(to)) },
      ...this.inputs.map((row) => make("tr", {}, ...row)));
      const results = make("table", { "aria-label": words.outputs },
        ...this.outputs.map((row) => make("tr", {}, ...row)));
      const board = (name, table) => make("div", { class: "board" },
        make("div", { class: "name" }, name), table);
      const group = `faults-${Math.random()}`;
      this.faults = [...layers].sort().map((fault) => {
        const input = make("input", { type: "radio", name: group, value: fault,
          onchange: () => { this.answer = fault; this.update(); } });
        return make("label", {}, input, fault);
      });
      return [make("div", { class: "controls" }, pick),
        make("div", { class: "boards" }, board(words.change, grid), board(words.outputs, results)),
        make("fieldset", { class: "faults" }, make("legend", { class: "name" }, words.fault),
          make("div", { class: "answers" }, ...this.faults))];
    }

    change(at) {
      this.at = at;
      this.update();
    }

    /** The word of a slot, counted through the batch; padding has none. */
    named(slot) {
      const { sentences } = this.data;
      const length = sentences[0].length;
      const sentence = Math.floor(slot / length);
      const word = sentences[sentence][slot % length];
      return word ? fill(this.words.word, { word }) : fill(this.words.of, { n: sentence + 1 });
    }

    /** What follows from an answer: whether it explains the moves, and if not, which one it doesn't. */
    verdict(fault) {
      const { layers, moves } = this.data;
      const { words } = this;
      const [here, there] = [moves[this.layer], moves[layers.indexOf(fault)]];
      for (const [from, row] of here.entries()) {
        const to = [...row].findIndex((moved, i) => moved !== there[from][i]);
        if (to < 0) continue;
        return fill(row[to] === "1" ? words.would_not : words.would,
          { fault, word: this.named(from), output: this.named(to) });
      }
      const twins = layers.filter((name, i) => name !== fault && moves[i].join() === here.join());
      this.numbers[this.layer].classList.add("named");
      return [fill(words.right, { n: this.layer + 1, fault }),
        ...twins.map((other) => fill(words.twin, { other }))].join(" ");
    }

    update() {
      const { sentences, moves } = this.data;
      const { words } = this;
      const [i, j] = this.at;
      const slot = i * sentences[0].length + j;
      const moved = [...moves[this.layer][slot]].map((one) => one === "1");
      this.inputs.flat().forEach((cell, at) => {
        cell.classList.toggle("changed", at === slot);
        cell.setAttribute("aria-selected", at === slot);
        cell.tabIndex = at === slot ? 0 : -1;
      });
      this.outputs.flat().forEach((cell, at) => {
        cell.classList.toggle("moved", moved[at]);
        cell.querySelector("small")?.replaceChildren(moved[at] ? words.moves : words.stays);
      });
      for (const label of this.faults) {
        const input = label.querySelector("input");
        input.checked = input.value === this.answer;
      }
      const list = moved.flatMap((one, at) => (one ? [this.named(at)] : [])).join(words.comma);
      const said = fill(list ? words.who : words.nobody, { word: this.named(slot), list });
      this.say(this.answer ? `${said} ${this.verdict(this.answer)}` : said);
    }
  });
})();
