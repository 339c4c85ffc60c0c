"""The grammar of the parallel corpus: words, phrases and sentences in Chinese and English.

`words` holds the word tables and `lexicon` reads them. `noun_phrases` and `clauses` build the parts
of a sentence. `verb_phrases`, `special_verbs` and `copular_clauses` hold the kinds of sentences,
`sentences` draws one of any kind, and `corpus` draws the training and test pairs.
`recognize` runs the same code to decide whether the grammar can produce an English sentence.
"""
