"""Text as it may be shown: whatever a server, a file or a name contains, it cannot control the terminal.

Control characters (C0, DEL, C1), marks that reorder text (bidi), separators of lines and lone surrogates are escaped as
in Python: `\\x1b`, `\\u202e`. Every other character stays. All that the program writes for people goes through here; in
JSON the same characters are written as `\\u001b`, which any reader of JSON turns back into the character.
"""

import re
import sys
from types import TracebackType

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text in one line, with everything escaped that a terminal could obey."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def visible_lines(text: str) -> str:
    """The same for a text of several lines, whose line feeds and tabs stay."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def visible_json(text: str) -> str:
    """The same for JSON in one line: another way to write the same values."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(sentence: str) -> None:
    """Writes one line to standard error."""
    sys.stderr.write(f"{visible(sentence)}\n")


def tell(text: str) -> None:
    """Writes lines to standard output."""
    sys.stdout.write(f"{visible_lines(text)}\n")


def tell_bytes(data: bytes) -> None:
    """Writes bytes to standard output: as they are into a file or a pipe, as visible text on a terminal."""
    if sys.stdout.isatty():
        tell(data.decode(errors="replace"))
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def say_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Writes a traceback to standard error; for `sys.excepthook`."""
    import traceback

    sys.stderr.write(visible_lines("".join(traceback.format_exception(kind, error, trace))))
