// The search page: Sphinx's script finds the pages, and this script shows them with the text around
// the matches. The texts are in searchtexts.js, because a page may not read another page: the
// browser forbids this for pages opened from a folder, and the page's policy forbids it everywhere.
"use strict";

const WIDTH = 240; // characters in an excerpt
const BEFORE = 60; // at most this many before the first match
const stemmer = new Stemmer();

// The positions of the search terms in a text, matched as in the index: words by their stem, or by
// a part of the stem if the index has no such word; Chinese by neighboring characters.
function places(text, terms) {
  const { terms: words, titleterms } = Search._index;
  const whole = (term) => Object.hasOwn(words, term) || Object.hasOwn(titleterms, term);
  const found = [];
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    const lower = piece.toLowerCase();
    for (const term of terms) {
      if (CHINESE.test(piece)) {
        for (let i = piece.indexOf(term); i >= 0; i = piece.indexOf(term, i + 1)) {
          found.push({ term, start: index + i, end: index + i + term.length });
        }
      } else if (lower.includes(term.slice(0, -1))) { // a stem may differ in its last letter
        const stem = stemmer.stemWord(lower);
        if (whole(term) ? stem === term : stem.includes(term)) {
          found.push({ term, start: index, end: index + piece.length });
        }
      }
    }
  }
  return found.sort((one, other) => one.start - other.start);
}

const different = (found) => new Set(found.map(({ term }) => term)).size;

// The positions in the part of the text that contains the largest number of different terms, or in
// the first such part
function nearest(found) {
  let most = [];
  found.forEach(({ start }, i) => {
    const near = found.slice(i).filter(({ end }) => end <= start + WIDTH - BEFORE);
    if (different(near) > different(most)) most = near;
  });
  return most;
}

// The text around the positions, cut between words, as nodes with the positions marked
const CUT = new RegExp(`(?<=\\s)|(?=${CHINESE.source})|$`);

function excerpt(text, found) {
  const first = found[0]?.start ?? 0;
  const before = Math.max(0, first - BEFORE);
  const start = before && before + text.slice(before, first).search(CUT);
  const end = start + WIDTH + Math.min(BEFORE, text.slice(start + WIDTH).search(CUT));
  const nodes = [start ? "… " : ""];
  let at = start;
  for (const place of found) {
    if (place.start > at || at === start) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(place.start, place.end);
      nodes.push(text.slice(at, place.start), mark);
    } else { // a pair of Chinese characters that overlaps or follows the last pair
      nodes.at(-1).textContent += text.slice(at, place.end);
    }
    at = Math.max(at, place.end);
  }
  return [...nodes, text.slice(at, end), end < text.length ? "…" : ""];
}

// The section of a page that a result refers to: the one it names, or else the one that
// contains the most different terms; ties go to the one with the most of them close together, then
// to the one with the most in its heading
function section(page, anchor, terms) {
  const sections = Search.texts[page];
  const named = sections.filter(([id]) => `#${id}` === anchor);
  let most = { fits: -1 };
  for (const [id, heading, text] of named.length ? named : sections) {
    const above = places(heading, terms);
    const inside = places(text, terms);
    const found = nearest(inside);
    const counts = [[...above, ...inside], found, above].map(different);
    const fits = counts.reduce((sum, count) => 100 * sum + count);
    if (fits > most.fits) most = { fits, id, heading, text, found };
  }
  return most;
}

// Show the results. If the query is a word in the glossary, the section that introduces it comes
// first.
Search.query = (query) => {
  const [typed, terms, ...others] = Search._parseQuery(query);
  const seen = new Set();
  const results = Search._performSearch(typed, terms, ...others).reverse();
  const word = query.trim().toLowerCase();
  const [taught, place] = Object.hasOwn(Search.words, word) ? Search.words[word] : [];
  if (taught) results.unshift([taught, "", `#${place}`]);
  for (const [page, , anchor] of results) {
    const { id, heading, text, found } = section(page, anchor, terms);
    const [[top, title]] = Search.texts[page];
    const address = page + DOCUMENTATION_OPTIONS.LINK_SUFFIX + (id === top ? "" : `#${id}`);
    if (seen.has(address)) continue;
    seen.add(address);
    const link = document.createElement("a");
    link.href = address;
    link.textContent = id === top ? title : `${title} › ${heading}`;
    const context = document.createElement("p");
    context.className = "context";
    context.append(...excerpt(text, found));
    const item = document.createElement("li");
    item.append(link, context);
    Search.output.append(item);
  }
  _finishSearch(seen.size);
};

const box = document.querySelector("main form.bd-search input");
box.focus();
box.select();
