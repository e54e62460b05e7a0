"""The options of long-running commands: --log, --log-level, --log-format; and the events that they log.

While a command logs, SIGHUP reopens the file, as tools that rotate logs expect. At a terminal the signal keeps its
meaning: the terminal is gone.
"""

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from centime.cli.visible import say
from centime.model.errors import BadSetting, CentimeError
from centime.processes.log import FORMATS, LEVELS, LogSettings, logging_to

Log = Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Append a line for each event to this file.")]
LogLevel = Annotated[
    str | None, typer.Option("--log-level", metavar="LEVEL", help=f"With --log: {', '.join(LEVELS)}. Default: info.")
]
LogFormat = Annotated[
    str | None,
    typer.Option("--log-format", metavar="FORMAT", help=f"With --log: {' or '.join(FORMATS)}. Default: text."),
]

_log = logging.getLogger("centime.command")


def log_settings(path: str | Path | None, level: str | None, form: str | None) -> LogSettings | None:
    """The log settings of the options; None for no log."""
    if path is None:
        if level is not None or form is not None:
            raise BadSetting("--log-level and --log-format are about a log: give --log FILE too")
        return None
    return LogSettings(path=str(Path(path).absolute()), level=level or "info", form=form or "text")


@contextmanager
def logged(settings: LogSettings | None) -> Iterator[None]:
    """Logs while the block runs, and logs the error with which it ended."""
    with logging_to(settings) as handler:
        if handler is None:
            yield
            return
        before = None if sys.stderr.isatty() else signal.signal(signal.SIGHUP, lambda *_: handler.reopen())
        try:
            yield
        except Exception as problem:
            known = isinstance(problem, CentimeError | OSError)
            facts = {"error": str(problem) or type(problem).__name__}
            _log.error("the command failed", extra={"facts": facts}, exc_info=None if known else problem)
            raise
        finally:
            if before is not None:
                signal.signal(signal.SIGHUP, before)
            if handler.dropped:
                say(f"{settings and settings.path}: {handler.dropped} lines of the log could not be written")


def note(sentence: str) -> None:
    """Writes a sentence to standard error, and logs it."""
    say(sentence)
    if _log.isEnabledFor(logging.INFO):
        _log.info("note", extra={"facts": {"about": sentence}})


def is_shown(settings: LogSettings | None) -> bool:
    """Whether progress goes to standard error: not if a log has the same figures and there is no terminal."""
    return settings is None or sys.stderr.isatty()
