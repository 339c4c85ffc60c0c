// The search: MiniSearch (in minisearch/) ranks the sections of the book and the questions of
// book/questions.md. The box on every page (book.js) and search.html (searchpage.js) show what
// `BookSearch.find` returns. Nothing of this is loaded before the search is used.
//
// Words are compared by their stem. Chinese has no spaces, so neighboring characters are the words:
// 注意力 is 注意 and 意力. The index is a tree of letters, in which a search for a word goes through all
// letters at a place. There are thousands of Chinese characters, so they are written by their number.
"use strict";

globalThis.BookSearch = (() => {
  const { sections, questions, names, common } = BOOK_TEXTS;
  const CHINESE = new RegExp(`[${BOOK_TEXTS.chinese}]`);
  const NOT_CHINESE = `(?:(?![${BOOK_TEXTS.chinese}])[\\p{Letter}\\p{Number}_])`;
  const PIECES = new RegExp(`[${BOOK_TEXTS.chinese}]+|\\d+(?:\\.\\d+)+|${NOT_CHINESE}+`, "gu");
  const LEFT_OUT = new Set(common);
  const stemmer = new Stemmer();
  const stems = new Map(); // word, as written → its stem, or null for a word like "the"

  // The words of a text; of a name in code, such as attn_mask or LayerNorm, the whole and its parts
  const PARTS = /_|(?<=\p{Ll}{2})(?=\p{Lu}\p{Ll}{2})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/u;
  const compounds = new Set();
  function split(text) {
    return (text.match(PIECES) ?? []).flatMap((piece) => {
      if (piece.length > 1 && CHINESE.test(piece)) {
        return [...piece.slice(1)].map((character, i) => piece[i] + character);
      }
      const parts = piece.split(PARTS).filter(Boolean);
      if (parts.length < 2) return [piece];
      compounds.add(piece.toLowerCase());
      return [piece, ...parts];
    });
  }

  // In lower case, and with the k of √dₖ on the line, as one types it
  const plain = (word) => word.normalize("NFKC").toLowerCase();

  const number = (character) => character.codePointAt(0).toString(16);

  function stem(word) {
    if (!stems.has(word)) {
      const lower = plain(word);
      if (LEFT_OUT.has(lower)) stems.set(word, null);
      else if (CHINESE.test(word)) stems.set(word, `~${[...word].map(number).join("")}`);
      else stems.set(word, stemmer.stemWord(lower));
    }
    return stems.get(word);
  }

  const times = new Map(); // each word of the book, in lower case → how often it occurs
  const roots = new Set(); // the stems of these words
  function count(word) {
    const lower = plain(word);
    times.set(lower, (times.get(lower) ?? 0) + 1);
    roots.add(stem(word));
    return stem(word);
  }

  const alone = new Set(); // the words of the book that aren't part of a name in code, and their stems
  const within = new Map(); // a part of a name in code → the first such name
  function collect(text) {
    for (const piece of text.match(PIECES) ?? []) {
      const parts = plain(piece).split("_");
      for (const word of parts.length > 1 ? [piece] : [piece, ...piece.split(PARTS)]) {
        alone.add(plain(word)).add(stem(word));
      }
      for (const part of parts) if (!within.has(part)) within.set(part, piece);
    }
    return split(text);
  }

  const index = new MiniSearch({
    fields: ["heading", "called", "text", "chapter"],
    tokenize: collect,
    processTerm: count,
  });
  const entries = [
    ...sections.map((section) => ({ ...section, section })),
    // an entry for each question leads to the section that answers it
    ...questions.map(({ question, answer, at }) => ({
      heading: question, text: answer, weight: 1.5, section: sections[at], question, answer,
    })),
  ];
  index.addAll(entries.map((entry, id) => ({ called: "", chapter: "", ...entry, id })));

  const READ = 0.3; // how much a term counts that stands in the glossary for the one typed
  const PHRASE = 2; // how much more a section counts that has the query, word for word
  const NUMBER = 0.2; // how much a bare number counts beside words, as in a copied error message
  const OPTIONS = {
    tokenize: split,
    processTerm: stem,
    boost: { heading: 4, called: 4, text: 1, chapter: 0.3 },
    prefix: (term) => (term[0] === "~" ? term.length === 5 : term.length > 3), // or one character
    weights: { prefix: 0.3, fuzzy: 0 },
    boostDocument: (id) => entries[id].weight,
  };

  // doesnt is doesn't, which is not, which is left out; a Chinese particle may follow any word
  const CONTRACTION = /\b(?:are|ca|could|did|do|does|had|has|have|is|should|was|were|wo|would)n['’]?t\b/gi;
  const PARTICLES = /[的了吗呢都是在有我你它和与就也还不但]/;
  const stemsOf = (text) => split(text).map(stem).filter(Boolean);
  const named = Object.entries(names)
    .map(([name, { term, at }]) => ({ name, term, at, key: stemsOf(name).join(" ") }))
    .filter(({ key }) => key);
  // A word of the book, another form of one, or the beginning of one that is still being typed
  const known = (word) => times.has(word) || roots.has(stem(word))
    || [...times.keys()].some((whole) => whole.startsWith(word));

  // How many letters have to be added, left out, replaced or exchanged with the next one
  function edits(one, other) {
    const rows = [Array.from({ length: other.length + 1 }, (_nothing, j) => j)];
    for (let i = 1; i <= one.length; i++) {
      rows.push([i]);
      for (let j = 1; j <= other.length; j++) {
        const different = Number(one[i - 1] !== other[j - 1]);
        const ways = [rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + different];
        const exchanged = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
        if (exchanged && j > 1) ways.push(rows[i - 2][j - 2] + 0.9); // the likeliest slip
        rows[i].push(Math.min(...ways));
      }
    }
    return rows.at(-1).at(-1);
  }

  // What a word was meant to be that the book doesn't have: a word with one edit; two words of the
  // book (warmup is warm up); or one with two edits. Of several, the one that occurs most often
  function meant(word) {
    if (word.length < 4 || /[\d_]/.test(word) || CHINESE.test(word) || known(word)) return word;
    let [nearest, distance] = [word, word.length < 8 ? 1 : 2];
    for (const [other, occurs] of times) {
      if (Math.abs(other.length - word.length) > distance || /[\d_]/.test(other)) continue;
      const apart = edits(word, other);
      if (apart < distance || (apart === distance && occurs > (times.get(nearest) ?? 0))) {
        [nearest, distance] = [other, apart];
      }
    }
    if (nearest !== word && distance <= 1) return nearest;
    const often = (part) => (part.length > 1 && stem(part) && times.get(part)) || 0;
    const halves = Array.from(word, (_letter, i) => [word.slice(0, i), word.slice(i)]);
    const least = ([one, other]) => Math.min(often(one), often(other));
    const best = halves.reduce((one, other) => (least(other) > least(one) ? other : one));
    return least(best) > 1 ? best.join(" ") : nearest;
  }

  // How a query is read: with the right spelling, as one word where the book has one (soft max), and
  // beside an abbreviation or another name, the term of the glossary
  function understand(query) {
    const readings = [];
    const note = (typed, read) => {
      if (read !== typed) readings.push({ typed, read });
      return read;
    };
    const pieces = (query.match(PIECES) ?? []).map((piece) => piece.toLowerCase());
    const joined = pieces.slice(1).flatMap((piece, i) => {
      const both = pieces[i] + piece;
      const one = pieces[i].length > 2 && piece.length > 2 && times.get(both) > 1 && !compounds.has(both);
      return one && stem(pieces[i]) && stem(piece) ? [note(`${pieces[i]} ${piece}`, both)] : [];
    });
    const spelled = query.replace(PIECES, (piece) => {
      const parts = piece.split(PARTS).filter(Boolean);
      const read = known(piece.toLowerCase()) ? [] : parts.map((part) => [part, meant(part.toLowerCase())]);
      if (read.every(([part, word]) => part.toLowerCase() === word)) return piece;
      return read.map(([part, word]) => note(part.toLowerCase(), word)).join(" ");
    });
    const typed = stemsOf(spelled);
    const inOrder = ` ${typed.join(" ")} `;
    const inQuery = named.filter(({ key }) => inOrder.includes(` ${key} `));
    const terms = inQuery.filter(({ name, term, key }) => !term.toLowerCase().includes(name)
      && !inQuery.some((other) => other.key !== key && ` ${other.key} `.includes(` ${key} `)));
    for (const { name, term } of terms) note(name, term);
    const also = [...joined, ...terms.map(({ term }) => term)];
    const taught = named.find(({ key }) => inOrder === ` ${key} `);
    const corrected = new Set(readings.map((reading) => reading.typed));
    const missing = lacking(query).filter(({ word }) => !corrected.has(word.toLowerCase()));
    return { typed, asked: [spelled, ...also].join(" "), readings, taught, missing };
  }

  // The words of a query that the book doesn't have, or only inside a name: lora is in kv_lora_rank.
  // The last word may be unfinished
  function lacking(query) {
    const found = [];
    const pieces = (query.match(PIECES) ?? []).map((piece) => piece.toLowerCase());
    for (const { 0: piece, index: start } of query.matchAll(PIECES)) {
      const typing = start + piece.length === query.length;
      const has = (word) => alone.has(word) || alone.has(stem(word))
        || (typing && [...alone].some((other) => other?.startsWith(word)));
      if (CHINESE.test(piece)) found.push(...gaps(piece).map((word) => ({ word })));
      else if (!/\p{Number}/u.test(piece) && !has(piece.toLowerCase())) {
        for (const word of piece.includes("_") ? [piece] : piece.split(PARTS)) {
          const name = within.get(word.toLowerCase());
          const together = name?.toLowerCase().split("_").some((part) => part !== word.toLowerCase()
            && pieces.includes(part)); // seq len is seq_len
          if (!together && !has(word.toLowerCase())) found.push({ word, name });
        }
      }
    }
    return found;
  }

  // The part of a Chinese query that no pair of the book's characters covers; all of a short one. The
  // last character may be a word by itself.
  function gaps(text) {
    const has = split(text).map((pair) => roots.has(stem(pair)));
    if (text.length === 1 || has.every(Boolean)) return [];
    const at = has.findIndex((covered, i) => !covered && !has[i - 1] && !PARTICLES.test(text[i]));
    if (at < 0) return [];
    return [text.length < 7 ? text : text.slice(Math.max(0, at - 1), at + 2)];
  }

  // Returns: the sections, best first, each with the stems that it contains and the question that it
  // answers, if one was found; and how the query was read
  function find(query) {
    const { typed, asked, readings, taught, missing } = understand(query.replace(CONTRACTION, "not"));
    const terms = new Set(typed);
    const words = typed.some((term) => !/^\d+$/.test(term));
    const weight = (term) => (words && /^\d+$/.test(term) ? NUMBER : 1);
    const sum = (some) => some.reduce((total, term) => total + weight(term), 0);
    const boostTerm = (term, i) => (i < typed.length ? weight(term) : READ);
    const codes = query.toLowerCase().match(PIECES)?.filter((piece) => piece.includes("_")) ?? [];
    const best = new Map();
    for (const { id, score, queryTerms, terms: stemsFound } of index.search(asked, { ...OPTIONS, boostTerm })) {
      const { section, question, answer } = entries[id];
      const matched = sum(queryTerms.filter((term) => terms.has(term))) || 1;
      const result = best.get(section) ?? { section, score: 0, stems: new Set() };
      const asks = codes.filter((code) => `${question} ${answer}`.toLowerCase().includes(code)).length;
      const points = score * Math.min(1, matched / sum([...terms])) * (1 + asks / 2);
      if (question && points > result.score) Object.assign(result, { question, answer });
      result.score = Math.max(result.score, points);
      for (const found of stemsFound) result.stems.add(found);
      best.set(section, result);
    }
    const phrase = query.trim().toLowerCase();
    if (split(phrase).length > 2) {
      for (const result of best.values()) {
        if (result.section.text.toLowerCase().includes(phrase)) result.score *= PHRASE;
      }
    }
    const exercise = query.toLowerCase().match(/\b\d\d\.[a-z]\w*/)?.[0]; // an id, such as 06.weights
    const chapter = `book/${exercise?.slice(0, 2)}_`;
    const told = sections.findLast(({ page, text }) => page.startsWith(chapter) && text.includes(exercise))
      ?? sections[taught?.at];
    const first = best.get(told);
    if (first) first.score = Infinity;
    if (first && exercise) first.section = { ...told, id: `exercise-${exercise.replace(/[._]/g, "-")}` };
    const results = [...best.values()].sort((one, other) => other.score - one.score);
    return { results, readings, missing };
  }

  return { CHINESE, PIECES, find, questions, sections, split, stem };
})();
