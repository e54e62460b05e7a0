"""The peak memory of this process."""

import resource
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_memory_bytes() -> int:
    """The peak resident memory of this process so far, in bytes."""
    try:
        # On Linux, getrusage includes the memory of the parent before `exec`; this line does not.
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
