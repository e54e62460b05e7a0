"""Tests draw the same examples in every run; `pytest --hypothesis-profile=default` draws new ones."""

from hypothesis import settings

from tests.stale_kernels import forget_stale_kernels

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.load_profile("ci")


forget_stale_kernels()
