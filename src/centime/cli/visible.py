"""What the program writes: whatever a server, a file or a name contains, it cannot control the terminal.

All that the program writes for people goes through here (`model/visible.py` says what is escaped); in JSON the same
characters are written as `\\u001b`, which any reader of JSON turns back into the character.
"""

import sys
from types import TracebackType

from centime.model.visible import UNSAFE, visible

__all__ = ["say", "say_traceback", "tell", "tell_bytes", "visible", "visible_json", "visible_lines"]


def visible_lines(text: str) -> str:
    """The same for a text of several lines, keeping line feeds and tabs."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def visible_json(text: str) -> str:
    """The same for JSON in one line: another way to write the same values."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
