// A model's config.json is read in the page, by the same rules as read_config's in the library.
"use strict";
(() => {
  const { Figure, define, fill, make } = globalThis.attnbook;

  /** The last part of a name with dots. @param {string} name */
  const leaf = (name) => name.slice(name.lastIndexOf(".") + 1);

  /** @param {unknown} value @returns {boolean} whether it is an object with named fields */
  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  /** All fields that have a value; nested rotary settings get names joined by dots. */
  function flat(config, prefix = "") {
    const fields = {};
    for (const [name, value] of Object.entries(config)) {
      if (name === "text_config" && isObject(value)) Object.assign(fields, flat(value));
      else if (isObject(value) && (prefix || name.startsWith("rope_"))) {
        Object.assign(fields, flat(value, `${prefix}${name}.`));
      } else if (value !== null) fields[prefix + name] = value;
    }
    return fields;
  }

  /** A value in one line; a list by how often each entry occurs. */
  function shown(value) {
    if (!Array.isArray(value)) return JSON.stringify(value);
    const counts = new Map();
    for (const one of value.map(shown)) counts.set(one, (counts.get(one) ?? 0) + 1);
    return [...counts].map(([one, count]) => `${count} × ${one}`).join(" + ") || "[]";
  }

  /** The name of a field, and of all fields in its value, joined by dots. */
  function nestedNames(name, value) {
    const inner = isObject(value) ? Object.entries(value) : [];
    return [name, ...inner.flatMap(([key, one]) => nestedNames(`${name}.${key}`, one))];
  }

  /** Whether one of these names is like the first pattern and not like the second. */
  const hasUnread = (names, which, neither) => names.some((name) =>
    new RegExp(which).test(name) && !new RegExp(neither).test(name));

  /** How many numbers one layer keeps for one word, or null if the fields do not say. */
  function numbersPerWord(fields, unread, rules) {
    if (hasUnread(unread, rules.size, `${rules.neither}|${rules.state}`)) return null;
    const indexer = fields.index_head_dim ?? 0;
    if ("kv_lora_rank" in fields) {
      return fields.kv_lora_rank + (fields.qk_rope_head_dim ?? 0) + indexer;
    }
    const heads = fields.num_attention_heads ?? fields.n_head;
    const width = fields.hidden_size ?? fields.n_embd;
    if (heads === undefined || width === undefined) return null;
    const shared = fields.multi_query && !fields.new_decoder_architecture;
    const keyHeads = shared ? 1 : fields.num_key_value_heads ?? fields.num_kv_heads ?? heads;
    const dK = fields.head_dim || Math.floor(width / heads);
    return keyHeads * (dK + (fields.v_head_dim ?? dK)) + indexer;
  }

  /** All layers of one kind, or all but each n-th; null if it is not known which. */
  function regularKinds(fields, layers, windowed) {
    let [other, every] = ["sliding_attention", fields.sliding_window_pattern];
    if (Object.keys(fields).some((name) => /^linear_|^full_attention_interval$/.test(name))) {
      [other, every] = ["linear_attention", fields.full_attention_interval];
    } else if (!(fields.use_sliding_window ?? true) || !fields.sliding_window) every = 1;
    else if (every === undefined && !("max_window_layers" in fields)) {
      every = windowed[fields.model_type ?? ""];
    }
    if (!Number.isInteger(every)) return null;
    return Array.from({ length: layers }, (_, i) =>
      (!every || (i + 1) % every ? other : "full_attention"));
  }

  /** The kind of each layer, or null if the fields do not determine it. */
  function layerKinds(fields, unread, rules) {
    const layers = fields.num_hidden_layers ?? fields.n_layer;
    if (layers === undefined) return null;
    if (fields.layer_types) return fields.layer_types;
    const marks = fields.hybrid_override_pattern;
    if (marks) return [...marks].map((mark) => rules.marks[mark] ?? mark);
    const full = fields.linear_attn_config?.full_attn_layers;
    if (full) {
      return Array.from({ length: layers }, (_, i) =>
        (full.includes(i + 1) ? "full_attention" : "linear_attention"));
    }
    if (hasUnread(unread, rules.which, rules.neither) || "linear_attn_config" in fields) return null;
    if (!("attention_chunk_size" in fields)) return regularKinds(fields, layers, rules.windowed);
    const rotary = fields.no_rope_layers ?? [];
    return rotary.length !== layers ? null
      : rotary.map((one) => (one ? "chunked_attention" : "full_attention"));
  }

  /** For each layer that keeps keys, how many words it keeps them for; null if unknown. */
  function keptWindows(fields, unread, rules) {
    const found = layerKinds(fields, unread, rules);
    const { kinds } = rules;
    if (!found?.every((kind) => kind in kinds)) return null;
    return found.filter((kind) => kinds[kind] !== "none")
      .map((kind) => fields[kinds[kind]] ?? Infinity);
  }

  define("attn-config", class extends Figure {
    static style = `
      select, textarea { font: inherit; color: inherit; background: var(--ground); width: 100%;
        box-sizing: border-box; border: 1px solid var(--line); border-radius: 0.4rem;
        padding: 0.3rem 0.5rem; margin-top: 0.25rem; }
      textarea { height: 9rem; resize: vertical; font-family: ui-monospace, monospace;
        font-size: 0.8rem; }
      select:focus-visible, textarea:focus-visible { outline: 3px solid var(--accent);
        outline-offset: 2px; }
      table { width: 100%; border-collapse: collapse; }
      th { text-align: left; font-weight: normal; color: var(--soft); padding: 0.2rem 0.4rem; }
      table:not(:has(td)) { display: none; }
      td { padding: 0.2rem 0.4rem; border-top: 1px solid var(--quiet); vertical-align: top; }
      td:nth-child(3) { overflow-wrap: anywhere; }
      td:nth-child(2), th:nth-child(2) { text-align: right; }
      tr.unknown { background: color-mix(in srgb, var(--accent) 14%, transparent); }
      @media (width < 30rem) { td, th { padding-inline: 0.2rem; font-size: 0.8rem; } }`;

    build() {
      const { examples, first } = this.data;
      const { words } = this;
      const option = (name) => make("option", { value: name }, name);
      this.models = make("select", { "aria-label": words.model, onchange: () => {
        if (this.models.value) this.paste.value = this.example(this.models.value);
        this.update();
      } }, ...Object.keys(examples).map(option), make("option", { value: "" }, words.yours));
      this.models.value = first;
      this.paste = make("textarea", { spellcheck: false, oninput: () => {
        this.models.value = "";
        this.update();
      } });
      this.paste.value = this.example(first);
      this.body = make("tbody");
      const named = (name, field) => make("label", {},
        make("span", { class: "name" }, name), field);
      return [make("div", { class: "controls" }, named(words.model, this.models)),
        named(words.paste, this.paste), make("table", {}, make("thead", {}, make("tr", {},
          ...words.head.map((name) => make("th", { scope: "col" }, name)))), this.body)];
    }

    /** The fields of a published configuration as JSON. @param {string} model */
    example(model) {
      const kinds = Object.keys(this.data.rules.kinds);
      const values = this.data.examples[model].split("|");
      const config = {};
      this.data.names.split(" ").forEach((name, i) => {
        if (!values[i]) return;
        const digits = () => [...values[i]].map(Number);
        config[name] = name === "layer_types" ? digits().map((digit) => kinds[digit])
          : name === "no_rope_layers" ? digits() : JSON.parse(values[i]);
      });
      return JSON.stringify(config, null, 1).replace(/\[[^\]]*\]/g, (list) =>
        list.replace(/\s+/g, " "));
    }

    /** The bytes of the cache of one text, or null if the fields do not determine them. */
    cacheBytes(fields, unknown, words) {
      const { rules } = this.data;
      const unread = unknown.flatMap((name) => nestedNames(name, fields[name]));
      const perWord = numbersPerWord(fields, unread, rules);
      const windows = keptWindows(fields, unread, rules);
      if (perWord === null || windows === null) return null;
      const kept = windows.reduce((sum, window) => sum + Math.min(words, window), 0);
      return this.data.bytes * perWord * kept;
    }

    /** What a configuration says: rows of a name, a section and a text, and the unknown fields. */
    read(config) {
      const { parts, outside, sizes } = this.data;
      const { words } = this;
      const language = document.documentElement.lang || "en";
      const fields = flat(config);
      const known = new Set();
      const rows = [];
      for (const [about, section, names] of parts) {
        const wanted = names.split(" ");
        const found = Object.keys(fields).filter((name) => wanted.includes(leaf(name)));
        found.forEach((name) => known.add(name));
        if (found.length) {
          rows.push([about, section, found.map((n) => `${n} ${shown(fields[n])}`).join(words.comma)]);
        }
      }
      const things = rows.length;
      const rest = Object.keys(fields).filter((name) => !known.has(name));
      const unknown = rest.filter((name) => !new RegExp(outside).test(leaf(name)));
      const texts = sizes.map((count) =>
        this.cacheBytes(fields, unknown, count)?.toLocaleString(language) ?? words.silent);
      texts.forEach((text, i) => rows.push([words.cache[i], "11.3", text]));
      for (const name of unknown) rows.push([words.unknown, "–", `${name} ${shown(fields[name])}`]);
      const others = rest.filter((name) => !unknown.includes(name));
      if (others.length) rows.push([words.outside, "–", others.join(words.comma)]);
      return { rows, things, unknown, size: texts[1] };
    }

    update() {
      const { words } = this;
      try {
        const config = JSON.parse(this.paste.value);
        if (!isObject(config)) throw new SyntaxError(typeof config);
        const { rows, things, unknown, size } = this.read(config);
        this.body.replaceChildren(...rows.map((row) => make("tr",
          { class: row[0] === words.unknown ? "unknown" : "" },
          ...row.map((text) => make("td", {}, text)))));
        this.say(fill(words.said, { rows: things, unknown: unknown.length, size }));
      } catch (error) {
        this.body.replaceChildren();
        this.say(fill(words.broken, { error: error.message }));
      }
    }
  });
})();
