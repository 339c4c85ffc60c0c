// A row of scores becomes a row of weights: the effect of multiplying or dividing the scores.
"use strict";
(() => {
  const { Figure, define, fill, make, number, softmax } = globalThis.attnbook;

  define("attn-softmax", class extends Figure {
    static style = `
      .row { display: grid; grid-template-columns: minmax(4rem, 11rem) 3.6rem 1fr 3.2rem;
        gap: 0.6rem; align-items: center; padding: 0.16rem 0.4rem; border-radius: 0.3rem;
        cursor: default; }
      .row[aria-selected=true] { background: color-mix(in srgb, var(--ink) 9%, transparent); }
      .title { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .number { text-align: right; }
      .head { color: var(--soft); }
      .head .number { color: inherit; }
      .track { height: 1.05rem; background: var(--quiet); border-radius: 0.15rem;
        overflow: hidden; }
      .bar { height: 100%; width: 100%; background: var(--role-weights-fill);
        transform-origin: left; transition: transform 0.18s; }
      @media (width < 30rem) { .row { grid-template-columns: minmax(3rem, 7.5rem) 3.2rem 1fr 2.9rem;
        gap: 0.4rem; padding-inline: 0.2rem; }
        .title { white-space: normal; line-height: 1.2; } }`;

    build() {
      const { labels, sets, factors } = this.data;
      this.set = this.data.set;
      this.factor = this.data.factor;
      const { scores } = sets[this.set];
      this.at = scores.indexOf(Math.max(...scores)); // the winner
      const words = this.words;
      this.rows = labels.map((label) => {
        const bar = make("div", { class: "bar" });
        return make("div", { class: "row" }, make("span", { class: "title" }, label),
          make("span", { class: "number score" }), make("div", { class: "track" }, bar),
          make("span", { class: "number weight" }));
      });
      const controls = make("div", { class: "controls" });
      if (sets.length > 1) {
        controls.append(this.slider(words.sets, sets.map((set) => set.name), this.set,
          (position) => (this.set = position)));
      }
      const names = factors.map((factor) => factor.name);
      const turn = (position) => (this.factor = position);
      controls.append(names.length > 4 ? this.slider(words.factors, names, this.factor, turn)
        : this.options(words.factors, names, this.factor, turn));
      const head = make("div", { class: "row head", "aria-hidden": true }, make("span"),
        make("span", { class: "number" }, words.score), make("span", {}, words.weight));
      return [controls, head, this.pickable(words.rows, this.rows, this.at, (at) => (this.at = at))];
    }

    update() {
      const { labels, sets, factors } = this.data;
      const { scores, width } = sets[this.set];
      const factor = factors[this.factor];
      const times = factor.times ?? width ** -factor.power;
      const scaled = scores.map((score) => score * times);
      const weights = softmax(scaled);
      this.rows.forEach((row, i) => {
        row.querySelector(".score").textContent = number(scaled[i], 2);
        row.querySelector(".weight").textContent = number(weights[i], 3);
        row.querySelector(".bar").style.transform = `scaleX(${weights[i]})`;
      });
      const entropy = -weights.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
      const weight = weights[this.at];
      this.say(fill(this.words.said, {
        label: labels[this.at], weight: number(weight, 3), as_many: number(Math.exp(entropy), 1),
        slope: number(weight * (1 - weight), 3) }));
    }
  });
})();
