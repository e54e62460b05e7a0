"""Hands commands to the crawl of a folder, and optionally waits until the crawl has taken them.

A command is a file in the inbox of the folder. A running crawl takes it within a second, otherwise the next run does.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from centime.crawl.commands.checking import check_command
from centime.crawl.commands.inbox import CommandInbox, running
from centime.model.errors import BadInput, CentimeError
from centime.shard.people.command import Command

LOOK_SECONDS = 0.05


def hand_over(folder: Path, commands: Sequence[Command], *, wait: bool = False) -> dict[str, Any]:
    """Puts commands into the inbox of a crawl; returns how many, and which process applies them."""
    for command in commands:
        check_command(command)
    process = running(folder)
    if wait and not process:
        raise BadInput(f"{folder}: no crawl is running here; without --wait the next run applies the command")
    inbox = CommandInbox(folder)
    paths = [inbox.put(command) for command in commands]
    if wait:
        _wait_for(inbox, paths, folder)
    taken_by = f"the running crawl, process {process}" if process else "the next run: no crawl is running here"
    return {"commands": len(paths), "taken": wait, "by": taken_by}


def _wait_for(inbox: CommandInbox, paths: Sequence[Path], folder: Path) -> None:
    left = list(paths)
    while left:
        alive = running(folder)  # checked first: a command that it took just before its end counts
        left = [path for path in left if path.exists()]
        if left and not alive:
            raise CentimeError(f"{folder}: the crawl ended before it applied the command; the next run applies it")
        if left:
            time.sleep(LOOK_SECONDS)
    refusals = [reason for path in paths if (reason := inbox.refusal(path))]
    if refusals:
        raise BadInput(f"{folder}: the crawl refused the command: {refusals[0]}")
