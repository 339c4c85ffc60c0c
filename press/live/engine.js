// The arithmetic of a Transformer in plain JavaScript, for models that run in a page: one row at a
// time, on typed arrays. A page loads this file when a figure with a model is first used
// (press/extension/live.py). tests/press/widgets/test_live_translator.py compares it with PyTorch.
"use strict";
(() => {
  const EPSILON = 1e-5; // of each norm, as in PyTorch

  /** @param {Float32Array} x @param {Float32Array} y @returns {Float32Array} */
  const add = (x, y) => x.map((value, i) => value + y[i]);

  /** @param {ArrayLike<number>} logits @returns {number[]} the logarithms of their softmax */
  function logSoftmax(logits) {
    const largest = Math.max(...logits);
    let total = 0;
    for (const logit of logits) total += Math.exp(logit - largest);
    return Array.from(logits, (logit) => logit - largest - Math.log(total));
  }

  /**
   * Let one query attend with several heads, each of which has a slice of the columns.
   * @param {Float32Array} query @param {{keys: Float32Array[], values: Float32Array[]}} rows
   * @param {{heads: number, hidden?: Set<number>, off?: (head: number) => boolean}} rules
   *   hidden: rows that the query may not attend to; off: heads whose output is replaced by zeros
   * @returns {{mixed: Float32Array, maps: number[][]}} the heads' outputs side by side, and the
   *   weights of each head
   */
  function attend(query, { keys, values }, { heads, hidden = new Set(), off = () => false }) {
    const width = query.length / heads;
    const mixed = new Float32Array(query.length);
    const maps = [];
    for (let head = 0, from = 0; head < heads; head += 1, from += width) {
      const scores = keys.map((key, j) => {
        if (hidden.has(j)) return -Infinity;
        let sum = 0;
        for (let i = from; i < from + width; i += 1) sum += query[i] * key[i];
        return sum / Math.sqrt(width);
      });
      const nothing = scores.every((score) => score === -Infinity);
      const weights = nothing ? scores.map(() => 0) : logSoftmax(scores).map(Math.exp);
      maps.push(weights);
      if (off(head)) continue;
      values.forEach((value, j) => {
        for (let i = from; i < from + width; i += 1) mixed[i] += weights[j] * value[i];
      });
    }
    return { mixed, maps };
  }

  /** Return the number that the bits of a float16 encode. @param {number} bits */
  function half(bits) {
    const exponent = (bits >> 10) & 31;
    const fraction = (bits & 1023) / 1024;
    const size = exponent ? (1 + fraction) * 2 ** (exponent - 15) : fraction * 2 ** -14;
    return bits < 0 ? -size : size;
  }

  /** The parameters of a model, by the names that PyTorch gives them, and layers that use them. */
  class Parameters {
    /**
     * @param {{tensors: [string, ?number, number, number?][], data: string}} stored tensors: the
     *   name, bits and shape of each; data: all numbers in base64, each multiplied by
     *   2 ** bits and stored as a 16-bit integer, or stored as a float16 where bits is null
     */
    constructor({ tensors, data }) {
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      const integers = new Int16Array(bytes.buffer);
      let at = 0;
      this.tensors = new Map(tensors.map(([name, bits, rows, columns = 1]) => [name,
        Float32Array.from(integers.subarray(at, at += rows * columns), (x) => bits === null ? half(x) : x / 2 ** bits)]));
    }

    /**
     * x Wᵀ + b, or x Wᵀ if the layer has no bias.
     * @param {string} name @param {Float32Array} x @returns {Float32Array}
     */
    linear(name, x) {
      const weight = this.tensors.get(`${name}.weight`);
      const made = this.tensors.get(`${name}.bias`)?.slice()
        ?? new Float32Array(weight.length / x.length);
      for (let row = 0, at = 0; row < made.length; row += 1) {
        let sum = 0;
        for (let i = 0; i < x.length; i += 1, at += 1) sum += weight[at] * x[i];
        made[row] += sum;
      }
      return made;
    }

    /** LayerNorm. @param {string} name @param {Float32Array} x @returns {Float32Array} */
    norm(name, x) {
      const weight = this.tensors.get(`${name}.weight`);
      const bias = this.tensors.get(`${name}.bias`);
      let mean = 0;
      let variance = 0;
      for (const value of x) mean += value / x.length;
      for (const value of x) variance += (value - mean) ** 2 / x.length;
      const by = 1 / Math.sqrt(variance + EPSILON);
      return x.map((value, i) => (value - mean) * by * weight[i] + bias[i]);
    }

    /**
     * A row of an embedding table.
     * @param {string} name @param {number} id @param {number} width
     */
    row(name, id, width) {
      return this.tensors.get(`${name}.weight`).slice(id * width, (id + 1) * width);
    }

    /** Append a row's key and value. @param {string} name @param {Float32Array} x */
    remember(name, x, { keys, values }) {
      keys.push(this.linear(`${name}.w_k`, x));
      values.push(this.linear(`${name}.w_v`, x));
    }
  }

  globalThis.attnbook.engine = { Parameters, add, attend, logSoftmax };
})();
