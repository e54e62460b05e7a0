"""How a command ends: 0 done, 1 problem found, 2 wrong usage, 130 stopped by Ctrl-C, 141 its output is not read.

An error is one sentence on standard error, `centime: ...`; with `--debug` it is a traceback instead. A program that
reads the output may close the pipe early, as `head` does: then the command ends at once without a message. A standard
stream that is closed from the beginning (`>&-`) is as good as /dev/null.
"""

import logging
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import typer

from centime.cli.rank.source import as_given
from centime.cli.visible import say
from centime.model.errors import BadInput, CentimeError, DamagedCrawl

DONE = 0
PROBLEM = 1
WRONG_USAGE = 2
STOPPED = 130
UNREAD = 141  # 128 + SIGPIPE, as in a shell
EXTRAS = {"apprise": "notify", "matplotlib": "plots", "pyarrow": "arrow"}  # packages that only some commands need


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Runs the program once, reports an error on standard error, and returns the exit code."""
    debug = "--debug" in arguments
    _announce_compiling()
    logging.getLogger("centime.damage").addHandler(_SAID)
    try:
        code = _command(app)(args=list(arguments), prog_name="centime", standalone_mode=False)
        sys.stdout.flush()  # what cannot be written is an error of this command
    except BrokenPipeError:
        return UNREAD
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # how rich and typer end at a closed pipe
            return UNREAD
        raise
    except typer.TyperException as wrong:
        context = getattr(wrong, "ctx", None)
        command = context.command_path if context else "centime"
        return _say(f"{wrong.format_message().rstrip('.')}; see {command} --help", WRONG_USAGE)
    except Exception as problem:
        if debug:
            raise
        return _say(*_sentence(problem))
    if code == STOPPED:
        return _say("stopped", STOPPED)
    return code if isinstance(code, int) else DONE


@cache
def _command(app: typer.Typer) -> Callable[..., object]:
    """The program with all its options; building it takes longer than many commands."""
    return typer.main.get_command(app)


def open_streams() -> None:
    """Opens the standard streams that were closed when the program started."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 (open until the program ends)


def drop_unwritten() -> None:
    """Drops output that cannot be written: otherwise Python tries again at exit, and prints an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _announce_compiling() -> None:
    """Explains once at a terminal why the program is busy at its start."""
    if sys.stderr.isatty():
        log = logging.getLogger("centime.compiling")
        log.addHandler(_Announcement())
        log.setLevel(logging.INFO)


class _Announcement(logging.Handler):
    said = False

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one line for the first kernel."""
        if not self.said:
            self.said = True
            say("centime: compiling what this command needs, once; later runs start at once")


class _Said(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Writes a line for each warning."""
        say(f"centime: {record.getMessage()}")


_SAID = _Said()


def _sentence(problem: Exception) -> tuple[str, int]:
    match problem:
        case BadInput():
            return str(problem), WRONG_USAGE
        case DamagedCrawl(folder=folder):
            hint = f"centime repair {shlex.quote(str(folder))} restores what can be proven"
            return f"{problem}; {hint}", PROBLEM
        case CentimeError():
            return str(problem), PROBLEM
        case ModuleNotFoundError(name=str(name)) if name.partition(".")[0] in EXTRAS:
            package = name.partition(".")[0]
            return f"this needs {package}, which is not installed: pip install 'centime[{EXTRAS[package]}]'", PROBLEM
        case OSError(filename=str(path), strerror=str(reason)):
            return f"{path}: {reason}", PROBLEM
        case OSError():
            return problem.strerror or str(problem), PROBLEM
        case _:
            return (
                f"internal error: {type(problem).__name__}: {problem} (centime --debug ... shows the traceback)",
                PROBLEM,
            )


def _say(sentence: str, code: int) -> int:
    with suppress(BrokenPipeError):
        say(f"centime: {as_given(sentence)}")
    return code
