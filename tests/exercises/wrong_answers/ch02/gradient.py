"""Wrong answers to 02.gradient, each with words of what the reader is told."""

from attnbook.exercises.chapters.ch02.gradient import my_gradient

WRONG = {
    lambda question: 40 if question == "c" else my_gradient(question): "40 percent is 0.4.",
}
