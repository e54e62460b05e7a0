"""Messages between processes: bytes after their length (4 bytes, little-endian)."""

import contextlib
import select
import socket
import struct
from collections.abc import Iterator

LENGTH = struct.Struct("<I")
LARGEST = 1 << 30
READ_BYTES = 1 << 20
BUFFER_BYTES = 1 << 20


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


class MessageSocket:
    """One end of a socket for messages. It never blocks: messages that the socket does not take wait in memory. If the
    other end is closed, `receive` and `flush` raise `EOFError` or `OSError`.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._received = MessageBuffer()
        self._unsent = bytearray()
        for side in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, side, BUFFER_BYTES)
        connection.setblocking(False)
        self.connection = connection

    @property
    def unsent(self) -> int:
        """Bytes that wait for room in the socket."""
        return len(self._unsent)

    def fileno(self) -> int:
        """The socket, for selectors."""
        return self.connection.fileno()

    def say(self, message: bytes) -> None:
        """Queues a message."""
        self._unsent += LENGTH.pack(len(message)) + message

    def flush(self) -> None:
        """Sends as much of the queue as the socket takes now."""
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                del self._unsent[: self.connection.send(self._unsent)]

    def receive(self) -> list[bytes]:
        """The messages that have arrived; EOFError if the other end is closed."""
        messages: list[bytes] = []
        with contextlib.suppress(BlockingIOError):
            received = self.connection.recv(READ_BYTES)
            if not received:
                raise EOFError
            messages.extend(self._received.take(received))
        return messages

    def first(self) -> bytes:
        """The first message, however long it takes; nothing behind it is received yet."""
        head = self._exactly(LENGTH.size)
        return self._exactly(LENGTH.unpack(head)[0])

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self.wait(60.0)
            with contextlib.suppress(BlockingIOError):
                received = self.connection.recv(size - len(data))
                if not received:
                    raise EOFError
                data += received
        return bytes(data)

    def wait(self, timeout: float) -> None:
        """Returns after `timeout` seconds, or as soon as something has arrived or can be sent."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        poll.poll(timeout * 1000)

    def exchange(self, timeout: float) -> list[bytes]:
        """Sends and receives what it can, waiting up to `timeout` seconds for a message."""
        self.flush()
        if timeout > 0:
            self.wait(timeout)
        return self.receive()

    def hang_up(self) -> None:
        """Closes the socket."""
        self.connection.close()
