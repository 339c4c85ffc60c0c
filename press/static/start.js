// index.html redirects to the book.
"use strict";

location.replace(document.querySelector("a").href);
