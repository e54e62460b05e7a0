"""Returns the memory of freed arrays to the system at once.

Every column of a shard grows by being copied to a larger one. By default, GNU's C library keeps freed blocks of up to
32 MiB for later use: with every such block it raises its "dynamic threshold". That cost 15 to 20 bytes of unused memory
per page. With a fixed threshold, blocks above it are mapped and unmapped one by one.
"""

import ctypes

LARGE_BLOCK = 1 << 20  # bytes
_MMAP_THRESHOLD = -3  # of mallopt(3)


def give_back_large_blocks() -> None:
    """Makes GNU's C library return every large block when it is freed; does nothing with another C library."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, LARGE_BLOCK)
