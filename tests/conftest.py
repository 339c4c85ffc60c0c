"""Settings of all tests: drawn examples are the same in every run, and never fail by the clock."""

from hypothesis import settings

settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
