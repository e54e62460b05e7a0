"""A connection to a node until its first message: the proof of the token, then the purpose of the connection.

Nothing is read beyond the first message, because what follows may belong to a process that the node starts. A caller
that takes longer than some seconds is dropped.
"""

import socket
from enum import Enum, auto

from centime.cluster.nodes.token import NONCE_BYTES, PROOF_BYTES, is_proof, new_nonce, proof
from centime.processes.channel import LENGTH

LONGEST_FIRST = 1 << 16
PATIENCE_SECONDS = 5.0


class Stranger(Exception):
    """The caller does not know the token, has hung up, or sends an invalid message."""


class _Stage(Enum):
    PROOF, LENGTH, MESSAGE = auto(), auto(), auto()


class Caller:
    """One connection whose caller identifies itself."""

    def __init__(self, connection: socket.socket, token: bytes, now: float) -> None:
        self.connection = connection
        self.until = now + PATIENCE_SECONDS
        self._token = token
        self._nonce = new_nonce()
        self._stage, self._wanted = _Stage.PROOF, NONCE_BYTES + PROOF_BYTES
        self._data = b""
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.send(self._nonce)  # 32 bytes always fit into a new socket

    def fileno(self) -> int:
        """The socket, for selectors."""
        return self.connection.fileno()

    def receive(self) -> bytes | None:
        """The first message once it is complete, otherwise None; Stranger if it never will be."""
        while True:
            try:
                received = self.connection.recv(self._wanted - len(self._data))
            except BlockingIOError:
                return None
            except OSError as trouble:
                raise Stranger from trouble
            if not received:
                raise Stranger
            self._data += received
            if len(self._data) < self._wanted:
                continue
            data, self._data = self._data, b""
            match self._stage:
                case _Stage.PROOF:
                    self._admit(data)
                case _Stage.LENGTH:
                    (self._wanted,) = LENGTH.unpack(data)
                    self._stage = _Stage.MESSAGE
                    if not 0 < self._wanted <= LONGEST_FIRST:
                        raise Stranger
                case _Stage.MESSAGE:
                    return data

    def _admit(self, data: bytes) -> None:
        of_caller, shown = data[:NONCE_BYTES], data[NONCE_BYTES:]
        if not is_proof(self._token, b"caller", self._nonce, of_caller, shown):
            raise Stranger
        self.connection.send(proof(self._token, b"node", self._nonce, of_caller))
        self._stage, self._wanted = _Stage.LENGTH, LENGTH.size
