"""Print the whole book to _build/attention-book.pdf: `make pdf`, after `make book`.

pages         joins the built pages, in the order of _toc.yml, inside book.html
answers       moves what is folded on a screen to the end of the book
contents      the table of contents, and each chapter's sections at its start
page_numbers  prints twice: the first print shows which page everything is on
outline       the outline and the title of the finished PDF
tags          small functions on the tags of the joined pages
make          all of this, in order

Chromium prints the joined pages with the site's own styles and, on top of them, those in css/.
"""
