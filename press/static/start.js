// index.html: on to the book
"use strict";

location.replace(document.querySelector("a").href);
