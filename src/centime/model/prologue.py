"""The parts before the root element of an XML document: white space, comments, instructions, a document type.

All of it is found in linear time, by hand rather than by possessive groups as `(?:...)*+`: before Python 3.11.5 these
match too much if their body fails behind its first character (CPython issues 100061 and 106052).
"""

import re

_SPACE = re.compile(rb"\s*+")
_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*+(?:\[.*?\]\s*+)?>", re.DOTALL | re.IGNORECASE)
_PLAIN = re.compile(rb"[^\]\"'<]*+")
_CLOSED = re.compile(rb"\]\s*+>")
_PAIRS = ((b"<!--", b"-->"), (b"<?", b"?>"))  # of comments and of instructions


def behind_misc(text: bytes, at: int = 0) -> int:
    """The place behind white space, comments and instructions; unclosed ones stay."""
    while True:
        at = _end(_SPACE, text, at)
        end = _behind_pair(text, at)
        if end <= at:
            return at
        at = end


def behind_prologue(text: bytes, at: int = 0) -> int:
    """The place of the root element."""
    while True:
        at = behind_misc(text, at)
        found = _DOCTYPE.match(text, at)
        if found is None:
            return at
        at = found.end()


def behind_subset(text: bytes, at: int) -> int:
    """The place behind the internal subset `[...]>` of a document type that begins here; -1 if there is none.

    Brackets in literals, comments and instructions do not count. A comment or an instruction that is not closed ends
    with the text.
    """
    if not text.startswith(b"[", at):
        return -1
    at += 1
    while True:
        at = _end(_PLAIN, text, at)
        if text.startswith(b"]", at):
            closed = _CLOSED.match(text, at)
            return closed.end() if closed else -1
        if text.startswith((b'"', b"'"), at):
            at = text.find(text[at : at + 1], at + 1) + 1
            if at == 0:
                return -1
        elif at < len(text):
            end = _behind_pair(text, at)
            at = at + 1 if end == 0 else end if end > 0 else len(text)
        else:
            return -1


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """The end of a pattern that matches everywhere."""
    found = pattern.match(text, at)
    assert found is not None
    return found.end()


def _behind_pair(text: bytes, at: int) -> int:
    """The place behind the comment or the instruction that begins here; 0 if none begins, -1 if it is not closed."""
    for begin, end in _PAIRS:
        if text.startswith(begin, at):
            found = text.find(end, at + len(begin))
            return found + len(end) if found >= 0 else -1
    return 0
