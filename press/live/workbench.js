// The reader's changes to a translation, in the attn-translate figure once its model is loaded.
"use strict";
(() => {
  const { attnbook } = globalThis;
  const { fill, make, number } = attnbook;
  const spoken = (steps) => steps.map(({ word }) => word);

  /**
   * Mark the words of a sentence that are not in its longest common subsequence with another.
   * @param {string[]} one @param {string[]} other @returns {boolean[]} whether each word is marked
   */
  function differences(one, other) {
    // shared[i][j]: the length of the longest common subsequence of one.slice(i), other.slice(j)
    const shared = [...one, ""].map(() => [...other, ""].map(() => 0));
    for (let i = one.length - 1; i >= 0; i -= 1) {
      for (let j = other.length - 1; j >= 0; j -= 1) {
        shared[i][j] = one[i] === other[j] ? shared[i + 1][j + 1] + 1
          : Math.max(shared[i + 1][j], shared[i][j + 1]);
      }
    }
    let j = 0;
    return one.map((word, i) => {
      while (shared[i][j] > shared[i + 1][j] && word !== other[j]) j += 1;
      const found = shared[i][j] > shared[i + 1][j];
      j += found;
      return !found;
    });
  }

  /** A text without tones and capitals: "Māo" is "mao". */
  const bare = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim();
  const LATIN = /[\p{Script=Latin}\p{M}' ]*[\p{Script=Latin}\p{M}]$/u; // what is being typed

  /** The reader's changes to one figure. */
  class Workbench {
    /** @param {HTMLElement} figure */
    constructor(figure) {
      this.figure = figure;
      this.model = attnbook.translator;
      figure.known = new Map(this.model.chinese.map(([word, ...about]) => [word, about]));
      this.right = figure.data.start.right;
      // what else a word can be called: its meaning, or its pinyin without tones
      this.called = this.model.chinese.filter(([, pinyin]) => pinyin).flatMap(
        ([word, pinyin, meaning]) => [meaning, pinyin].filter(Boolean).map((name) => [bare(name), word]));
      this.offers = make("div", { class: "offers", style: "position: absolute; "
        + "top: 100%; z-index: 1; display: grid; justify-items: stretch" });
      figure.field.form.style.position = "relative";
      figure.field.after(this.offers);
      figure.field.addEventListener("input", () => this.offer());
    }

    /** Offer the words that what is being typed, in English or pinyin, may become. */
    offer() {
      const { field, known } = this.figure;
      let typed = field.value.match(LATIN)?.[0].trimStart() ?? "";
      const called = () => this.called.filter(([name]) => typed && name.startsWith(bare(typed)));
      while (/\s/.test(typed) && !called().length) typed = typed.replace(/^\S+\s+/, ""); // one word less
      const before = field.value.slice(0, field.value.length - typed.length).trimEnd();
      const found = called().sort(([one], [other]) => one.length - other.length).map(([, word]) => word);
      this.offers.replaceChildren(...[...new Set(found)].slice(0, 6).map((word) =>
        this.figure.button(`offer ${word}`, [word, ...known.get(word).slice(0, 2)].join(" "), () => {
          field.value = `${before} ${word} `.trimStart();
          this.offers.replaceChildren();
          field.focus();
        })));
    }

    /** The Chinese for words in English or pinyin; other words stay. @param {string[]} words */
    inChinese(words) {
      for (let count = Math.min(words.length, 3); count > 0; count -= 1) {
        const name = bare(words.slice(0, count).join(" "));
        const word = this.called.find(([one]) => one === name)?.[1];
        if (word) return [word, ...this.inChinese(words.slice(count))];
      }
      return words.length ? [words[0], ...this.inChinese(words.slice(1))] : [];
    }

    /**
     * Translate another sentence.
     * @param {string[]} source @param {string} right the right translation, if it is known
     */
    read(source, right = "", chip = null) {
      this.right = right;
      if (!right) this.figure.sentences.value = this.figure.words.own;
      Object.assign(this.figure, { chip, source: source.slice(0, this.figure.data.room) });
      this.set({ covered: new Set() });
    }

    /** @param {string} text Chinese, with or without spaces between words, English or pinyin */
    type(text) {
      const source = this.inChinese(this.model.cut(text));
      this.offers.replaceChildren();
      if (source.length) this.read(source);
      else this.figure.draw(); // shows the present sentence in the empty field again
    }

    /** Show the controls for a word, or hide them. @param {number} i */
    open(i) {
      this.figure.chip = i === this.figure.chip ? null : i;
      this.figure.draw();
    }

    /** Switch a head off or on, or cover or uncover a word. */
    toggle(set, member) {
      if (!set.delete(member)) set.add(member);
      this.set({});
    }

    /** The translation after the changes, and a button that undoes them. */
    changed(fresh) {
      const { figure } = this;
      const { words } = figure;
      return [...figure.row("now", words.now, fresh),
        figure.button("undo", words.undo, () => this.undo())];
    }

    /** Change some settings; words that the reader chose for the translation are dropped. */
    set(settings) {
      Object.assign(this.figure, { given: [] }, settings);
      this.run();
    }

    undo() {
      this.figure.unchanged();
      this.run();
    }

    /** Translate without the changes and with them; only the latest call draws its result. */
    async run() {
      const { figure, model } = this;
      const { source, given, covered, off, first, width, penalty } = figure;
      const change = { hidden: covered, off, first };
      const touched = covered.size > 0 || off.size > 0 || first > 0;
      const turn = (this.turn = {});
      const steps = [
        () => model.write(source),
        ([plain]) => (touched ? model.write(source, change, spoken(plain)) : null),
        () => (given.length || width === 1 ? given : model.search(source, change, width, penalty)),
        ([, forced, found]) => (forced || found.length ? model.write(source, change, found) : null),
      ];
      const made = [];
      for (const step of steps) { // let the page respond in between
        made.push(step(made));
        await new Promise((done) => setTimeout(done));
        if (turn !== this.turn) return;
      }
      [figure.plain, figure.forced, , figure.now] = made;
      const row = figure.now ? "now" : "plain";
      const changed = figure.now ? this.marks(row).indexOf(true) : -1;
      const index = changed < 0 ? figure.at.index : changed;
      figure.at = { row, index: Math.min(index, figure[row].length - 1) };
      figure.draw("fresh");
    }

    /** Mark the words of a row that are not in the unchanged translation. @param {string} row */
    marks(row) {
      return differences(spoken(this.figure[row]), spoken(this.figure.plain));
    }

    /** The controls for the selected word of the source. */
    tools() {
      const { figure } = this;
      const { chip, covered, source, words } = figure;
      if (chip === null || chip >= source.length) return [];
      const edit = (at, count, ...others) => {
        const open = count > others.length ? null : chip;
        this.read(source.toSpliced(at, count, ...others), "", open);
      };
      const all = [this.picker(words.replace, (word) => edit(chip, 1, word)),
        this.picker(words.insert, (word) => edit(chip + 1, 0, word)),
        figure.button("cover", covered.has(chip) ? words.uncover : words.cover,
          () => this.toggle(covered, chip))];
      if (source.length > 1) all.push(figure.button("remove", words.remove, () => edit(chip, 1)));
      return all;
    }

    /**
     * Let the reader pick one of the words that the model knows, grouped by kind. The kind of the
     * pressed word comes first. An option begins with what a reader may type: its meaning, or in the
     * Chinese edition the word, whose neighbors sound like it.
     */
    picker(name, picked) {
      const { chip, readsChinese, source, words } = this.figure;
      const all = this.model.chinese.filter(([, pinyin]) => pinyin); // no special tokens
      const own = all.find(([word]) => word === source[chip])?.[3];
      const group = (kind) => make("optgroup", { label: words.kinds[kind] });
      const kinds = new Map(own ? [[own, group(own)]] : []);
      const by = readsChinese ? 1 : 2;
      for (const [word, pinyin, meaning, kind] of all.toSorted((a, b) => a[by].localeCompare(b[by]))) {
        if (!kinds.has(kind)) kinds.set(kind, group(kind));
        const parts = readsChinese ? [word, pinyin, meaning] : [meaning, word, pinyin];
        kinds.get(kind).append(make("option", { value: word }, parts.join(" ").trim()));
      }
      return make("select", { "aria-label": name, "data-key": name,
        onchange: (event) => picked(event.target.value) },
      make("option", { hidden: "" }, name), ...kinds.values());
    }

    /** The texts about the selected step, the sentence and its translation. */
    remarks(step) {
      const { figure, right } = this;
      const { at, data, forced, now, plain, source, words } = figure;
      const unknown = source.filter((word) => !figure.known.has(word));
      const total = (steps) => number(steps.reduce((sum, one) => sum + Math.log(one.chance), 0), 2);
      const written = spoken(now || plain);
      const least = (now || plain).toSorted((one, other) => one.chance - other.chance)[0];
      return [
        unknown.length > 0 && fill(words.strange, { unknown: unknown.join(" ") }),
        source.length > data.longest && fill(words.long, { count: source.length, ...data }),
        source.length === data.room && fill(words.full, data),
        written.at(-1) !== "END" && words.endless,
        at.row === "plain" && forced && fill(words.moved, { word: step.word,
          before: number(plain[at.index].chance, 2), after: number(step.chance, 2) }),
        fill(least.chance < 0.5 ? words.unsure : words.sure,
          { word: least.word, chance: number(least.chance, 2) }),
        now && figure.width > 1 && fill(words.total, { now: total(now), plain: total(plain) }),
        right && right !== written.slice(0, -1).join(" ") && fill(words.right, { right }),
      ].filter(Boolean).join(" ");
    }
  }

  attnbook.Workbench = Workbench;
})();
