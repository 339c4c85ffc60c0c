"""Right answers for each chapter, written differently from the reference solutions."""
