// An attention map: queries on the left, keys on the right, and a line for each weight.
"use strict";
(() => {
  const { Figure, define, fill, make, number, svg } = globalThis.attnbook;
  const ROW = 34;

  define("attn-look", class extends Figure {
    static style = `
      .board { display: grid; grid-template-columns: minmax(5rem, 12rem) minmax(4rem, 1fr)
        minmax(5rem, 13rem); }
      .head { color: var(--soft); padding: 0 0.5rem 0.2rem; }
      .head.left, .left .word { text-align: right; }
      .word { height: ${ROW}px; box-sizing: border-box; padding: 0.25rem 0.5rem; cursor: default;
        border-radius: 0.3rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
      .word[aria-selected=true] { background: color-mix(in srgb, var(--ink) 10%, transparent); }
      .left:has(.outcome) .word { display: flex; flex-direction: row-reverse; gap: 0.5rem;
        justify-content: space-between; }
      .head.left:has(.outcome) { display: flex; justify-content: space-between; gap: 0.5rem; }
      .word span:first-child { overflow: hidden; text-overflow: ellipsis; }
      .options label { padding-inline: 0.25rem; white-space: nowrap; }
      fieldset:has(label:nth-child(6)) { flex-basis: 100%; }
      .outcome { color: var(--soft); font-variant-numeric: tabular-nums; }
      .outcome.changed { color: var(--state-failed); font-weight: 700; text-decoration: underline; }
      .board.off :is(line, .number) { opacity: 0 !important; }
      .right .word { position: relative; display: flex; justify-content: space-between;
        gap: 0.5rem; }
      .right .word span { position: relative; }
      .right .word::before { content: ""; position: absolute; inset: 2px auto 2px 0; width: 100%;
        border-radius: 0.25rem; background: var(--role-weights-fill); transform-origin: left;
        transform: scaleX(var(--weight, 0)); opacity: 0.4; transition: transform 0.18s; }
      svg { width: 100%; overflow: visible; display: block; }
      line { stroke: var(--role-weights-fill); transition: opacity 0.18s; stroke-linecap: round; }
      .said { min-height: 4.3em; }
      @media (width < 30rem) { .board { font-size: 0.8rem;
        grid-template-columns: minmax(3rem, 6.6rem) 1fr minmax(6rem, 8.2rem); }
        .board:has(.outcome) { grid-template-columns: minmax(3rem, 8.6rem) 1fr minmax(6rem, 8.2rem); }
        .word, .head { padding-inline: 0.25rem; } }`;

    build() {
      const { maps } = this.data;
      const { words } = this;
      this.map = 0;
      this.at = this.data.start;
      const names = maps.map((map) => map.name);
      const turn = (position) => (this.map = position);
      const controls = make("div", { class: "controls" });
      if (names.length > 1) controls.append(this.options(words.maps, names, 0, turn));
      const { cut = [] } = this.data;
      this.cut = 0;
      if (cut.length) {
        controls.append(this.options(words.cut, cut.map((one) => one.name), 0,
          (position) => (this.cut = position)));
      }
      const { queries, keys } = this.data;
      this.outcomes = cut.length ? queries.map(() => make("span", { class: "outcome" })) : [];
      this.left = queries.map((word, i) => make("div", { class: "word" },
        make("span", {}, word), this.outcomes[i] ?? ""));
      this.right = keys.map((word) => make("div", { class: "word" }, make("span", {}, word),
        make("span", { class: "number" })));
      const height = ROW * Math.max(queries.length, keys.length);
      this.lines = queries.map((_, i) => keys.map((__, j) => svg("line", {
        x1: 0, x2: 100, y1: ROW * (i + 0.5), y2: ROW * (j + 0.5),
        "vector-effect": "non-scaling-stroke" })));
      const drawing = svg("svg", { viewBox: `0 0 100 ${height}`, height, "aria-hidden": true,
        preserveAspectRatio: "none" }, ...this.lines.flat());
      const list = this.pickable(words.queries, this.left, this.at, (at) => (this.at = at));
      list.className = "left";
      const first = make("div", { class: "head left" },
        ...(cut.length ? [make("span", { class: "outcome" }, words.outcome)] : []), words.queries);
      return [controls, this.board = make("div", { class: "board" }, first, make("div"),
        make("div", { class: "head" }, words.keys), list, drawing,
        make("div", { class: "right" }, ...this.right))];
    }

    update() {
      const { maps, keys, queries, cut = [] } = this.data;
      const { name, rows, says } = maps[this.map];
      const off = this.board.classList.toggle("off", cut[this.cut]?.name === name);
      const [whole, now] = [0, this.cut].map((which) => cut[which]?.outcomes ?? []);
      this.outcomes.forEach((outcome, i) => {
        outcome.textContent = now[i];
        outcome.classList.toggle("changed", now[i] !== whole[i]);
      });
      this.lines.forEach((line, i) => line.forEach((one, j) => {
        one.style.strokeWidth = 1 + 7 * rows[i][j];
        one.style.opacity = rows[i][j] < 0.03 ? 0 : (i === this.at ? 1 : 0.2) *
          Math.sqrt(rows[i][j]);
      }));
      const row = rows[this.at];
      this.right.forEach((word, j) => {
        word.style.setProperty("--weight", row[j]);
        word.lastChild.textContent = number(row[j], 2);
      });
      const { words } = this;
      const ends = { now: now[this.at], whole: whole[this.at] };
      const comes = !ends.now ? "" : ends.now === ends.whole ? words.comes : words.changed;
      this.say([fill(off ? words.off : words.said, { query: queries[this.at], ...this.most(row, keys) }),
        says?.[this.at] ?? "", fill(comes, ends)].join(" "));
    }

    /** The key with the largest weight in a row. */
    most(row, keys) {
      const weight = Math.max(...row);
      return { key: keys[row.indexOf(weight)], weight: number(weight, 2) };
    }
  });
})();
