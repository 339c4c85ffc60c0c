// The search page: the results of search.js, each with its first sentence, and with the text around
// the words that were found.
"use strict";

{ // so that its names are not those of book.js
  const WIDTH = 240; // characters in an excerpt
  const BEFORE = 60; // at most this many before the first word that was found
  const AT_ONCE = 20; // results that are shown before the reader asks for all

  const form = document.querySelector("main form.bd-search");
  const box = form.querySelector("input");
  const said = document.querySelector("#search-status");
  const grouped = document.querySelector("#search-grouped");
  const output = document.querySelector("#search-results");

  function element(name, text, className = "") {
    return Object.assign(document.createElement(name), { textContent: text, className });
  }

  // Where the words with one of the stems are in a text. Neighboring pairs of Chinese characters
  // are one place.
  function places(text, stems) {
    const found = [];
    for (const { 0: piece, index } of text.matchAll(BookSearch.PIECES)) {
      if (BookSearch.CHINESE.test(piece)) {
        BookSearch.split(piece).forEach((pair, i) => {
          if (!stems.has(BookSearch.stem(pair))) return;
          const [start, end, last] = [index + i, index + i + pair.length, found.at(-1)];
          if (last && last.end >= start) last.end = end;
          else found.push({ stem: pair, start, end });
        });
      } else if (BookSearch.split(piece).some((word) => stems.has(BookSearch.stem(word)))) {
        found.push({ stem: BookSearch.stem(piece), start: index, end: index + piece.length });
      }
    }
    return found;
  }

  // The places in the part of a text that has the largest number of different words, or in the
  // first such part
  function nearest(found) {
    const different = (near) => new Set(near.map(({ stem }) => stem)).size;
    let most = [];
    found.forEach(({ start }, i) => {
      const near = found.slice(i).filter(({ end }) => end <= start + WIDTH - BEFORE);
      if (different(near) > different(most)) most = near;
    });
    return most;
  }

  // A part of a text, as nodes in which the places are marked
  function marked(text, start, end, found) {
    const nodes = [];
    let at = start;
    for (const place of found.filter((one) => one.start >= start && one.end <= end)) {
      nodes.push(text.slice(at, place.start), element("mark", text.slice(place.start, place.end)));
      at = place.end;
    }
    return [...nodes, text.slice(at, end)];
  }

  // The first sentence of a text, shortened
  function firstSentence(text) {
    const end = text.search(/[.!?](?=\s+\p{Lu})|[。！？]/u) + 1 || text.length;
    return end <= WIDTH ? end : text.lastIndexOf(" ", WIDTH) + 1 || WIDTH;
  }

  // The first sentence of a section, and the text around the words that were found in the rest
  function context(text, stems) {
    const found = places(text, stems);
    const first = firstSentence(text);
    const rest = nearest(found.filter(({ start }) => start >= first));
    const nodes = marked(text, 0, first, found);
    if (!rest.length) return first < text.length ? [...nodes, "…"] : nodes;
    const between = new RegExp(`(?<=\\s)|(?=${BookSearch.CHINESE.source})|$`); // two words
    const cut = (from) => from + Math.min(BEFORE, text.slice(from).search(between));
    const start = rest[0].start > first + BEFORE ? cut(rest[0].start - BEFORE) : first;
    const end = cut(Math.min(text.length, start + WIDTH));
    if (start > first) nodes.push(" … ");
    return [...nodes, ...marked(text, start, end, found), end < text.length ? "…" : ""];
  }

  // A link to a section. A click tells Sphinx's script on that page which words to highlight.
  function linkTo(section, text, words) {
    const link = element("a", text);
    link.href = `${section.page}.html${section.id ? `#${section.id}` : ""}`;
    link.addEventListener("click", () => {
      try {
        localStorage.setItem("sphinx_highlight_terms", words.join(" "));
      } catch { /* a browser may store nothing */ }
    });
    return link;
  }

  function item({ section, stems, question, answer }) {
    const words = [...new Set(places(section.text, stems)
      .map(({ start, end }) => section.text.slice(start, end).toLowerCase()))];
    const result = element("li", "");
    result.append(linkTo(section, section.heading, words));
    if (section.id && !grouped.checked) result.append(element("small", section.chapter));
    if (question) result.append(element("p", question, "question"));
    const text = element("p", "", "context");
    text.append(...(question
      ? marked(answer, 0, answer.length, places(answer, stems)) : context(section.text, stems)));
    result.append(text);
    return result;
  }

  // How the query was read (gqa → grouped-query attention), and which of its words nothing has
  function howRead(readings, missing) {
    const read = readings.map((one) => `${one.typed} → ${one.read}`).join(_(", "));
    const lacks = missing.map(({ word, name }) => (
      name ? _("{word} (only in names such as {name})").replace("{word}", word).replace("{name}", name) : word));
    const as = _("Read as: {words}.").replace("{words}", read);
    const not = _("Not in the book: {words}.").replace("{words}", lacks.join(_(", ")));
    return [readings.length ? as : "", missing.length ? not : ""].filter(Boolean);
  }

  function list(results) {
    const items = element("ul", "", "search");
    items.append(...results.map(item));
    return items;
  }

  function byChapter(results) {
    const chapters = Map.groupBy(results, ({ section }) => section.chapter);
    return [...chapters].flatMap(([chapter, found]) => [element("h2", chapter), list(found)]);
  }

  // Questions that share the most letters with the query, in groups of three
  function nearestQuestions(query) {
    const threes = (text) => new Set(
      Array.from({ length: Math.max(1, text.length - 2) }, (_nothing, i) => text.slice(i, i + 3)));
    const typed = threes(query.toLowerCase().replace(/\s+/g, " "));
    const shared = ({ question }) =>
      [...threes(question.toLowerCase())].filter((three) => typed.has(three)).length;
    return BookSearch.questions.filter(shared)
      .toSorted((one, other) => shared(other) - shared(one)).slice(0, 5)
      .map(({ question, answer, at }) => (
        { section: BookSearch.sections[at], stems: new Set(), question, answer }));
  }

  let all = false; // whether the reader has asked for all results

  function show() {
    const query = box.value;
    output.replaceChildren();
    said.textContent = "";
    if (!query.trim()) return;
    const { results, readings, missing } = BookSearch.find(query);
    const shown = all ? results : results.slice(0, AT_ONCE);
    const found = results.length ? shown : nearestQuestions(query);
    const nothing = found.length
      ? _("Nothing was found. Perhaps you mean one of these questions:") : _("Nothing was found.");
    const count = results.length
      ? _("Sections found: {n}").replace("{n}", results.length) : nothing;
    said.textContent = [...howRead(readings, results.length ? missing : []), count].join(" ");
    output.append(...(grouped.checked ? byChapter(found) : [list(found)]));
    if (results.length > shown.length) {
      const label = _("Show all {n} sections").replace("{n}", results.length);
      const more = Object.assign(element("button", label, "more"), { type: "button" });
      more.addEventListener("click", () => {
        all = true;
        show();
        output.querySelectorAll("li > a")[AT_ONCE].focus();
      });
      output.append(more);
    }
  }

  box.value = new URL(location.href).searchParams.get("q") ?? "";
  box.addEventListener("input", () => {
    all = false;
    show();
  });
  grouped.addEventListener("change", show);
  show();
  box.focus();
  box.select();
}
