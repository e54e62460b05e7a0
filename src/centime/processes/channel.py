"""Messages between processes: bytes after their length (4 bytes, little-endian)."""

import struct
from collections.abc import Iterator

LENGTH = struct.Struct("<I")
LARGEST = 1 << 30


class MessageBuffer:
    """Splits bytes from a socket into messages."""

    def __init__(self) -> None:
        self._received = bytearray()

    def take(self, received: bytes) -> Iterator[bytes]:
        """Adds received bytes and yields the messages that are now complete."""
        self._received += received
        start = 0
        while len(self._received) - start >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._received, start)
            if length > LARGEST:
                raise ValueError(f"a message of {length} bytes")
            if len(self._received) - start - LENGTH.size < length:
                break
            start += LENGTH.size
            yield bytes(self._received[start : start + length])
            start += length
        del self._received[:start]
