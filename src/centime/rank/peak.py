"""The most memory that this process has held so far."""

import resource
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_memory_bytes() -> int:
    """The peak of the resident memory of this process, in bytes."""
    try:
        # Linux also counts what the parent held before `exec` in getrusage; this line does not.
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
