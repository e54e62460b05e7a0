"""A limit on the memory that a process may take from now on."""

import resource
from contextlib import suppress
from pathlib import Path


def limit_memory(most: int) -> None:
    """Limits this process to `most` bytes more than it has; further allocations raise `MemoryError`."""
    has = 0
    with suppress(OSError):  # without /proc, the memory in use counts too
        has = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (has + most, has + most))
