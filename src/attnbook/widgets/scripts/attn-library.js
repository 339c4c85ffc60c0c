// A query of topics, a shelf that lights up, and the report mixed from all its books.
"use strict";
(() => {
  const { Figure, define, fill, make, number, softmax } = globalThis.attnbook;

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const short = (x) => number(x, Number.isInteger(x) ? 0 : 1);

  /** Match, focus, mix. @param {number[]} query @param {number[][]} keys @param {number[][]} values */
  function look(query, keys, values) {
    const scores = keys.map((key) => dot(query, key));
    const weights = softmax(scores);
    const report = values[0].map((_, i) => dot(weights, values.map((value) => value[i])));
    return { scores, weights, report };
  }

  define("attn-library", class extends Figure {
    static look = look;

    static style = `
      :host { --letters: var(--ink); --depth: 1; --glow: 0rem; --thumb: var(--role-query-fill); }
      :host([data-theme=dark]) { --letters: #fff; --depth: 0.6; --glow: 1.2rem;
        --thumb: color-mix(in srgb, var(--role-query-fill) 60%, #fff); }
      .parts { display: flex; flex-wrap: wrap; gap: 0.2rem 1.6rem; margin: 0.9rem 0 0.3rem; }
      .part { display: flex; align-items: baseline; gap: 0.45rem; color: var(--soft); }
      .part::before { content: ""; width: 0.65rem; height: 0.65rem; border-radius: 0.15rem;
        background: var(--role); flex: none; }
      .part.key::before { border-radius: 50%; }
      .wishes { display: grid; grid-template-columns: repeat(4, 1fr); gap: 0.15rem 1.4rem; }
      .wishes .name { justify-content: flex-start; gap: 0.45rem; color: var(--ink); }
      .wishes output { margin-left: auto; }
      .wishes input { accent-color: var(--thumb); }
      .offer { display: flex; gap: 0.15rem; align-items: center; }
      .offer i { width: 0.5rem; height: 0.5rem; border-radius: 50%;
        background: var(--role-key-fill); transition: opacity 0.18s; }
      .shelf { display: grid; grid-auto-flow: column; grid-auto-columns: 1fr; padding-top: 1.2rem; }
      .place { cursor: default; text-align: center; min-width: 0; }
      .book { position: relative; height: 11.2rem; margin: 0 8%; display: grid;
        place-items: center; overflow: hidden; border-radius: 0.25rem 0.25rem 0 0;
        color: var(--letters); background: var(--quiet);
        box-shadow: 0 0 calc(var(--light) * var(--glow)) var(--role-weights-fill);
        transform: translateY(calc(var(--weight) * -1.2rem)); transition: transform 0.18s; }
      .book::before { content: ""; position: absolute; inset: 0;
        background: var(--role-weights-fill); opacity: calc(var(--light) * var(--depth));
        transition: opacity 0.18s; }
      .book span { position: relative; writing-mode: vertical-rl; white-space: nowrap; }
      [aria-selected=true] .book::after { content: ""; position: absolute; inset: 0;
        border: 2px solid var(--ink); border-radius: inherit; }
      [aria-selected=true] .number { font-weight: 700; }
      .place .number { position: relative; border-top: 5px solid var(--line);
        padding-top: 0.2rem; }
      .row { display: grid; grid-template-columns: 5.6rem 2.6rem 1fr; gap: 0.6rem;
        align-items: center; padding-block: 0.12rem; }
      .row .number { text-align: right; }
      .track { position: relative; height: 1.05rem; background: var(--quiet); overflow: hidden;
        border-radius: 0.15rem; }
      .track i { position: absolute; inset: 0; background: var(--role-value-fill); opacity: 0.45;
        transform-origin: left; transition: transform 0.18s, opacity 0.18s; }
      .track i.picked { opacity: 1; }
      @media (width < 30rem) { .wishes { grid-template-columns: 1fr 1fr; }
        .place .number { font-size: 0.78rem; } .book { font-size: 0.8rem; margin: 0 4%; }
        .said { min-height: 5.9em; } }`;

    build() {
      const { topics, titles, contents, amounts, wishes } = this.data;
      const { words } = this;
      this.query = [...wishes[0].query];
      const { weights } = look(this.query, this.data.keys, this.data.values);
      this.at = weights.indexOf(Math.max(...weights)); // the winner
      const most = Math.max(...this.data.keys.flat());
      const parts = (...named) => make("div", { class: "parts" }, ...named.map(([role, text]) => {
        const part = make("div", { class: `part ${role}` }, text);
        part.style.setProperty("--role", `var(--role-${role}-fill)`);
        return part;
      }));

      this.sliders = topics.map((topic, i) => {
        const slider = this.slider(topic, amounts.map(short), amounts.indexOf(this.query[i]),
          (position) => (this.query[i] = amounts[position]));
        const dots = Array.from({ length: most }, () => make("i"));
        slider.querySelector("output").before(make("span", { class: "offer" }, ...dots));
        return slider;
      });
      this.start = this.options(words.start, wishes.map((wish) => wish.name), 0, (position) =>
        this.sliders.forEach((slider, i) => {
          const input = slider.querySelector("input");
          input.value = amounts.indexOf(wishes[position].query[i]);
          input.dispatchEvent(new Event("input"));
        }));

      this.places = titles.map((title) => make("div", { class: "place" },
        make("div", { class: "book" }, make("span", {}, title)), make("div", { class: "number" })));
      const shelf = this.pickable(words.weights, this.places, this.at, (at) => (this.at = at));
      shelf.className = "shelf";
      shelf.setAttribute("aria-orientation", "horizontal");

      this.rows = contents.map((content) => make("div", { class: "row" },
        make("span", {}, content), make("span", { class: "number" }),
        make("div", { class: "track" }, ...titles.map(() => make("i")))));
      return [make("div", { class: "controls" }, this.start),
        parts(["query", words.query], ["key", words.key]),
        make("div", { class: "wishes" }, ...this.sliders), parts(["weights", words.weights]), shelf,
        parts(["value", words.output]), ...this.rows];
    }

    update() {
      const { titles, keys, values, wishes } = this.data;
      const { words, query, at } = this;
      const { scores, weights, report } = look(query, keys, values);
      const title = titles[at];
      const same = wishes.findIndex((wish) => wish.query.every((x, i) => x === query[i]));
      this.start.querySelectorAll("input").forEach((input, i) => (input.checked = i === same));
      this.sliders.forEach((slider, i) => slider.querySelectorAll("i").forEach((one, n) =>
        (one.style.opacity = n < keys[at][i] ? 1 : 0)));
      this.places.forEach((place, j) => {
        place.style.setProperty("--weight", weights[j]);
        place.style.setProperty("--light", Math.sqrt(weights[j]));
        place.lastChild.textContent = number(weights[j], 2);
      });
      const all = report.reduce((sum, pages) => sum + pages, 0);
      this.rows.forEach((row, i) => {
        row.children[1].textContent = number(report[i], 1);
        let from = 0;
        row.querySelectorAll("i").forEach((part, j) => { // one segment per book, side by side
          const share = weights[j] * values[j][i] / all;
          part.style.transform = `translateX(${100 * from}%) scaleX(${share})`;
          part.classList.toggle("picked", j === at);
          from += share;
        });
      });
      const sum = query.flatMap((x, i) => (x && keys[at][i] ? `${short(x)} × ${keys[at][i]}` : []));
      this.say(fill(sum.length ? words.said : words.apart, { title, sum: sum.join(" + "),
        score: short(scores[at]), weight: number(weights[at], 3), all: number(all, 0),
        pages: number(weights[at] * values[at].reduce((a, b) => a + b), 1) }));
    }
  });
})();
