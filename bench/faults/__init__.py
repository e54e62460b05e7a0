"""Faults: real crawls of a simulated web, killed and damaged in every way we can think of, and proven to have lost
nothing.

    python -m bench.faults [--kills 200] [--seed S]

A crawl is a forked process with fetchers of its own. It is hurt several times, each time proven whole and gone on with,
and when it has come to its end it must have found what an undisturbed crawl found."""
