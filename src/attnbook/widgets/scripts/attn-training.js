// A training run, step by step: embeddings as points or an attention map, next to the loss.
"use strict";
(() => {
  const { Figure, define, fill, make, number, svg } = globalThis.attnbook;
  const HALF = 150; // from the middle of the plane to its edge
  const RINGS = [0.1, 0.2, 0.5, 1, 2, 5];
  const SHAPES = ["M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0Z", "M-5-5h10v10h-10Z",
    "M0-6.5L6 4.5H-6Z", "M0-7L6 0L0 7L-6 0Z", "M0 6.5L6-4.5H-6Z",
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4Z"];
  const [LEFT, WIDE, TOP, HIGH] = [20, 230, 8, 96]; // the area of the curve

  const div = (name, ...inside) => make("div", { class: name }, ...inside);
  const span = (name, ...inside) => make("span", { class: name }, ...inside);
  const move = (drawn, x, y) => (drawn.style.transform = `translate(${x}px, ${y}px)`);

  define("attn-training", class extends Figure {
    static pace = 380; // milliseconds per step; shorter than the pause in say()

    static style = `
      .board { display: flex; flex-wrap: wrap; gap: 0.8rem 1.4rem; }
      .seen { flex: 1.2 1 18rem; min-width: 0; }
      .beside { flex: 1 1 14rem; min-width: 0; }
      svg { display: block; width: 100%; user-select: none; }
      svg * { transition: transform 0.3s ease-out; }
      text { fill: var(--soft); font-size: 12px; }
      text.word { font-size: 13px; fill: var(--ink); stroke: var(--ground); stroke-width: 3;
        paint-order: stroke; }
      circle, .trail, polyline { fill: none; stroke: var(--quiet);
        vector-effect: non-scaling-stroke; }
      .trail { stroke: var(--accent); stroke-opacity: 0.6; }
      .point { fill: var(--ink); fill-opacity: 0.6; }
      .point.picked { fill: var(--accent); fill-opacity: 0.9; }
      .curve { cursor: ew-resize; touch-action: pan-y; margin-top: 0.2rem; }
      line { stroke: var(--quiet); }
      polyline { stroke: var(--ink); stroke-width: 1.6; }
      .veil { fill: var(--ground); opacity: 0.72; }
      .dot { fill: var(--accent); stroke: none; }
      [role=listbox] { margin-top: 0.5rem; }
      [aria-selected=true] { background: color-mix(in srgb, var(--ink) 9%, transparent); }
      .kind, .row { display: grid; align-items: center; border-radius: 0.3rem; cursor: default; }
      .kind { grid-template-columns: 1.2rem 1fr auto; padding: 0.14rem 0.4rem; gap: 0 0.3rem; }
      .kind svg { width: 1.1rem; }
      small { grid-column: 2 / 4; color: var(--soft); font-size: 0.74rem; }
      small span { white-space: nowrap; }
      :host { --depth: 1%; --first: 5.4rem; }
      :host([data-theme=dark]) { --depth: 0.5%; }
      .row { grid-template-columns: var(--first) repeat(var(--count), 1fr); gap: 3px;
        padding: 0 3px 0 0.4rem; text-align: center; }
      .row :first-child { text-align: left; }
      .cell { margin-block: 3px; line-height: 2.9rem; border-radius: 0.3rem;
        background: color-mix(in srgb, var(--role-weights-fill)
        calc((8 + 92 * var(--weight)) * var(--depth)), var(--ground)); transition: background-color 0.3s; }
      .head { color: var(--soft); }
      @media (width < 30rem) { :host { --first: 4.6rem; } .row { font-size: 0.8rem; }
        .said { min-height: 5.8em; } }`;

    build() {
      const { steps, kinds, words } = this.data;
      this.picked = 0;
      this.at = Math.floor(steps.length / 2);
      const slider = this.stepper(words.steps, steps.map(String), this.at, (at) => (this.at = at));
      this.loss = make("output");
      const beside = div("beside", div("name", words.loss, this.loss), this.curve());
      const seen = div("seen", ...(kinds ? [this.plane()] : this.map()));
      if (kinds) beside.append(this.legend());
      return [div("controls", slider), div("board", seen, beside)];
    }

    /** Draw the loss over the steps; a press goes to the nearest step. */
    curve() {
      const { losses, steps } = this.data;
      const last = steps.at(-1);
      const most = Math.ceil(Math.max(...losses));
      this.x = (step) => LEFT + WIDE * step / last;
      this.y = (loss) => TOP + HIGH * (1 - loss / most);
      const text = (x, y, side, said) => svg("text", { x, y, "text-anchor": side }, `${said}`);
      const lines = Array.from({ length: most + 1 }, (_, loss) => [
        svg("line", { x1: LEFT, x2: LEFT + WIDE, y1: this.y(loss), y2: this.y(loss) }),
        text(LEFT - 8, this.y(loss) + 4, "end", loss)]);
      const ends = [0, last / 2, last].map((step) =>
        text(this.x(step), TOP + HIGH + 16, "middle", step));
      this.veil = svg("rect", { class: "veil", width: WIDE, height: TOP + HIGH });
      this.dot = svg("circle", { class: "dot", r: 5 });
      const drawing = svg("svg", { class: "curve", viewBox: "0 0 264 124", "aria-hidden": true },
        svg("polyline", { points: losses.map((loss, i) => [this.x(i), this.y(loss)]).join(" ") }),
        this.veil, ...lines.flat(), ...ends, this.dot);
      const pick = (event) => {
        if (event.type === "pointermove" && event.buttons !== 1) return;
        this.stop();
        const box = drawing.getBoundingClientRect();
        const x = (event.clientX - box.left) / box.width * 264;
        const far = steps.map((step) => Math.abs(this.x(step) - x));
        this.show(far.indexOf(Math.min(...far)));
      };
      drawing.addEventListener("pointerdown", pick);
      drawing.addEventListener("pointermove", pick);
      return drawing;
    }

    /** The words as points, rings around the middle, and the trails of the picked words. */
    plane() {
      const { kinds, labels } = this.data;
      this.rings = RINGS.map((radius) =>
        [svg("circle", { r: 1 }), svg("text", { "text-anchor": "middle" }, `${radius}`)]);
      this.trail = svg("path", { class: "trail" });
      this.points = labels.map((_, i) => {
        const kind = kinds.findIndex(({ rows }) => rows.includes(i));
        const point = svg("path", { class: "point", d: SHAPES[kind] });
        point.addEventListener("pointerenter", () =>
          this.rows[kind].dispatchEvent(new Event("pointerenter")));
        return point;
      });
      this.names = labels.map((label) => svg("text", { class: "word" }, label));
      return svg("svg", { viewBox: "-168 -168 336 336", "aria-hidden": true },
        ...this.rings.flat(), this.trail, ...this.points, ...this.names);
    }

    /** The kinds of words, one of them picked. */
    legend() {
      const { kinds, labels } = this.data;
      this.rows = kinds.map(({ name, rows }, kind) => div("kind",
        svg("svg", { viewBox: "-9 -9 18 18", "aria-hidden": true },
          svg("path", { class: "point", d: SHAPES[kind] })),
        span("", name), span("number"), make("small", {}, ...rows.flatMap((i, n) =>
          [n ? " · " : "", span("", labels[i])]))));
      return this.pickable(this.words.kinds, this.rows, 0, (at) => (this.picked = at));
    }

    /** The attention map: one row per query, one of them picked. */
    map() {
      const { labels } = this.data;
      this.style.setProperty("--count", labels.length);
      this.rows = labels.map((label) =>
        div("row", span("", label), ...labels.map(() => span("cell number"))));
      const head = div("row head", span(""), ...labels.map((label) => span("", label)));
      head.setAttribute("aria-hidden", true);
      return [head, this.pickable(this.words.queries, this.rows, 0, (at) => (this.picked = at))];
    }

    update() {
      const { steps, losses, kinds, words } = this.data;
      const step = steps[this.at];
      const loss = number(losses[step], 2);
      this.loss.textContent = loss;
      move(this.dot, this.x(step), this.y(losses[step]));
      move(this.veil, this.x(step), 0);
      this.say([fill(words.told, { step, loss }),
        ...(kinds ? this.showPoints() : this.showMap())].join(" "));
    }

    /** Draw the points of this step, and name the word nearest to each word of the picked kind. */
    showPoints() {
      const { kinds, labels, nearest, places, reach, words } = this.data;
      const zoom = HALF / reach[this.at];
      this.rings.forEach(([ring, name], i) => {
        const radius = zoom * RINGS[i];
        ring.style.transform = `scale(${radius})`;
        move(name, 0.71 * radius, 0.71 * radius + 4);
        ring.style.display = radius < 240 ? "" : "none";
        name.style.display = radius > 28 && radius < 180 ? "" : "none";
      });
      const near = nearest[this.at];
      kinds.forEach(({ rows }, kind) => {
        const found = rows.filter((i) => rows.includes(near[i])).length;
        const [mark, , count] = this.rows[kind].children;
        mark.firstChild.classList.toggle("picked", kind === this.picked);
        count.textContent = rows.length < 2 ? "" : fill(words.found, { found, all: rows.length });
      });
      const { rows } = kinds[this.picked];
      const place = (i, at, full) =>
        [places[at][2 * i], -places[at][2 * i + 1]].map((x) => full * x / 1000);
      this.points.forEach((point, i) => {
        move(point, ...place(i, this.at, HALF));
        point.classList.toggle("picked", rows.includes(i));
        this.names[i].style.display = rows.includes(i) ? "" : "none";
      });
      this.trail.style.transform = `scale(${zoom})`;
      const way = (i) => reach.slice(0, this.at + 1).map((full, at) => place(i, at, full));
      this.trail.setAttribute("d", rows.map((i) => `M${way(i).join(" ")}`).join(""));
      this.write(rows.map((i) => [i, ...place(i, this.at, HALF)]));
      return rows.map((i) => fill(words.alike, { word: labels[i], other: labels[near[i]] }));
    }

    /** Put names beside their points, moved apart vertically where they would overlap. */
    write(names) {
      names.sort((a, b) => a[2] - b[2]);
      const lines = names.map((name) => name[2]);
      for (let n = 1; n < lines.length; n++) lines[n] = Math.max(lines[n], lines[n - 1] + 17);
      const lift = lines.reduce((sum, y, n) => sum + y - names[n][2], 0) / lines.length;
      names.forEach(([i, x], n) => {
        const side = x > 75 || (x < 0 && x > -75) ? -1 : 1; // outward, if there is room
        this.names[i].setAttribute("text-anchor", side < 0 ? "end" : "start");
        move(this.names[i], x + 11 * side, lines[n] - lift + 5);
      });
    }

    /** Show the map of this step, and say which key the picked query attends to most. */
    showMap() {
      const { labels, maps, words } = this.data;
      this.rows.forEach((row, i) => maps[this.at][i].forEach((weight, j) => {
        const cell = row.children[j + 1];
        cell.style.setProperty("--weight", weight);
        cell.textContent = number(weight, 2);
      }));
      const row = maps[this.at][this.picked];
      const weight = Math.max(...row);
      return [fill(words.said, { query: labels[this.picked],
        key: labels[row.indexOf(weight)], weight: number(weight, 2) })];
    }
  });
})();
