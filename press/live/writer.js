// The language model of chapter 12: attnbook's LanguageModel, word by word.
"use strict";
(() => {
  const { Parameters, add, attend } = globalThis.attnbook.engine;
  const [, BEGIN, , UNKNOWN] = [0, 1, 2, 3];
  const EPSILON = 1e-5; // of each RMSNorm, as in PyTorch
  const BASE = 10000; // of the rotary frequencies
  const MOST = 2000; // the maximum number of texts to remember

  class Writer {
    /** @param {{heads: number, keyHeads: number, layers: number, width: number, words: string[],
     *   tensors: [string, null, number, number?][], data: string}} stored */
    constructor(stored) {
      Object.assign(this, stored, { data: null });
      this.parameters = new Parameters(stored);
      this.ids = new Map(stored.words.map((word, id) => [word, id]));
      this.read = new Map(); // for each sequence of words read: logits, keys and values
    }

    /** Rotate each head's pairs of columns by an angle that grows with the position. */
    turn(x, position) {
      const columns = this.width / this.heads;
      return x.map((value, i) => {
        const angle = position * BASE ** (-((i - (i % 2)) % columns) / columns);
        return i % 2 ? x[i - 1] * Math.sin(angle) + value * Math.cos(angle)
          : value * Math.cos(angle) - x[i + 1] * Math.sin(angle);
      });
    }

    /** Repeat each key head's columns for every head that shares them. */
    shared(x) {
      const columns = this.width / this.heads;
      const group = this.heads / this.keyHeads;
      return Float32Array.from({ length: this.width }, (_, i) =>
        x[Math.floor(i / columns / group) * columns + (i % columns)]);
    }

    /** RMSNorm. */
    norm(name, x) {
      const weight = this.parameters.tensors.get(`${name}.weight`);
      const square = x.reduce((sum, value) => sum + value * value, 0) / x.length;
      const by = 1 / Math.sqrt(square + EPSILON);
      return x.map((value, i) => value * by * weight[i]);
    }

    /** Read one more word after others. @returns the state after that word */
    step(id, before, position) {
      const linear = (name, x) => this.parameters.linear(name, x);
      let x = this.parameters.row("embedding", id, this.width);
      const caches = before.map(({ keys, values }, n) => {
        const block = `blocks.${n}`;
        const normed = this.norm(`${block}.norm1`, x);
        const [query, key, value] = ["q", "k", "v"].map((one) =>
          linear(`${block}.attention.w_${one}`, normed));
        const cache = { keys: [...keys, this.shared(this.turn(key, position))],
          values: [...values, this.shared(value)] };
        const { mixed } = attend(this.turn(query, position), cache, { heads: this.heads });
        x = add(x, linear(`${block}.attention.w_o`, mixed));
        const again = this.norm(`${block}.norm2`, x);
        const up = linear(`${block}.feed_forward.up`, again);
        const gated = linear(`${block}.feed_forward.gate`, again)
          .map((gate, i) => gate / (1 + Math.exp(-gate)) * up[i]);
        x = add(x, linear(`${block}.feed_forward.down`, gated));
        return cache;
      });
      return { logits: linear("embedding", this.norm("norm", x)), caches };
    }

    /** The state after some words; each sequence of words is computed once. @param {string[]} words */
    known(words) {
      const name = words.join(" ");
      if (!this.read.has(name)) {
        const empty = Array.from({ length: this.layers }, () => ({ keys: [], values: [] }));
        this.read.set(name, words.length === 0 ? this.step(BEGIN, empty, 0)
          : this.step(this.ids.get(words.at(-1)) ?? UNKNOWN, this.known(words.slice(0, -1)).caches,
            words.length));
      }
      return this.read.get(name);
    }

    /** The logits of the word after these words. @param {string[]} words @returns {Float32Array} */
    after(words) {
      if (this.read.size > MOST) this.read.clear();
      return this.known(words).logits;
    }
  }

  globalThis.attnbook.Writer = Writer;
})();
