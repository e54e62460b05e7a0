"""Messages between processes: bytes framed by their length (4 bytes, little-endian)."""

import socket
import struct
from collections.abc import Iterator

LENGTH = struct.Struct("<I")
LARGEST = 1 << 30


def send(connection: socket.socket, message: bytes) -> None:
    """Sends one message; waits until it is out."""
    connection.sendall(LENGTH.pack(len(message)) + message)


class MessageBuffer:
    """Bytes from a socket, cut into messages."""

    def __init__(self) -> None:
        self._received = bytearray()

    def take(self, received: bytes) -> Iterator[bytes]:
        """The messages that are whole now."""
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
