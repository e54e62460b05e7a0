"""Tests draw the same examples in every run; `make fuzz` draws new ones, many more."""

from hypothesis import HealthCheck, settings

from tests.stale_kernels import forget_stale_kernels

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile("fuzz", max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("ci")


forget_stale_kernels()
