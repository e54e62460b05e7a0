"""Benchmarks: what the documentation claims, measured on this machine in one run. `make bench`, or `python -m bench
NAME ...`."""
