"""The exercises without a notebook: commands, answer files, cards as text."""
