"""Faults: crawls that are killed and damaged in every way we can think of, and proven to have lost nothing.

    python -m bench.faults --worlds 100000    disks of a recorded crawl, each with a simulated fault
    python -m bench.faults --real 1000        kills of real crawls of a simulated web

Both are done by several processes, and go on where they were interrupted."""
