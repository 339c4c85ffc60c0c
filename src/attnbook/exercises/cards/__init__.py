"""What a reader is told: a card as data, and the same card as text and as HTML."""
