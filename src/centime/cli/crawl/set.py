"""`centime set`: changes settings of a crawl, also while it runs."""

import time
from typing import Annotated

import typer

from centime.cli.fresh.commanding import Wait
from centime.cli.look.folder import Folder
from centime.cli.output import Json, show


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("set")(_set)


def _set(
    folder: Folder,
    words: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="Setting and its new value.")],
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Changes settings of a crawl, also while it runs.

    A running crawl applies them within a second; otherwise the next run applies them.

    Names: rate, bandwidth, fill-rate, most-pages, most-memory, delay, alpha, beta, discovery, discovery-weight,
    least-interval, greatest-interval, shares, policy, ban, want, focus.

    Examples:

    \b
      centime set museum rate=20/s bandwidth=none
      centime set museum alpha=0.2 beta=1 discovery=30%
      centime set museum ban+=spam.example focus=/politics/=4 want=/reports/
      centime set museum least-interval=1h least-interval=/news/=5m --wait
    """
    from centime.cluster.opening import settings_of
    from centime.crawl.commands.ordering import hand_over
    from centime.settings.live import read_values
    from centime.shard.people.command import SetCommand, new_id
    from centime.shard.people.commands import changed_live

    command = SetCommand(id=new_id(), time=time.time(), values=read_values(words))
    changed_live(settings_of(folder), command)
    report = hand_over(folder, [command], wait=wait)
    show({"settings": command.values, **report}, as_json=as_json)
