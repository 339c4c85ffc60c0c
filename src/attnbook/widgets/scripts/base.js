// The parts that all interactive figures share. A page loads this file once; in a notebook each
// output contains it, and the first copy is used. The colors are those of attnbook.colors, as CSS
// variables from the page's style sheet or from the one in an output.
"use strict";
globalThis.attnbook ??= (() => {
  const STYLE = `
    :host { display: block; margin-block: 1rem; font: 0.875rem/1.45 var(--book-sans, system-ui),
      sans-serif; color: var(--ink); color-scheme: light;
      --ink: var(--book-text); --soft: var(--book-muted); --line: var(--book-edge);
      --quiet: var(--book-line); --ground: var(--book-surface); --accent: var(--book-accent); }
    :host([data-theme=dark]) { color-scheme: dark; }
    .figure { max-width: 45rem; box-sizing: border-box; padding: 0.9rem 1.1rem 1rem;
      border-radius: 0.6rem; background: var(--ground); }
    .controls { display: flex; flex-wrap: wrap; gap: 0.6rem 1.6rem; margin-bottom: 0.9rem; }
    label, fieldset { display: block; flex: 1 1 14rem; margin: 0; padding: 0; border: 0;
      min-width: 0; }
    .name { display: flex; justify-content: space-between; gap: 1rem; padding: 0;
      color: var(--soft); }
    .name output, .number { color: var(--ink); font-variant-numeric: tabular-nums; }
    input[type=range] { width: 100%; height: 1.75rem; margin: 0; accent-color: var(--accent);
      cursor: grab; touch-action: pan-y; }
    .options { display: flex; margin-top: 0.25rem; border: 1px solid var(--line);
      border-radius: 0.4rem; overflow: hidden; }
    .options label { flex: 1; position: relative; text-align: center; padding: 0.25rem 0.5rem;
      cursor: pointer; transition: background 0.15s; }
    .options label + label { border-left: 1px solid var(--line); }
    .options input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
    .options label:has(:checked) { background: var(--accent); color: var(--ground); }
    .options label:has(:focus-visible) { outline: 3px solid var(--ink); outline-offset: -4px; }
    input:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--accent);
      outline-offset: 3px; border-radius: 0.3rem; }
    .closed { background: repeating-linear-gradient(-45deg, var(--quiet) 0 2px,
      transparent 2px 7px); }
    .try { margin: 0 0 0.8rem; padding-bottom: 0.6rem; border-bottom: 1px solid var(--quiet);
      color: var(--soft); }
    .stepper { display: flex; flex: 1 1 14rem; align-items: end; gap: 1rem; }
    .play { font: inherit; color: inherit; background: none; border: 1px solid var(--line);
      border-radius: 0.4rem; width: 5.2rem; height: auto; margin: 0; padding: 0.25rem 0;
      cursor: pointer; }
    .said { min-height: 2.9em; margin: 0.8rem 0 0; color: var(--ink); }
    .heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    @media (prefers-reduced-motion: reduce) { * { transition: none !important; }
      .play { display: none; } }
    .table { display: none; }
    @media print { .figure { display: none; } .table { display: block; } }`;

  /** @param {string} text @returns {CSSStyleSheet} a sheet that the page's policy allows */
  function sheet(text) {
    const made = new CSSStyleSheet();
    made.replaceSync(text);
    return made;
  }

  /**
   * An HTML element.
   * @param {string} tag
   * @param {Object<string, unknown>} properties attributes, or listeners if a name starts with "on"
   * @param {...(Node|string)} children
   */
  function make(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  /** An SVG element. @param {string} tag @param {Object<string, unknown>} attributes */
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** @param {number} x @param {number} digits decimals @returns {string} with a true minus sign */
  function number(x, digits) {
    const text = x.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  }

  /** @param {number[]} scores @returns {number[]} positive weights that sum to 1 */
  function softmax(scores) {
    const largest = Math.max(...scores);
    const raised = scores.map((score) => Math.exp(score - largest));
    const total = raised.reduce((sum, one) => sum + one, 0);
    return raised.map((one) => one / total);
  }

  /** @param {string} pattern with {names} @param {Object<string, string|number>} values */
  function fill(pattern, values) {
    return pattern.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  }

  /**
   * Move the focus in a grid of cells if the key is an arrow key, Home or End.
   * @param {KeyboardEvent} event @param {HTMLElement[][]} cells @param {[number, number]} from
   * @param {(to: [number, number]) => void} went called before the cell is focused
   * @returns {boolean} whether it was one of these keys
   */
  function walk(event, cells, [i, j], went) {
    const last = [cells.length - 1, cells[0].length - 1];
    const moves = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1],
      ArrowRight: [i, j + 1], Home: [i, 0], End: [i, last[1]] };
    if (!(event.key in moves)) return false;
    event.preventDefault();
    const to = moves[event.key].map((x, axis) => Math.max(0, Math.min(last[axis], x)));
    went(to);
    cells[to[0]][to[1]].focus();
    return true;
  }

  /** Whether a color is dark; undefined if it is mostly transparent. @param {string} color */
  function isDark(color) {
    const [red, green, blue, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    return alpha > 0.5 ? 0.3 * red + 0.59 * green + 0.11 * blue < 128 : undefined;
  }

  /** Whether an element's background is dark; without one (VS Code), its text color decides. */
  function onDark(element) {
    for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
      const found = isDark(getComputedStyle(at).backgroundColor);
      if (found !== undefined) return found;
    }
    return !isDark(getComputedStyle(element).color);
  }

  /** An element with its numbers in the `data` attribute and a table for print as its children. */
  class Figure extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return; // it was moved and is already drawn
      this.data = JSON.parse(this.getAttribute("data"));
      this.words = this.data.words;
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [sheet(STYLE), sheet(this.constructor.style)];
      this.heard = make("div", { class: "heard", "aria-live": "polite" });
      this.said = make("p", { class: "said" });
      const figure = make("div", { class: "figure", role: "group", "aria-label": this.words.name });
      const parts = this.build();
      if (this.words.try) figure.append(make("p", { class: "try" }, this.words.try));
      figure.append(...parts, this.said, this.heard);
      root.append(figure, make("div", { class: "table" }, make("slot")));
      // Our pages declare their theme, so no style is read there. (Doing so before a section is
      // laid out would make jumps to it miss their target.)
      const look = () => (this.dataset.theme = document.documentElement.dataset.theme
        ?? (onDark(this.parentElement) ? "dark" : "light"));
      const watch = new MutationObserver(look);
      for (const element of [document.documentElement, document.body]) {
        watch.observe(element, { attributes: true });
      }
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", look);
      look();
      this.update();
    }

    /** Show a sentence, and let a screen reader read it once the user pauses. */
    say(text) {
      this.said.textContent = text;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => (this.heard.textContent = text), 400);
    }

    /**
     * A slider over positions 0 … count − 1.
     * @param {string} name @param {string[]} shown the text for each position
     * @param {number} start @param {(position: number) => void} moved
     */
    slider(name, shown, start, moved) {
      const output = make("output", {}, shown[start]);
      let before = start;
      const input = make("input", {
        type: "range", min: 0, max: shown.length - 1, value: start,
        "aria-label": name, "aria-valuetext": shown[start],
        onpointerdown: () => (before = input.value),
        onpointercancel: () => { // the touch turned into scrolling the page
          input.value = before;
          input.dispatchEvent(new Event("input"));
        },
        oninput: () => {
          output.textContent = shown[input.value];
          input.setAttribute("aria-valuetext", shown[input.value]);
          moved(Number(input.value));
          this.update();
        },
      });
      return make("label", {}, make("span", { class: "name" }, name, output), input);
    }

    /** A slider over steps, with a button that plays them. Parameters as in slider(). */
    stepper(...slider) {
      const made = this.slider(...slider);
      this.input = made.querySelector("input");
      for (const hand of ["pointerdown", "keydown"]) {
        this.input.addEventListener(hand, () => this.stop());
      }
      this.button = make("button", { type: "button", class: "play", onclick: () => this.play() },
        this.words.play);
      return make("div", { class: "stepper" }, this.button, made);
    }

    /** Show the given step. */
    show(step) {
      this.input.value = step;
      this.input.dispatchEvent(new Event("input"));
    }

    /** Play the steps to the end or until the reader stops them; if at the end, start over. */
    play() {
      if (this.playing) return this.stop();
      const next = () => this.show(Number(this.input.value) + 1);
      const atEnd = () => this.input.value === this.input.max;
      this.button.textContent = this.words.stop;
      if (atEnd()) this.show(0);
      else next();
      this.playing = setInterval(() => {
        next();
        if (atEnd()) this.stop();
      }, this.constructor.pace ?? 800);
    }

    stop() {
      this.playing = clearInterval(this.playing);
      this.button.textContent = this.words.play;
    }

    /** A row of options, one of them chosen. @param {(position: number) => void} chose */
    options(name, labels, start, chose) {
      const group = `options-${Math.random()}`;
      const made = labels.map((label, position) => {
        const input = make("input", { type: "radio", name: group,
          onchange: () => (chose(position), this.update()) });
        input.checked = position === start;
        return make("label", {}, input, label);
      });
      return make("fieldset", {}, make("legend", { class: "name" }, name),
        make("div", { class: "options" }, ...made));
    }

    /**
     * A list of rows, one of which is picked by mouse, touch or arrow keys.
     * @param {HTMLElement[]} rows @param {number} at picked initially
     * @param {(position: number) => void} picked
     */
    pickable(name, rows, at, picked) {
      const pick = (position) => {
        at = Math.max(0, Math.min(rows.length - 1, position));
        rows.forEach((row, i) => row.setAttribute("aria-selected", i === at));
        picked(at);
        this.update();
      };
      rows.forEach((row, i) => {
        row.setAttribute("role", "option");
        row.setAttribute("aria-selected", i === at);
        row.addEventListener("pointerenter", () => pick(i));
        row.addEventListener("pointerdown", () => pick(i));
      });
      const keys = { ArrowDown: () => at + 1, ArrowUp: () => at - 1, ArrowRight: () => at + 1,
        ArrowLeft: () => at - 1, Home: () => 0, End: () => rows.length - 1 };
      return make("div", { role: "listbox", tabindex: 0, "aria-label": name,
        onkeydown: (event) => {
          if (!(event.key in keys)) return;
          event.preventDefault();
          pick(keys[event.key]());
        } }, ...rows);
    }
  }

  /** Register an element, unless an earlier output did. */
  function define(name, element) {
    if (!customElements.get(name)) customElements.define(name, element);
  }

  return { Figure, define, fill, make, number, softmax, svg, walk };
})();
