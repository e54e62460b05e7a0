"""The secret that the nodes of a cluster share, and the protocol by which both ends of a connection prove that they
know it.

    node -> caller      its nonce, 32 bytes
    caller -> node      its own nonce, and HMAC-SHA256(token, "caller" + both nonces)
    node -> caller      HMAC-SHA256(token, "node" + both nonces)

The token itself is never sent. Nothing else is read from a caller before its proof, so a stranger can send at most 64
bytes that are read. What follows is neither encrypted nor signed: the network between the nodes must be closed to
others.
"""

import hmac
import os
import secrets
import socket
from pathlib import Path
from time import monotonic

from centime.files.disk import PRIVATE_FILE, read_file
from centime.model.errors import BadInput, CentimeError

NONCE_BYTES = PROOF_BYTES = 32
LEAST_TOKEN_BYTES = 16
USUAL_TOKEN = Path("~/.config/centime/cluster-token")


class NotAdmitted(CentimeError):
    """The other end of a connection does not know the token, or is not a node."""


def read_token(path: Path | None) -> bytes:
    """The token in a file, which only its owner may read."""
    file = (path or USUAL_TOKEN).expanduser()
    try:
        token = read_file(file).strip()
    except FileNotFoundError as missing:
        raise BadInput(
            f"{file}: there is no token; centime cluster start --head makes one, and every machine needs a copy"
        ) from missing
    if len(token) < LEAST_TOKEN_BYTES:
        raise BadInput(f"{file}: a token has at least {LEAST_TOKEN_BYTES} bytes, this one has {len(token)}")
    if file.stat().st_mode & 0o077:
        raise BadInput(f"{file}: other users can read the token; run chmod 600 {file}")
    return token


def make_token(path: Path | None) -> Path | None:
    """Writes a new token unless the file is there; returns the file if it was written."""
    file = (path or USUAL_TOKEN).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    except FileExistsError:
        return None
    with os.fdopen(handle, "wb") as opened:
        opened.write(f"{secrets.token_hex(32)}\n".encode())
    return file


def new_nonce() -> bytes:
    """A nonce for one connection."""
    return secrets.token_bytes(NONCE_BYTES)


def proof(token: bytes, who: bytes, of_node: bytes, of_caller: bytes) -> bytes:
    """The proof that `who` ("caller" or "node") sends to the other end."""
    return hmac.digest(token, who + of_node + of_caller, "sha256")


def is_proof(token: bytes, who: bytes, of_node: bytes, of_caller: bytes, shown: bytes) -> bool:
    """Whether the other end knows the token."""
    return hmac.compare_digest(proof(token, who, of_node, of_caller), shown)


def call(address: str, token: bytes, seconds: float) -> socket.socket:
    """A connection to the node at an address, both ends proven; OSError or NotAdmitted if there is none within
    `seconds`.
    """
    host, port = split_address(address)
    until = monotonic() + seconds
    connection = socket.create_connection((host, port), timeout=seconds)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        of_node, of_caller = _exactly(connection, NONCE_BYTES, address, until), new_nonce()
        connection.sendall(of_caller + proof(token, b"caller", of_node, of_caller))
        if not is_proof(token, b"node", of_node, of_caller, _exactly(connection, PROOF_BYTES, address, until)):
            raise NotAdmitted(f"{address}: the process there does not have the token of this cluster")
    except BaseException:
        connection.close()
        raise
    return connection


def split_address(address: str) -> tuple[str, int]:
    """The host and the port of an address; BadInput if it has none."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise BadInput(f"{address!r} is not the address of a node: give ADDRESS:PORT, such as 10.0.0.1:7400")
    return host, int(port)


def _exactly(connection: socket.socket, size: int, address: str, until: float) -> bytes:
    data = b""
    while len(data) < size:
        connection.settimeout(max(1e-3, until - monotonic()))
        received = connection.recv(size - len(data))
        if not received:
            raise NotAdmitted(f"{address}: the node closed the connection; is the token the same on both machines?")
        data += received
    return data
