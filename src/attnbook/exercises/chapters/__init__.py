"""The exercises, a chapter's in one folder."""
