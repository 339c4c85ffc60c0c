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

  // The words of a text; of a name in code, such as attn_mask, the whole and its parts
  function split(text) {
    return (text.match(PIECES) ?? []).flatMap((piece) => {
      if (piece.length > 1 && CHINESE.test(piece)) {
        return [...piece.slice(1)].map((character, i) => piece[i] + character);
      }
      const parts = piece.split("_").filter(Boolean);
      return parts.length > 1 ? [piece, ...parts] : [piece];
    });
  }

  const number = (character) => character.codePointAt(0).toString(16);

  function stem(word) {
    if (!stems.has(word)) {
      const lower = word.toLowerCase();
      if (CHINESE.test(word)) stems.set(word, `~${[...word].map(number).join("")}`);
      else stems.set(word, LEFT_OUT.has(lower) ? null : stemmer.stemWord(lower));
    }
    return stems.get(word);
  }

  const index = new MiniSearch({
    fields: ["heading", "called", "text", "chapter"],
    tokenize: split,
    processTerm: stem,
  });
  const entries = [
    ...sections.map((section) => ({ ...section, section })),
    // an entry for each question leads to the section that answers it
    ...questions.map(({ question, answer, at }) => ({
      heading: question, text: answer, weight: 1.5, section: sections[at], question, answer,
    })),
  ];
  index.addAll(entries.map((entry, id) => ({ called: "", chapter: "", ...entry, id })));

  const READ = 0.3; // how much a word counts that was read instead of the one typed
  const OPTIONS = {
    boost: { heading: 4, called: 4, text: 1, chapter: 0.3 },
    prefix: (term) => (term[0] === "~" ? term.length === 5 : term.length > 3), // or one character
    weights: { prefix: 0.3, fuzzy: 0 },
    boostDocument: (id) => entries[id].weight,
  };

  // All words of the book, in which the right spelling of a word is looked for
  const words = [...new Set([...stems.keys()].map((word) => word.toLowerCase()))];
  let lexicon;
  function spelling(word) {
    if (!lexicon) {
      lexicon = new MiniSearch({ fields: ["id"] });
      lexicon.addAll(words.map((id) => ({ id })));
    }
    return lexicon.search(word, { fuzzy: 0.25 })[0]?.id;
  }

  // What the words of a query were read as, where that differs from what was typed: an abbreviation
  // or another name of a term in the glossary, or a word of the book instead of a misspelled one
  function readings(query) {
    const typed = query.trim().toLowerCase();
    const found = [];
    for (const name of new Set([typed, ...split(typed)])) {
      const term = Object.hasOwn(names, name) ? names[name].term : name;
      if (!term.toLowerCase().includes(name)) found.push({ typed: name, read: term });
    }
    for (const word of split(typed)) {
      if (word.length < 4 || CHINESE.test(word) || !stem(word)) continue;
      if (index.search(word, { prefix: true }).length) continue;
      const read = spelling(word);
      if (read) found.push({ typed: word, read });
    }
    return found;
  }

  // Returns: the sections, best first, each with the stems that it contains and the question that it
  // answers, if one was found; and how the query was read
  function find(query) {
    const read = readings(query);
    const asked = [query, ...read.map((reading) => reading.read)].join(" ");
    const typed = split(query).map(stem).filter(Boolean);
    const terms = new Set(typed);
    const boostTerm = (_term, i) => (i < typed.length ? 1 : READ);
    const best = new Map();
    for (const { id, score, queryTerms, terms: stemsFound } of index.search(asked, { ...OPTIONS, boostTerm })) {
      const { section, question, answer } = entries[id];
      const matched = queryTerms.filter((term) => terms.has(term)).length || 1;
      const result = best.get(section) ?? { section, score: 0, stems: new Set() };
      const points = score * Math.min(1, matched / terms.size);
      if (question && points > result.score) Object.assign(result, { question, answer });
      result.score = Math.max(result.score, points);
      for (const found of stemsFound) result.stems.add(found);
      best.set(section, result);
    }
    const name = query.trim().toLowerCase();
    const taught = Object.hasOwn(names, name) && best.get(sections[names[name].at]);
    if (taught) taught.score = Infinity;
    const results = [...best.values()].sort((one, other) => other.score - one.score);
    return { results, readings: read };
  }

  return { CHINESE, PIECES, find, questions, sections, split, stem };
})();
