// All heads of an encoder: a small map of each, framed by its effect, and one map opened.
"use strict";
(() => {
  const { Figure, define, fill, make, number, svg, walk } = globalThis.attnbook;

  define("attn-heads", class extends Figure {
    static style = `
      select { font: inherit; color: inherit; background: var(--ground); width: 100%;
        box-sizing: border-box; border: 1px solid var(--line); border-radius: 0.4rem;
        padding: 0.3rem 0.5rem; margin-top: 0.25rem; }
      select:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
      .all { display: grid; grid-template-columns: 4rem repeat(var(--heads), 1fr); gap: 3px;
        align-items: center; }
      [role=row] { display: contents; }
      .head { color: var(--soft); white-space: nowrap; }
      .head:not(:first-child) { text-align: center; }
      .short { display: none; }
      .small { cursor: pointer; box-sizing: border-box; aspect-ratio: 1; border-radius: 0.2rem;
        border: 3px solid color-mix(in srgb, var(--ink) calc(100% * var(--moved)), var(--quiet)); }
      .small[aria-selected=true] { outline: 3px solid var(--accent); outline-offset: 0; }
      .small svg { display: block; width: 100%; height: 100%; fill: var(--role-weights-fill); }
      .open { border-spacing: 2px; border-collapse: separate; margin-top: 1rem;
        font-variant-numeric: tabular-nums; }
      caption { text-align: left; padding-bottom: 0.3rem; }
      caption span { color: var(--soft); }
      .open th { font-weight: normal; padding: 0 0.3rem; white-space: nowrap; }
      .open tbody th { text-align: right; }
      .open thead th { vertical-align: bottom; padding: 0.3rem 0; }
      .open thead span { writing-mode: vertical-rl; transform: rotate(180deg); }
      .open td { width: 2.3rem; height: 1.9rem; padding: 0; text-align: center;
        border-radius: 0.2rem; background: color-mix(in srgb, var(--role-weights-fill)
        calc(100% * var(--weight) * var(--depth, 1)), var(--ground)); }
      :host([data-theme=dark]) .open { --depth: 0.5; } /* so that the numbers stay readable */
      .said { min-height: 4.4em; }
      @media (width < 30rem) { .all { grid-template-columns: 0.8rem repeat(var(--heads), 1fr);
        gap: 2px; font-size: 0.75rem; } .long { display: none; } .short { display: inline; }
        .small { border-width: 2px; } .open { width: 100%; border-spacing: 1px; font-size: 0.75rem; }
        .open td { width: auto; min-width: 1.3rem; } .said { min-height: 5.8em; } }`;

    build() {
      const { sentences } = this.data;
      const { words } = this;
      const { moved } = sentences[0];
      this.at = [0, 0];
      this.sentence = sentences[0];
      this.maps = this.unpack();
      this.picker = make("select", { onchange: () => {
        this.sentence = sentences[this.picker.selectedIndex];
        this.maps = this.unpack();
        this.draw();
        this.update();
      } }, ...sentences.map(({ text }) => make("option", {}, text)));
      this.small = moved.map((row, layer) => row.map((_, head) => make("div", { class: "small",
        role: "gridcell", "aria-label": this.name(layer, head),
        onclick: () => this.pick([layer, head]) })));
      const top = make("div", { role: "row" }, make("div", { class: "head", role: "columnheader" },
        make("span", { class: "long" }, words.head)), ...moved[0].map((_, head) =>
        make("div", { class: "head", role: "columnheader" }, String(head))));
      const all = make("div", { class: "all", role: "grid", "aria-label": words.name,
        onkeydown: (event) => walk(event, this.small, this.at, (to) => this.pick(to)) }, top,
      ...this.small.map((row, layer) => make("div", { role: "row" },
        make("div", { class: "head", role: "rowheader" },
          make("span", { class: "long" }, fill(words.layer, { n: layer + 1 })),
          make("span", { class: "short" }, String(layer + 1))), ...row)));
      all.style.setProperty("--heads", moved[0].length);
      this.open = make("table", { class: "open" });
      this.draw();
      const sentence = make("label", {}, make("span", { class: "name" }, words.sentence), this.picker);
      return [make("div", { class: "controls" }, sentence), all, this.open];
    }

    /** The maps of the sentence, in hundredths: layers, heads, queries, keys. */
    unpack() {
      const { maps, moved, tokens } = this.sentence;
      const bytes = atob(maps);
      let at = 0;
      return moved.map((row) => row.map(() => tokens.map(() =>
        tokens.map(() => bytes.charCodeAt(at++)))));
    }

    name(layer, head) {
      return fill(this.words.one, { layer: layer + 1, head });
    }

    pick(at) {
      this.at = at;
      this.update();
    }

    /** Draw the small maps: one path for all cells of the same tenth. */
    draw() {
      const { moved, tokens } = this.sentence;
      const most = Math.max(...moved.flat());
      this.small.forEach((row, layer) => row.forEach((cell, head) => {
        const paths = Array(11).fill("");
        this.maps[layer][head].forEach((weights, i) => weights.forEach((x, j) => {
          paths[Math.round(x / 10)] += `M${j} ${i}h1v1h-1z`;
        }));
        cell.style.setProperty("--moved", moved[layer][head] / most);
        cell.replaceChildren(svg("svg", { viewBox: `0 0 ${tokens.length} ${tokens.length}`,
          "shape-rendering": "crispEdges", "aria-hidden": true }, ...paths.flatMap((d, tenth) => (
          d && tenth ? [svg("path", { d, "fill-opacity": tenth / 10 })] : []))));
      }));
    }

    /** The place that gets most of the words' weight, on average, and how much. */
    where(map) {
      const last = map.length - 1;
      const keys = [(i) => i - 1, (i) => i, (i) => i + 1, () => 0, () => last];
      const means = keys.map((key) => map.slice(1, last).reduce((sum, row, i) =>
        sum + row[key(i + 1)], 0) / (last - 1));
      const share = Math.max(...means);
      return { share: number(share / 100, 2), where: this.words.places[means.indexOf(share)] };
    }

    update() {
      const { moved, tokens } = this.sentence;
      const { words } = this;
      const [layer, head] = this.at;
      this.small.forEach((row, i) => row.forEach((cell, j) => {
        const chosen = i === layer && j === head;
        cell.setAttribute("aria-selected", chosen);
        cell.tabIndex = chosen ? 0 : -1;
      }));
      const map = this.maps[layer][head];
      const word = (token) => make("th", { scope: "col" }, make("span", {}, token));
      this.open.replaceChildren(
        make("caption", {}, `${this.name(layer, head)} `, make("span", {}, words.axes)),
        make("thead", {}, make("tr", {}, make("td"), ...tokens.map(word))),
        make("tbody", {}, ...map.map((row, i) => make("tr", {},
          make("th", { scope: "row" }, tokens[i]), ...row.map((x) => {
            const cell = make("td", {}, String(x || ""));
            cell.style.setProperty("--weight", x / 100);
            return cell;
          })))));
      const x = moved[layer][head];
      const all = moved.flat();
      this.say([fill(words.said, { layer: layer + 1, head, moved: number(x, 1), all: all.length,
        more: all.filter((other) => other > x).length }), fill(words.mean, this.where(map))].join(" "));
    }
  });
})();
