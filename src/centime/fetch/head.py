"""Repairs the head of an answer that llhttp rejects.

Browsers and curl accept answers with defective heads, by these rules:

- A line without a colon, or whose name is not a token (`X-Powered By: x`), is not a header, and neither are the lines
  folded into it.
- Beside `Transfer-Encoding: chunked`, a Content-Length does not count (RFC 9112, 6.3).
- Several equal lengths count as one.
- A version of HTTP that does not exist on this kind of connection (`HTTP/2 200`) is 1.0: the connection is not kept.

Different lengths are not repaired, and are refused: the end of such an answer is ambiguous.
"""

import re

_END = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"\r?\n(?![ \t])")
_STATUS = re.compile(rb"HTTP/(\S+)(?= +[1-9][0-9][0-9](?:[^0-9]|$))")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:(.*)", re.DOTALL)
_KNOWN = (b"1.0", b"1.1")


def may_begin(data: bytes | bytearray) -> bool:
    """Whether an answer may begin with these bytes."""
    data = data.lstrip(b"\r\n")
    return data[:5] == b"HTTP/"[: len(data)]


def ends_behind(data: bytes | bytearray, place: int) -> bool:
    """Whether a head ends in the bytes from `place` on."""
    return _END.search(data, max(0, place - 3)) is not None


def repaired(data: bytes) -> bytes:
    """These bytes with repaired heads, including those of interim answers; empty as long as the last head has no
    end."""
    heads = []
    begin = len(data) - len(data.lstrip(b"\r\n"))
    while end := _END.search(data, begin):
        first, *lines = _LINE.split(data[begin : end.start()])
        status = _STATUS.match(first)
        heads.append(b"\r\n".join([_status_line(first, status), *_headers(lines), b"", b""]))
        begin = end.end()
        if status is None or first[status.end() :].lstrip()[:1] != b"1":
            return b"".join([*heads, data[begin:]])
    return b""


def _status_line(first: bytes, status: "re.Match[bytes] | None") -> bytes:
    if status is None or status[1] in _KNOWN:
        return first
    return b"HTTP/1.0" + first[status.end() :]


def _headers(lines: list[bytes]) -> list[bytes]:
    """The lines that are headers, with only the lengths that count."""
    headers = [(found[1].lower(), found[2].strip(), line) for line in lines if (found := _HEADER.fullmatch(line))]
    coding = b",".join(value for name, value, _ in headers if name == b"transfer-encoding")
    lengths = [value for name, value, _ in headers if name == b"content-length"]
    kept = [line for name, _, line in headers if name != b"content-length"]
    if coding.lower().rpartition(b",")[2].strip() == b"chunked":
        return kept
    said = dict.fromkeys(one.strip() for value in lengths for one in value.split(b","))
    return kept + [b"Content-Length: " + one for one in said]
