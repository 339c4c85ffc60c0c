"""Wrong versions of the three lines of attention, which the exercises and `examine` recognize."""
