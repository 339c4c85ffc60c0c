// The translator of chapter 9: attnbook's Transformer, with greedy decoding and beam search.
"use strict";
(() => {
  const { Parameters, add, attend, logSoftmax } = globalThis.attnbook.engine;
  const [, BEGIN, END, UNKNOWN] = [0, 1, 2, 3]; // 0 is PAD, which a single sentence does not need
  const MOST = 30; // the maximum number of words in a translation, END included, as in the chapter
  const N_BEST = 5;

  /** The indices of the largest numbers, the largest first. @param {number[]} from */
  const largest = (from, count) =>
    Array.from(from.keys()).sort((i, j) => from[j] - from[i]).slice(0, count);

  /**
   * A change to the model or to its input.
   * @typedef {{hidden?: Set<number>, off?: Set<number>, first?: number}} Change
   *   hidden: words of the source that are covered; first: the position of the first word;
   *   off: heads of the cross-attention that are switched off, numbered across all layers
   */

  class Translator {
    /** @param {{heads: number, layers: number, width: number, chinese: string[][],
     *   english: string[], tensors: [string, number, number, number?][], data: string}} stored */
    constructor(stored) {
      Object.assign(this, stored, { data: null });
      this.parameters = new Parameters(stored);
      this.ids = new Map(stored.chinese.map(([word], id) => [word, id]));
      this.longest = Math.max(...stored.chinese.map(([word]) => word.length));
    }

    /** A word's vector: its embedding times √width, plus its sinusoidal positional encoding. */
    embed(table, id, position) {
      const { width } = this;
      return this.parameters.row(table, id, width).map((value, i) => {
        const angle = position / 10000 ** ((i - (i % 2)) / width);
        return value * Math.sqrt(width) + (i % 2 ? Math.cos(angle) : Math.sin(angle));
      });
    }

    /** What a row receives from the rows that it attends to, and its attention weights. */
    look(name, x, rows, rules = {}) {
      const query = this.parameters.linear(`${name}.w_q`, x);
      const { mixed, maps } = attend(query, rows, { heads: this.heads, ...rules });
      return { seen: this.parameters.linear(`${name}.w_o`, mixed), maps };
    }

    feedForward(name, x) {
      const up = this.parameters.linear(`${name}.up`, x);
      return this.parameters.linear(`${name}.down`, up.map((value) => Math.max(value, 0)));
    }

    /** The encoder. @param {string[]} source @param {Change} change @returns {Float32Array[]} */
    encode(source, { hidden, first = 0 }) {
      const { parameters } = this;
      let rows = source.map((word, i) =>
        this.embed("source_embedding", this.ids.get(word) ?? UNKNOWN, first + i));
      for (let n = 0; n < this.layers; n += 1) {
        const layer = `encoder.layers.${n}`;
        const kept = { keys: [], values: [] };
        const normed = rows.map((x) => parameters.norm(`${layer}.norm1`, x));
        for (const x of normed) parameters.remember(`${layer}.attention`, x, kept);
        rows = rows.map((x, i) => {
          const y = add(x, this.look(`${layer}.attention`, normed[i], kept, { hidden }).seen);
          return add(y, this.feedForward(`${layer}.feed_forward`,
            parameters.norm(`${layer}.norm2`, y)));
        });
      }
      return rows.map((x) => parameters.norm("encoder.norm", x));
    }

    /** The decoder's state before its first word: keys and values of the source. */
    start(source, change) {
      const z = this.encode(source, change);
      const caches = Array.from({ length: this.layers }, (_, n) => {
        const across = { keys: [], values: [] };
        const name = `decoder.layers.${n}.cross_attention`;
        for (const x of z) this.parameters.remember(name, x, across);
        return { own: { keys: [], values: [] }, across };
      });
      return { caches, position: change.first ?? 0, change };
    }

    /** A copy of a state, from which another continuation can start. */
    fork(state) {
      const caches = state.caches.map(({ own, across }) =>
        ({ own: { keys: [...own.keys], values: [...own.values] }, across }));
      return { ...state, caches };
    }

    /** Let the decoder read one more word. @returns {{logits: Float32Array, maps: number[][]}} */
    step(id, state) {
      const { parameters } = this;
      const { hidden, off } = state.change;
      const maps = [];
      let x = this.embed("target_embedding", id, state.position);
      state.position += 1;
      state.caches.forEach(({ own, across }, n) => {
        const layer = `decoder.layers.${n}`;
        const normed = parameters.norm(`${layer}.norm1`, x);
        parameters.remember(`${layer}.attention`, normed, own);
        x = add(x, this.look(`${layer}.attention`, normed, own).seen);
        const found = this.look(`${layer}.cross_attention`, parameters.norm(`${layer}.norm2`, x),
          across, { hidden, off: (head) => off?.has(n * this.heads + head) });
        maps.push(...found.maps);
        x = add(x, found.seen);
        x = add(x, this.feedForward(`${layer}.feed_forward`, parameters.norm(`${layer}.norm3`, x)));
      });
      return { logits: parameters.linear("to_logits", parameters.norm("decoder.norm", x)), maps };
    }

    /**
     * Write a translation: the given words, then the most probable word at each step, until END.
     * @param {string[]} source @param {Change} change @param {string[]} given
     * @returns {{word: string, chance: number, best: [string, number][], maps: number[][],
     *   logits: Float32Array}[]} for each word its probability, the most probable words in its place,
     *   and the row of weights for each head of each layer
     */
    write(source, change = {}, given = []) {
      const state = this.start(source, change);
      const steps = [];
      for (let last = BEGIN; last !== END && steps.length < MOST;) {
        const { logits, maps } = this.step(last, state);
        const chances = logSoftmax(logits).map(Math.exp);
        const best = largest(chances, N_BEST);
        last = given.length > steps.length ? this.english.indexOf(given[steps.length]) : best[0];
        steps.push({ word: this.english[last], chance: chances[last], maps, logits,
          best: best.map((id) => [this.english[id], chances[id]]) });
      }
      return steps;
    }

    /**
     * Beam search, as in attnbook.beam_search.
     * @param {string[]} source @param {Change} change @param {number} width @param {number} penalty
     * @returns {string[]} the words of the best sentence
     */
    search(source, change, width, penalty) {
      const over = ({ ids }) => ids.at(-1) === END;
      let beam = [{ ids: [], total: 0, state: this.start(source, change) }];
      for (let n = 0; n < MOST && !beam.every(over); n += 1) {
        const candidates = beam.flatMap((one) => {
          if (over(one)) return [one];
          const logs = logSoftmax(this.step(one.ids.at(-1) ?? BEGIN, one.state).logits);
          return largest(logs, width).map((id) => {
            const [ids, total] = [[...one.ids, id], one.total + logs[id]];
            return { ids, total, score: total / ((5 + ids.length) / 6) ** penalty,
              state: one.state };
          });
        });
        beam = candidates.sort((a, b) => b.score - a.score).slice(0, width)
          .map((one) => ({ ...one, state: this.fork(one.state) }));
      }
      return beam[0].ids.map((id) => this.english[id]);
    }

    /** Split a text into as few known words as possible. @param {string} text @returns {string[]} */
    cut(text) {
      const plain = text.replace(/\?/g, "？").replace(/,/g, "，").replace(/[。.!！]/g, " ");
      return (plain.match(/[\p{Script=Han}]+|[？，]|[^\s\p{Script=Han}？，]+/gu) ?? [])
        .flatMap((piece) => (/\p{Script=Han}/u.test(piece) ? this.cutWords(piece) : [piece]));
    }

    cutWords(text) {
      const best = [{ cost: 0, words: [] }]; // the best split of the text up to each character
      for (let end = 1; end <= text.length; end += 1) {
        for (let from = Math.max(0, end - this.longest); from < end; from += 1) {
          const word = text.slice(from, end);
          const known = this.ids.has(word);
          const cost = best[from].cost + (known ? 1 : 100 * word.length);
          if ((known || word.length === 1) && !(best[end]?.cost <= cost)) {
            best[end] = { cost, words: [...best[from].words, word] };
          }
        }
      }
      return best.at(-1).words;
    }
  }

  globalThis.attnbook.Translator = Translator;
})();
