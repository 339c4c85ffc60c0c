// The next word: probabilities after temperature, top-k and top-p, and texts sampled from them.
// If the page has the model (press/live), the reader's first change loads it to write new texts.
"use strict";
(() => {
  const { Figure, define, fill, make, number, softmax } = globalThis.attnbook;
  const SHOWN = 10;
  const RARE = 0.01;

  /**
   * Filter a row of logits by the settings.
   * @param {number[]} logits in decreasing order
   * @param {{temperature: number, k: number, p: number}} settings
   * @returns {number[]} the probabilities of the words kept, which are the first ones
   */
  function keep(logits, { temperature, k, p }) {
    let kept = logits.map((logit) => logit / temperature);
    if (k < kept.length) kept = kept.filter((logit) => logit >= kept[k - 1]);
    if (p === 1) return softmax(kept);
    let before = 0;
    const enough = softmax(kept).findIndex((share) => (before += share) >= p) + 1;
    return softmax(enough ? kept.slice(0, enough) : kept);
  }

  /** The index of the probability that covers a point. @param {number} point from 0 to 1 */
  function fallsOn(shares, point) {
    let end = 0;
    const found = shares.findIndex((share) => (end += share) > point);
    return found < 0 ? shares.length - 1 : found;
  }

  define("attn-sampling", class extends Figure {
    static keep = keep;

    static style = `
      form { display: flex; gap: 0.5rem; margin: 0.25rem 0 0.8rem; }
      button, form input { font: inherit; color: var(--ink); background: var(--ground); min-width: 0;
        border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.25rem 0.6rem;
        min-height: 2rem; box-sizing: border-box; }
      form input { flex: 1; }
      button { cursor: pointer; }
      button:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
      .controls label { flex-basis: 9rem; }
      .row { display: grid; grid-template-columns: 7rem 1fr 3.2rem 3.2rem; gap: 0.6rem; width: 100%;
        align-items: center; text-align: left; min-height: 1.6rem; padding: 0 0.4rem; border: 0;
        background: none; box-sizing: border-box; }
      button.row:hover { background: color-mix(in srgb, var(--ink) 9%, transparent); }
      .head { color: var(--soft); min-height: 0; }
      .row .number { text-align: right; }
      .head .number, .row .before { color: var(--soft); }
      .title { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .track { position: relative; height: 1.05rem; }
      .track i { position: absolute; inset: 0; border-radius: 0.15rem; transform-origin: left;
        transform: scaleX(var(--share, 0)); transition: transform 0.18s; }
      .track .is { background: var(--accent); inset: 0 0 30%; }
      .track .was { inset: 70% 0 0; background: var(--line); }
      .cut { color: var(--soft); }
      .cut .title { text-decoration: line-through; }
      .said { min-height: 1.45em; }
      .about { margin-top: 0.9rem; }
      .texts { margin: 0.2rem 0 0.6rem; padding: 0; list-style: none; min-height: 8.6rem; }
      .texts li { padding: 0.3rem 0; border-top: 1px solid var(--quiet); }
      .texts.old { opacity: 0.45; }
      .texts b { font-weight: 600; }
      .rare { text-decoration: underline dotted 2px var(--state-failed); text-underline-offset: 3px; }
      small { color: var(--soft); font-size: 0.75rem; }
      .tools { display: flex; flex-wrap: wrap; gap: 0.5rem; }
      [hidden] { display: none; }
      @media (width < 30rem) { .row { grid-template-columns: 5rem 1fr 2.8rem 2.8rem; gap: 0.35rem;
        padding-inline: 0.1rem; } .said { min-height: 4.4em; } .texts { min-height: 11.5rem; } }`;

    build() {
      const { beginning, logits, names, random, settings, start, texts } = this.data;
      const { words } = this;
      this.source = this.getAttribute("src");
      this.beginning = beginning;
      this.random = random.map((row) => row.map((x) => x / 1000));
      this.row = { names, logits: logits.map((below) => -below / 1000) };
      this.texts = texts;
      this.chosen = { ...start }; // positions of the sliders
      this.field = make("input", { "aria-label": words.beginning, autocomplete: "off",
        autocapitalize: "off", spellcheck: false, enterkeyhint: "go", value: beginning.join(" ") });
      const form = make("form", { onsubmit: (event) => {
        event.preventDefault();
        this.begin(this.field.value.toLowerCase().replace(/[.,!]/g, " ").replaceAll("?", " ?").split(/\s+/)
          .filter(Boolean));
      } }, this.field, make("button", {}, words.go));
      const sliders = Object.entries(settings).map(([name, values]) => this.slider(words.settings[name],
        values.map((value) => (value === 0 ? words.all : String(value))), start[name], (position) => {
          this.chosen[name] = position;
          this.write(); // the bars do not wait for it
        }));
      this.rows = Array.from({ length: SHOWN + 1 }, (_, i) => {
        const clicked = i < SHOWN && this.source;
        return make(clicked ? "button" : "div", { class: "row", ...(clicked && { type: "button",
          onclick: () => this.begin([...this.beginning, this.row.names[i]]) }) },
        make("span", { class: "title" }), make("span", { class: "track" },
          make("i", { class: "was" }), make("i", { class: "is" })),
        make("span", { class: "number before" }), make("span", { class: "number" }));
      });
      const head = make("div", { class: "row head", "aria-hidden": true }, make("span", {}, words.next),
        make("span"), ...words.columns.map((name) => make("span", { class: "number" }, name)));
      this.list = make("ul", { class: "texts" });
      this.again = make("button", { type: "button", onclick: () => {
        this.random = this.random.map((row) => row.map(() => Math.random()));
        this.write();
      } }, words.again);
      this.back = make("button", { type: "button",
        onclick: () => this.begin(this.beginning.slice(0, -1)) }, words.back);
      const here = this.source ? [make("span", { class: "name" }, words.beginning), form] : [];
      if (!this.source) this.words = { ...words, try: words.here };
      return [...here,
        make("div", { class: "controls" }, ...sliders), head, ...this.rows,
        make("div", { class: "name about" }, words.texts), this.list,
        ...(this.source ? [make("div", { class: "tools" }, this.again, this.back)] : [])];
    }

    /** The temperature, k and p that the sliders show. */
    settings() {
      const { temperature, k, p } = this.data.settings;
      const { chosen } = this;
      return { temperature: temperature[chosen.temperature], k: k[chosen.k] || Infinity,
        p: p[chosen.p] };
    }

    /** Let a screen reader read the first text too. */
    say(text) {
      super.say(text);
      clearTimeout(this.resting);
      this.resting = setTimeout(() => (this.heard.textContent =
        `${text} ${this.stale ? "" : this.list.firstChild.textContent}`), 400);
    }

    /** Begin with other words. @param {string[]} beginning */
    async begin(beginning) {
      if (!await this.model()) return;
      this.beginning = beginning.filter((word) => word !== "END");
      this.field.value = this.beginning.join(" ");
      this.write();
    }

    /** The model, loaded on the first change; null if the page has none. */
    async model() {
      const { attnbook } = globalThis;
      if (!this.source) return null;
      attnbook.writing ??= new Promise((onload, onerror) => document.head.append(
        make("script", { src: this.source, onload, onerror })));
      try {
        await attnbook.writing;
      } catch {
        attnbook.writing = null; // the next change tries again
        this.say(this.words.missing);
      }
      return attnbook.writer;
    }

    /** The words and their logits, the largest first. */
    sorted(model, written) {
      const logits = model.after(written);
      const order = Array.from(logits.keys()).sort((i, j) => logits[j] - logits[i]);
      return { names: order.map((i) => model.words[i]), logits: order.map((i) => logits[i]) };
    }

    /** Write the texts again, each from its own random numbers; the newest call wins. */
    async write() {
      const turn = (this.turn = {});
      const { start } = this.data;
      this.stale = Object.keys(start).some((name) => this.chosen[name] !== start[name]) || this.source;
      const model = await this.model();
      if (!model || turn !== this.turn) return;
      const settings = this.settings();
      this.row = this.sorted(model, this.beginning);
      const texts = [];
      for (const row of this.random) {
        const words = [];
        const rare = [];
        for (const point of row) {
          const { names, logits } = this.sorted(model, [...this.beginning, ...words]);
          const drawn = fallsOn(keep(logits, settings), point);
          rare.push(softmax(logits)[drawn] < RARE);
          words.push(names[drawn]);
          if (words.at(-1) === "END") break;
        }
        texts.push(words.map((word, i) => [word, rare[i]]));
        await new Promise((done) => setTimeout(done)); // keep the page responsive
        if (turn !== this.turn) return;
      }
      this.texts = texts;
      this.stale = false;
      this.update();
    }

    update() {
      const { beginning, row, words } = this;
      const before = softmax(row.logits);
      const now = keep(row.logits, this.settings());
      const sum = (shares) => shares.reduce((total, share) => total + share, 0);
      const widest = Math.max(before[0], now[0]);
      this.rows.forEach((line, i) => {
        const last = i === SHOWN;
        const [was, is] = last ? [sum(before.slice(i)), sum(now.slice(i))] : [before[i], now[i] ?? 0];
        const [title, track, old, share] = line.children;
        const others = fill(words.others, { n: before.length - SHOWN });
        title.textContent = last ? others : row.names[i];
        [...track.children].forEach((bar, j) =>
          bar.style.setProperty("--share", Math.min(1, [was, is][j] / widest)));
        line.classList.toggle("cut", i >= now.length);
        old.textContent = number(was, 3);
        share.textContent = i < now.length ? number(is, 3) : "–";
      });
      this.list.classList.toggle("old", Boolean(this.stale));
      this.list.replaceChildren(...this.texts.map((text) => make("li", {},
        make("b", {}, beginning.join(" ")), ...text.flatMap(([word, rare]) => [" ",
          make(word === "END" ? "small" : "span", rare ? { class: "rare" } : {}, word)]))));
      this.back.disabled = !beginning.length;
      const strange = beginning.filter((word) => globalThis.attnbook.writer?.ids.has(word) === false);
      this.say([fill(words.kept, { n: now.length, all: before.length,
        had: number(sum(before.slice(0, now.length)), 2) }),
      strange.length ? fill(words.strange, { unknown: strange.join(" ") }) : ""].join(" "));
    }
  });
})();
