"""The grammar behind the parallel corpus: words, phrases and sentences in Chinese and English."""
