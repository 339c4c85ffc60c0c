// What the pages need beyond the theme's scripts. Every line is optional: without it the book reads on.
"use strict";

// The search page shows a line of each page that it found; in a folder it may not read the others.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

document.addEventListener("DOMContentLoaded", () => {
  // A formula or a table that scrolls sideways must also scroll from the keyboard.
  const scrollable = document.querySelectorAll("div.math");
  const mark = () => {
    for (const element of scrollable) {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  };
  mark();
  addEventListener("resize", mark);

  // Paper is white: print in the light theme, then go back.
  const root = document.documentElement;
  let theme = root.dataset.theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => (root.dataset.theme = theme));
});
