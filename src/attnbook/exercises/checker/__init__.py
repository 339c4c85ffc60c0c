"""What tries an answer, finds what is wrong with it, and protects the reader's session."""
