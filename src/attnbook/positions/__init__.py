"""What tells a model where a word is: added, rotated, or a bias on the scores."""
