"""Memory given back: what a shard's growing arrays leave behind goes to the system at once.

Every column of a shard grows by being copied to a larger one. The C library keeps freed blocks of up to 32 MiB for
itself, because each such block teaches it to (its "dynamic threshold"), and that cost 15 to 20 bytes a page of memory
that nobody used. A fixed threshold ends that: blocks above it are mapped and unmapped one by one.
"""

import ctypes

LARGE_BLOCK = 1 << 20  # bytes
_MMAP_THRESHOLD = -3  # of mallopt(3)


def give_back_large_blocks() -> None:
    """Lets the C library return every large block when it is freed; another C library than GNU's is left alone."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, LARGE_BLOCK)
