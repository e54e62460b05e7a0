"""Tests draw the same examples in every run; `pytest --hypothesis-profile=default` draws new ones."""

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.load_profile("ci")
