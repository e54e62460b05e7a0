"""Orders handed to the crawl of a folder, for all commands that give some: written down, and if wanted waited for."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.model.errors import BadInput, CentimeError

if TYPE_CHECKING:
    from centime.shard.command import Command

LOOK_SECONDS = 0.05

Wait = Annotated[bool, typer.Option("--wait", help="Wait until the running crawl has taken the command.")]


def hand_over(folder: Path, commands: Sequence["Command"], *, wait: bool) -> dict[str, Any]:
    """Writes commands down for the crawl of a folder; how many, and who takes them."""
    from centime.crawl.commands.inbox import CommandInbox, running

    process = running(folder)
    if wait and not process:
        raise BadInput(
            f"{folder}: no crawl is running that could be waited for; without --wait the next run takes the command"
        )
    inbox = CommandInbox(folder)
    paths = [inbox.put(command) for command in commands]
    if wait:
        _wait_for(inbox, paths, folder)
    taken_by = f"process {process}, which crawls here" if process else "the next run: no crawl is running here"
    return {"commands": len(paths), "taken": wait, "by": taken_by}


def _wait_for(inbox: Any, paths: Sequence[Path], folder: Path) -> None:
    from centime.crawl.commands.inbox import running

    left = list(paths)
    while left:
        alive = running(folder)  # asked first: what it took in its last moment counts
        left = [path for path in left if path.exists()]
        if left and not alive:
            raise CentimeError(f"{folder}: the crawl ended before it took the command; the next run takes it")
        if left:
            time.sleep(LOOK_SECONDS)
    refusals = [reason for path in paths if (reason := inbox.refusal(path))]
    if refusals:
        raise BadInput(f"{folder}: the crawl refused the command: {refusals[0]}")
