"""The manual page, `man centime`, made of the help texts: `python -m centime.cli.man > docs/centime.1`."""

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from centime.cli.main import COMMANDS, HEADINGS, app
from centime.cli.visible import tell

_EXAMPLES = "Examples:"


def manual() -> str:
    """The page in the language of troff."""
    program: Any = typer.main.get_command(app)
    return "\n".join(_lines(program)) + "\n"


def _lines(program: Any) -> Iterator[str]:
    summary, rest, examples = _parts(program.help)
    yield '.TH CENTIME 1 "" "Centime" "User Commands"'
    yield from (".SH NAME", f"centime \\- {_quoted(summary[0].lower() + summary[1:].rstrip('.'))}")
    yield from (".SH SYNOPSIS", ".B centime", ".I COMMAND", "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...")
    yield from (".SH DESCRIPTION", *_paragraphs(rest))
    yield from (".SH OPTIONS", *_options(program))
    for folder, names in COMMANDS.items():
        yield f".SH {_quoted(HEADINGS[folder].upper())}"
        for name in names:
            yield from _command(program.commands[name])
    yield from (".SH EXAMPLES", *_shown(examples))
    yield ".SH EXIT STATUS"
    yield "0: success; 1: a problem was found; 2: wrong usage; 130: stopped by Ctrl-C; 141: the output was not read."


def _command(command: Any) -> Iterator[str]:
    summary, rest, examples = _parts(command.help)
    context = command.make_context(command.name, [], resilient_parsing=True)
    usage = re.sub(r"[{}]", "", " ".join(command.collect_usage_pieces(context)))
    yield from (f'.SS "centime {_quoted(command.name)} {_quoted(usage)}"', _quoted(summary), *_paragraphs(rest))
    yield from _options(command)
    yield from (".PP", _EXAMPLES, *_shown(examples))


def _options(command: Any) -> Iterator[str]:
    context = command.context_class(command)
    for parameter in command.params:
        record = parameter.get_help_record(context) if parameter.param_type_name == "option" else None
        if record is not None:
            yield from (".TP", f"\\fB{_quoted(record[0])}\\fR", _quoted(_line(record[1])))


def _parts(text: str) -> tuple[str, str, str]:
    """The first sentence of a help text, the others, and the examples."""
    said, _, examples = text.partition(_EXAMPLES)
    summary, _, rest = said.strip().partition("\n\n")
    return _line(summary), rest, examples


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in filter(None, map(_line, text.split("\n\n"))):
        yield from (".PP", _quoted(paragraph))


def _shown(examples: str) -> Iterator[str]:
    yield from (".nf", ".RS 2")
    yield from (_quoted(line.strip()) for line in examples.replace("\b", "").splitlines() if line.strip())
    yield from (".RE", ".fi")


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\b", "")).strip()


def _quoted(text: str) -> str:
    """One line of text that troff shows as it is."""
    quoted = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{quoted}" if quoted.startswith((".", "'")) else quoted


if __name__ == "__main__":
    tell(manual().rstrip())
