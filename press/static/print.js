// What a printed page needs.
"use strict";

// A page is printed with the fonts of all formulas, also of those that are far from the window and
// so not laid out. Printing does not wait for a font, so all are loaded early, but after what the reader sees.
const FORMULA_FONTS = { // each family: what is set in it
  KaTeX_Main: ".katex", "KaTeX_Main bold": ".mathbf, .textbf", "KaTeX_Main italic": ".mathit, .textit",
  KaTeX_AMS: ".amsrm, .mathbb", "KaTeX_Math italic": ".mathnormal", KaTeX_Caligraphic: ".mathcal",
  KaTeX_Size1: ".small-op, .size1, .delim-size1", KaTeX_Size2: ".large-op, .size2",
  KaTeX_Size3: ".size3", KaTeX_Size4: ".size4, .delim-size4",
};
const whenIdle = globalThis.requestIdleCallback ?? setTimeout;
addEventListener("load", () => whenIdle(() => {
  for (const [font, texts] of Object.entries(FORMULA_FONTS)) {
    const [family, style = ""] = font.split(" ");
    if (one(`.katex-html :is(${texts}), ${texts}`)) document.fonts.load(`${style} 1em ${family}`);
  }
}));

// On paper, colors are light, with all pictures loaded, and with all code and the summary unfolded
let theme;
addEventListener("beforeprint", () => {
  theme = root.dataset.theme;
  root.dataset.theme = "light";
  for (const picture of document.images) picture.loading = "eager";
  for (const fold of document.querySelectorAll("details:is(.code, .card)")) fold.open = true;
});
addEventListener("afterprint", () => (root.dataset.theme = theme));
