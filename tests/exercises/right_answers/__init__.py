"""Right answers that look different from the references, chapter by chapter."""
