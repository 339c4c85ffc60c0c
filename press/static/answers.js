// The answers to predictions, and the hints of exercises.
"use strict";

// The answer to a prediction is hidden until the reader asks for it, or until the browser's own
// search finds it. A choice shows only its own text, which often asks to think again; which one was
// right is marked when the answer is shown. (The page's first script hides it before anything is
// drawn.)
const answers = new Map(); // each button, and what it shows
const rights = new Map(); // each button, and the right choice
for (const question of document.querySelectorAll("p.predict")) {
  const parts = [];
  const choices = [];
  for (let next = question; (next = next.nextElementSibling) && !next.matches(".predict, section");) {
    if (next.matches("details.choice")) choices.push(next);
    if (next.matches(".cell.tag_answer")) parts.push(next.querySelector(".cell_output"));
    if (next.matches("div.answer, .cell.tag_after-answer")) parts.push(next);
  }
  if (!parts.length) continue;
  const button = Object.assign(document.createElement("button"), {
    className: "guess",
    textContent: choices.length ? _("I have chosen: show") : _("I have a guess: show"),
  });
  parts[0].before(button);
  answers.set(button, parts);
  rights.set(button, choices.find((choice) => choice.matches(".right")));
  const show = () => reveal(button, true);
  button.addEventListener("click", () => {
    show();
    Object.assign(parts[0], { tabIndex: -1 }).focus();
  });
  for (const part of parts) part.addEventListener("beforematch", show);
}

function reveal(button, shown) {
  button.hidden = shown;
  rights.get(button)?.classList.toggle("known", shown);
  for (const part of answers.get(button)) {
    if (shown) part.removeAttribute("hidden");
    else part.setAttribute("hidden", "until-found");
  }
}

// The switch for all predictions; its setting is stored
const all = one("button.guess.all");
if (all && answers.size) {
  const set = (shown) => {
    all.textContent = shown ? _("Hide the answers to predictions")
      : _("Show the answers to all predictions");
    root.dataset.answers = shown ? "shown" : "";
    for (const button of answers.keys()) reveal(button, shown);
  };
  set(root.dataset.answers === "shown");
  all.addEventListener("click", () => {
    set(root.dataset.answers !== "shown");
    keep(() => localStorage.setItem(STORED.answers, root.dataset.answers));
  });
}

// Each hint is offered once the one before it has been opened
for (const row of document.querySelectorAll(".hints")) {
  [...row.querySelectorAll(":scope > details")].forEach((hint, i, hints) => {
    hint.hidden = i > 0;
    hint.addEventListener("toggle", () => hints[i + 1]?.removeAttribute("hidden"), { once: true });
  });
}
