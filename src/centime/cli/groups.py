"""The list of commands in `centime --help`: one line for each command, under the heading of its group.

Typer would list all commands in one block and cut long lines with "...". Here the line of a command is the first
paragraph of its help, never cut; the tests check that it fits into 80 columns. Shell completion shows the same line.
"""

from itertools import groupby
from typing import Any

from typer.core import TyperGroup
from typer.models import CommandInfo


class CommandGroups(TyperGroup):
    """The program and its commands, which help shows by group."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands group by group, in the order of their registration."""
        width = max(map(len, self.commands))  # the lines of all groups start in one column
        for heading, commands in groupby(self.commands.values(), _heading):
            with formatter.section(heading):
                formatter.write_dl([(f"{command.name:{width}}", command.short_help) for command in commands])


def _heading(command: Any) -> str:
    return str(command.rich_help_panel)


def put_in_group(command: CommandInfo, heading: str) -> None:
    """Gives a registered command its heading and its line in the list of commands."""
    text = command.help or (command.callback and command.callback.__doc__) or ""
    first_paragraph = text.strip().partition("\n\n")[0]
    command.short_help = " ".join(first_paragraph.split()).removesuffix(".")
    command.rich_help_panel = heading
