// A button beside each block of code, which copies it. Nobody needs a copy of what a cell printed.
"use strict";

for (const code of document.querySelectorAll(
  "div.highlight pre:not(.cell_output :is(.text_plain, .stream) pre)")) {
  const button = Object.assign(document.createElement("button"), { className: "copybtn" });
  const name = (text) => {
    button.dataset.tooltip = text;
    button.ariaLabel = text;
  };
  name(_("Copy"));
  // a text field, because browsers offer the clipboard itself only to pages from a secure server
  button.addEventListener("click", () => {
    const field = document.createElement("textarea");
    field.value = code.textContent.replace(/\n$/, "");
    button.after(field);
    field.select();
    name(document.execCommand("copy") ? _("Copied!") : _("Failed to copy"));
    field.remove();
    button.focus({ preventScroll: true });
    setTimeout(() => name(_("Copy")), 2000);
  });
  code.after(button);
}
