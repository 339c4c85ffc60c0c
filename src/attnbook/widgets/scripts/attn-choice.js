// An exercise's questions, answered on the page: each answer gets the checker's feedback.
"use strict";
(() => {
  const { Figure, define, fill, make } = globalThis.attnbook;

  /** Use the browser's storage; null if access to it is denied. */
  function kept(ask) {
    try {
      return ask(localStorage);
    } catch {
      return null;
    }
  }

  /** @param {string} text with `code` and *emphasis* @returns {(Node|string)[]} */
  function marked(text) {
    return text.split(/(`[^`]+`|\*[^*]+\*)/).map((part, i) => (
      i % 2 ? make(part[0] === "*" ? "em" : "code", {}, part.slice(1, -1)) : part));
  }

  /** The feedback on an answer to a question; empty for the right one. */
  function judge({ answers, other }, answer) {
    const known = answers.find(([one]) => one === answer);
    return known ? known[1] : fill(other, { got: answer });
  }

  /**
   * The card's text of a question, so that it can be repeated right above the question's buttons: an
   * item of a list, a row of a table, or a paragraph, with the texts of the answers if a list of
   * "A: ..." follows it.
   * @param {Element} card @param {string} name
   * @returns {?{from: Element[], text: Node[], answers: Map<string, Node[]>}}
   */
  function told(card, name) {
    const names = [name, `"${name}"`];
    const copy = (element) => [...element.cloneNode(true).childNodes];
    for (const block of card.querySelectorAll(":scope > div tbody tr, :scope > p, :scope > ul > li")) {
      const [first, ...cells] = block.matches("tr") ? block.cells : [];
      if (first ? !names.includes(first.textContent.trim())
        : !block.textContent.trim().startsWith(names[1])) continue;
      if (first) {
        const heads = [...block.closest("table").tHead.rows[0].cells].slice(1);
        const text = cells.flatMap((cell, i) => [
          ...(cells.length > 1 ? [make("small", {}, heads[i].textContent), " "] : []),
          make("span", { class: "cell" }, ...copy(cell.querySelector("p") ?? cell)), " "]);
        return { from: [block.closest(".pst-scrollable-table-container")], text, answers: new Map() };
      }
      const text = copy(block.querySelector("p") ?? block);
      text.splice(0, text.findIndex((node) => node.textContent.includes(names[1])) + 1);
      text[0].textContent = text[0].textContent.replace(/^[:：]\s*/, "");
      const list = block.matches("p + ul > li") || !block.nextElementSibling?.matches("ul") ? null
        : block.nextElementSibling;
      const answers = new Map(Array.from(list?.children ?? [], (item) => {
        const said = copy(item.querySelector("p") ?? item);
        const [, letter] = said[0].textContent.match(/^\s*(\w+)[:：]\s*/) ?? [];
        said[0].textContent = said[0].textContent.replace(/^\s*\w+[:：]\s*/, "");
        return [letter, said];
      }));
      return { from: [block, ...(list ? [list] : [])], text, answers };
    }
    return null;
  }

  function buttons({ answers }, name, onchange, texts) {
    const inputs = answers.map(() => make("input", { type: "radio", name, onchange }));
    return {
      controls: inputs.map((input, i) => make("label", {}, input,
        make("span", {}, answers[i][0]), " ", ...(texts.get(answers[i][0]) ?? []))),
      get: () => answers[inputs.findIndex((input) => input.checked)]?.[0],
      set: (answer) => inputs.forEach((input, i) => (input.checked = answers[i][0] === answer)),
    };
  }

  function field(question, name, oninput) {
    const input = make("input",
      { type: "number", step: "any", "aria-labelledby": name, oninput });
    return {
      controls: [input],
      get: () => (input.value ? Number(input.value) : undefined),
      set: (answer = "") => (input.value = answer),
    };
  }

  define("attn-choice", class extends Figure {
    static judge = judge;

    static style = `
      .figure { max-width: none; padding: 0; background: none; }
      fieldset { display: grid; grid-template-columns: 6.6rem 1fr; gap: 0.3rem 0.6rem;
        align-items: baseline; margin-bottom: 0.6rem; --mark: var(--accent); }
      fieldset.right { --mark: var(--state-passed); }
      fieldset.wrong { --mark: var(--state-failed); }
      fieldset.open { --mark: var(--soft); }
      legend { float: left; padding: 0; }
      fieldset.told { grid-template-columns: 1fr; gap: 0.45rem; margin-bottom: 1.3rem; }
      .told legend { max-width: 38rem; font-size: 1rem; line-height: 1.5; }
      .told legend > code:first-child { margin-right: 0.15em; font-weight: 600; }
      legend small { color: var(--soft); font-size: 0.8rem; }
      .cell + small { margin-left: 0.5em; }
      .told .says { grid-column: 1; }
      .answers.long { flex-direction: column; max-width: 38rem; }
      .long span { margin-right: 0.35em; font-weight: 600; }
      code { font: 0.95em var(--book-mono, monospace); }
      .sign { margin-left: 0.5em; font-weight: 600; color: var(--mark); }
      .answers { display: flex; flex-wrap: wrap; gap: 0.4rem; }
      .answers label { flex: none; position: relative; padding: 0.25rem 0.8rem; cursor: pointer;
        border: 1px solid var(--line); border-radius: 0.4rem; transition: background 0.15s; }
      .answers label:hover { border-color: var(--ink); }
      .answers label:has(:checked) { border-color: var(--mark); background: var(--mark);
        color: var(--ground); }
      .answers label:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
      [type=radio] { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
      [type=number] { width: 6rem; padding: 0.25rem 0.6rem; font: inherit; color: inherit;
        background: none; border: 1px solid var(--mark); border-radius: 0.4rem; }
      .says { grid-column: 2; margin: 0 0 0.3rem; max-width: 36rem; color: var(--soft); }
      :is(.wrong, .open) .says { color: var(--ink); }
      .says:empty { display: none; }
      button { margin: 0.3rem 0.8rem 0 0; padding: 0.35rem 1.2rem; cursor: pointer; font: inherit;
        border: 1px solid var(--accent); border-radius: 0.4rem; color: var(--ground);
        background: var(--accent); }
      button.quiet { color: var(--accent); background: none; }
      button:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
      .said { min-height: 1.45em; max-width: 43rem; white-space: pre-line; }
      .said strong { color: var(--state-passed); }
      @media (width < 30rem) { fieldset:has([type=radio]) { grid-template-columns: 1fr; }
        .says { grid-column: 1 / -1; } }`;

    build() {
      this.key = STORED.solved + this.data.id;
      const card = this.parentElement;
      const found = this.data.questions.map(({ asks }) => told(card, asks));
      this.told = found.every(Boolean) ? found : []; // all questions, or the card stays as it is
      for (const { from } of this.told) for (const block of from) block.classList.add("asked");
      this.rows = this.data.questions.map((question, i) => this.row(question, i));
      this.forget = make("button", { type: "button", class: "quiet",
        onclick: () => this.startAgain() }, this.words.forget);
      if (kept((storage) => storage.getItem(this.key))) {
        for (const row of this.rows) row.set(row.question.answers.find(([, says]) => !says)[0]);
        this.judge();
      }
      return [make("form", { novalidate: "", onsubmit: (event) => this.check(event) },
        ...this.rows.map((row) => row.box), make("button", {}, this.words.check), this.forget)];
    }

    row(question, i) {
      const [name, describes] = [`asks-${i}`, `says-${i}`];
      const made = question.other === undefined ? buttons : field;
      const { text = [], answers = new Map() } = this.told[i] ?? {};
      const row = { question, sign: make("span", { class: "sign" }),
        says: make("p", { class: "says", id: describes }),
        ...made(question, name, () => {
          row.judged = undefined;
          row.says.textContent = "";
          this.say("");
          this.update();
        }, answers) };
      row.box = make("fieldset", { "aria-describedby": describes },
        make("legend", { id: name }, make("code", {}, question.asks), " ", ...text, row.sign),
        make("div", { class: answers.size ? "answers long" : "answers" }, ...row.controls), row.says);
      return row;
    }

    /** Judge all answers at once, as a notebook does, and return whether they are all right. */
    judge() {
      const { open, says } = this.data;
      const { words } = this;
      for (const row of this.rows) {
        const answer = row.get();
        row.judged = answer === undefined ? open : judge(row.question, answer);
        row.says.replaceChildren(...marked(row.judged));
      }
      const right = this.rows.filter((row) => row.judged === "").length;
      const solved = right === this.rows.length;
      this.said.replaceChildren(...marked(says[right]));
      if (solved) this.said.prepend(make("strong", {}, `${words.passed} ${words.solved}`), "\n");
      return solved;
    }

    check(event) {
      event.preventDefault();
      if (this.judge()) kept((storage) => storage.setItem(this.key, "yes"));
      this.update();
      const shown = [...this.said.childNodes];
      this.say(this.said.textContent);
      this.said.replaceChildren(...shown);
    }

    startAgain() {
      kept((storage) => storage.removeItem(this.key));
      for (const row of this.rows) {
        row.set();
        row.judged = undefined;
        row.says.textContent = "";
      }
      this.say("");
      this.update();
      this.rows[0].box.querySelector("input").focus();
    }

    update() {
      const { words } = this;
      const signs = { right: words.passed, wrong: words.failed, open: words.untouched };
      for (const { box, sign, judged } of this.rows) {
        const stands = judged === "" ? "right" : judged === this.data.open ? "open" : "wrong";
        const mark = judged === undefined ? "" : stands;
        box.className = this.told.length ? `told ${mark}` : mark;
        sign.textContent = signs[mark] ?? "";
      }
      this.forget.hidden = !kept((storage) => storage.getItem(this.key));
      this.dispatchEvent(new Event("solved", { bubbles: true })); // updates the page's count
    }
  });
})();
