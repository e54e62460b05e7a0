"""Where an answer ends: no byte behind the body that Content-Length announces reaches the parser.

Some servers send more than they announce. The parser takes the rest for the head of another answer, and if both came in
one segment, its complaint takes the right answer with it: what came of the request would depend on how the network cut
the bytes. Here they are counted first.

Guarantee: an answer with one sound Content-Length and without Transfer-Encoding is as long as that says, however its
bytes are cut; whoever sends more has its connection closed. Everything else is left to the parser as it comes: chunks,
nonsense, an answer that lasts until the end. Trap: bytes that come so late that the next request is under way are taken
for its answer; `exchange` then asks over another connection.
"""

import re
from typing import Any

from aiohttp.client_proto import ResponseHandler

_MOST_HEAD = 1 << 18  # bytes; of a longer head, which the parser refuses anyway, no more is kept here
_END = re.compile(rb"\r?\n\r?\n")
_INTERIM = re.compile(rb"HTTP/\d\.\d 1(?!01)")
_STATUS = re.compile(rb"HTTP/\d\.\d (\d\d\d)")
_LENGTH = re.compile(rb"\ncontent-length[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
_CODED = re.compile(rb"\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_NUMBER = re.compile(rb"\d{1,18}[ \t]*")


class Framed(ResponseHandler):
    """A connection on which an answer ends where its length says."""

    _head: bytearray | None = None  # what has come of the head that is being received
    _left: int | None = None  # bytes of the body still to come, where that is known

    def set_response_params(self, **given: Any) -> None:
        """Expects another answer."""
        self._head, self._left = bytearray(), None
        super().set_response_params(**given)

    def data_received(self, data: bytes) -> None:
        """Hands on what belongs to the answer."""
        surplus = False
        if self._head is not None:
            self._look(self._head, data)
            if self._left is not None and self._left < 0:
                data, self._left, surplus = data[: self._left], 0, True
        elif self._left is not None:
            surplus = len(data) > self._left
            data = data[: self._left]
            self._left -= len(data)
        if data or not surplus:
            super().data_received(data)
        if surplus:
            self.force_close()
            if self.transport is not None:
                self.transport.close()

    def _look(self, head: bytearray, data: bytes) -> None:
        """Finds the end of the head; then `_left` is what is to come of the body, below 0 if too much has come."""
        begin = max(0, len(head) - 3)  # what came before has been looked through, but for the first half of an end
        head += data
        while found := _END.search(head, begin):
            if not _INTERIM.match(head):
                self._head = None
                length = body_length(head[: found.end()])
                self._left = None if length is None else length - (len(head) - found.end())
                return
            del head[: found.end()]  # another head follows
            begin = 0
        if len(head) > _MOST_HEAD:
            self._head = None


def body_length(head: bytes | bytearray) -> int | None:
    """How many bytes of body a head announces; None where only the parser, or the end of the connection, can tell."""
    status = _STATUS.match(head)
    if status is None or status[1] == b"101" or _CODED.search(head):
        return None
    if status[1] in (b"204", b"304"):
        return 0
    lengths = _LENGTH.findall(head)
    if len(lengths) != 1 or not _NUMBER.fullmatch(lengths[0]):
        return None
    return int(lengths[0])
