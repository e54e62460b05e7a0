"""The log file of a process: one line for each event, as text or as JSON, even if the file is moved or deleted.

    2026-01-31T12:00:00.000Z info crawl: figures visits=1200 pages_per_second=20.1
    {"time": "2026-01-31T12:00:00.000Z", "level": "info", "from": "crawl", "event": "figures", "visits": 1200, ...}

The facts of an event are `extra={"facts": {...}}` of the logging call; both forms have all of them. Nothing that a
server sent can begin a line of its own or control a terminal.

A file that was moved or deleted is created again before the next line, so any tool may rotate it; several processes may
write the same file, because each line is one write at its end. A line that cannot be written, on a full disk for
instance, is dropped; how many were is the first line that can be written again. The program never fails because of its
log.
"""

import json
import logging
import os
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from centime.model.errors import BadSetting
from centime.model.visible import UNSAFE

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
FORMATS = ("text", "json")
LOGGERS = ("centime", "uvicorn")  # of which all events are written
STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}  # by number: some cannot be opened by name, as the socket of a service
LONGEST = 8_000  # characters of a value
# Not blocking, or a pipe without a reader would block the program.
FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Where and what to log."""

    path: str
    level: str = "info"
    form: str = "text"

    def check(self) -> None:
        """Raises BadSetting if a level or a format is not known."""
        if self.level not in LEVELS:
            raise BadSetting(f"the level of the log is {', '.join(LEVELS)}, not {self.level!r}")
        if self.form not in FORMATS:
            raise BadSetting(f"the format of the log is {' or '.join(FORMATS)}, not {self.form!r}")


class LogFile(logging.Handler):
    """Writes events to a file."""

    def __init__(self, settings: LogSettings) -> None:
        super().__init__(LEVELS[settings.level])
        self._path = Path(settings.path).absolute()
        self._is_json = settings.form == "json"
        self._stream = STREAMS.get(settings.path)
        self._file = -1
        self._is_torn = False  # the last line is not whole
        self.dropped = 0
        self._open()

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one event; counts it if it cannot be written."""
        try:
            if self.dropped:
                self._write(_facts_of_drop(record, self.dropped))
                self.dropped = 0
            self._write(_facts(record))
        except Exception:  # any error: the program must not fail because of its log
            self.dropped += 1

    def reopen(self) -> None:
        """Reopens the file before the next event."""
        if self._file >= 0:
            with suppress(OSError):
                os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """Closes the file."""
        self.reopen()
        super().close()

    def _open(self) -> None:
        if self._stream is not None:
            self._file = os.dup(self._stream)
        else:
            self._file = os.open(self._path, FLAGS, 0o640)

    def _write(self, facts: Mapping[str, object]) -> None:
        if self._stream is None and self._file >= 0 and not self._is_there():
            self.reopen()
        if self._file < 0:
            self._open()
            self._is_torn = False
        line = (_as_json(facts) if self._is_json else _as_text(facts)).encode(errors="replace") + b"\n"
        data = b"\n" + line if self._is_torn else line
        written = os.write(self._file, data)
        self._is_torn = written < len(data)
        if self._is_torn:
            raise OSError("no room for the whole line")

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file))
        except FileNotFoundError:
            return False


def _facts(record: logging.LogRecord) -> dict[str, object]:
    facts = _head(record, record.levelname.lower(), record.getMessage()) | getattr(record, "facts", {})
    if record.exc_info:
        facts["traceback"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
    return facts


def _facts_of_drop(record: logging.LogRecord, dropped: int) -> dict[str, object]:
    return _head(record, "warning", "events that could not be written were dropped") | {"count": dropped}


def _head(record: logging.LogRecord, level: str, event: str) -> dict[str, object]:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    written_at = f"{stamp}.{record.msecs:03.0f}Z"[:24] if record.msecs < 999.5 else f"{stamp}.999Z"
    return {"time": written_at, "level": level, "from": record.name.removeprefix("centime."), "event": event}


def _as_json(facts: Mapping[str, object]) -> str:
    text = json.dumps({name: _short(value) for name, value in facts.items()}, ensure_ascii=False, default=str)
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _as_text(facts: Mapping[str, object]) -> str:
    head, rest = list(facts.items())[:4], list(facts.items())[4:]
    at, level, where, event = (_short(value) for _, value in head)
    named = "".join(f" {name}={_value(value)}" for name, value in rest)
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", f"{at} {level} {where}: {event}{named}")


def _value(value: object) -> str:
    """A value in a line of text: in quotation marks if its end would be unclear."""
    text = f"{value:.6g}" if isinstance(value, float) else str(_short(value))
    return text if text and not set(text) & set(' "=\n') else json.dumps(text, ensure_ascii=False)


def _short(value: object) -> object:
    return f"{value[:LONGEST]}..." if isinstance(value, str) and len(value) > LONGEST else value


@contextmanager
def logging_to(settings: LogSettings | None) -> Iterator[LogFile | None]:
    """Logs the events of this process to a file while the block runs; BadSetting if it cannot be written at all."""
    if settings is None:
        yield None
        return
    settings.check()
    try:
        handler = LogFile(settings)
    except OSError as trouble:
        raise BadSetting(f"{settings.path}: the log cannot be written: {trouble.strerror}") from trouble
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(handler.level)
    try:
        yield handler
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
        handler.close()
