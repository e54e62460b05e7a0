"""Commands of people for a crawl in partitions: each one goes from the inbox of the whole crawl (`commands/` in its
folder, as in any crawl) to the partitions that it concerns, exactly once to each.

    set                       to all. The coordinator divides rates (`budgets.py`); bounds on pages and memory are
                              divided equally
    subscribe, unsubscribe    to all
    publish                   each URL to the partition that owns its host

A command stays in the inbox until every partition has confirmed that it is in its journal, and on its replica. A
partition that dies before that gets it again, and recognises its id. If one partition refuses a command, so does the
crawl.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from centime.cluster import order
from centime.cluster.budgets import BUDGETS, Budgets
from centime.cluster.folder import ClusterFolder, divided
from centime.cluster.opening import totals_in
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.commands.order_log import log_orders
from centime.model.address import host_of, partition_of
from centime.model.errors import BadInput, BadSetting
from centime.settings.crawl import CrawlSettings
from centime.shard.people.command import Command, PublishCommand, SetCommand, column_of, pack_command
from centime.shard.people.commands import changed_live


@dataclass(slots=True)
class _UnderWay:
    """A command that some partitions have not carried out yet."""

    path: Path
    command: Command
    parts: dict[int, Command]
    settings: CrawlSettings | None = None  # of the crawl, once all have it
    totals: dict[str, float | None] = field(default_factory=dict)
    reason: str = ""


class CommandPost:
    """Commands in transit to partitions."""

    def __init__(self, folder: ClusterFolder, settings: CrawlSettings, budgets: Budgets) -> None:
        self._folder = folder
        self._inbox = CommandInbox(folder.path)
        self._settings = settings
        self._budgets = budgets
        self._under_way: dict[str, _UnderWay] = {}

    def take(self, now: float) -> list[tuple[int, order.Command]]:
        """Reads new commands; returns the messages to send, by partition."""
        found = []
        for path, command in self._inbox.take():
            if command.id not in self._under_way:
                one = self._under_way[command.id] = self._divided(path, command)
                found += [(partition, _packed(part)) for partition, part in one.parts.items()]
                self._end(one, now)
        return found

    def waiting_for(self, partition: int) -> list[order.Command]:
        """The commands that a partition has not carried out yet."""
        return [_packed(one.parts[partition]) for one in self._under_way.values() if partition in one.parts]

    def carried(self, partition: int, identity: str, reason: str, now: float) -> None:
        """Notes that a partition has carried out a command, or has refused it."""
        one = self._under_way.get(identity)
        if one is not None and one.parts.pop(partition, None) is not None:
            one.reason = one.reason or reason
            self._end(one, now)

    def _divided(self, path: Path, command: Command) -> _UnderWay:
        partitions = self._folder.about.partitions
        if not isinstance(command, SetCommand):
            return _UnderWay(path, command, parts_of_command(command, partitions))
        try:
            settings = changed_live(self._settings, command)
        except (BadInput, BadSetting) as trouble:
            return _UnderWay(path, command, {}, reason=str(trouble))
        totals = totals_in(settings, command.values)
        return _UnderWay(path, command, parts_of_command(command, partitions, totals), settings, totals)

    def _end(self, one: _UnderWay, now: float) -> None:
        """Applies the settings that all partitions share, and removes a command that all have carried out."""
        if one.parts:
            return
        if one.reason:
            self._inbox.refuse(one.path, one.reason)
        elif one.settings is not None:
            self._settings = one.settings
            self._folder.keep(totals=self._folder.about.totals | one.totals)
            self._budgets.change(one.totals)
        log_orders(self._folder.path, [(one.command, one.reason)], now)
        del self._under_way[one.command.id]
        if not one.reason:
            self._inbox.done([one.path])


def parts_of_command(
    command: Command, partitions: int, totals: Mapping[str, float | None] | None = None
) -> dict[int, Command]:
    """The part of a command that each partition has to carry out; the ids are the same. `totals` are the values of
    divided options.
    """
    if isinstance(command, PublishCommand):
        return _publications(command, partitions)
    if not isinstance(command, SetCommand):
        return dict.fromkeys(range(partitions), command)
    values: dict[str, Any] = {name: value for name, value in command.values.items() if name not in BUDGETS}
    shares = divided(totals or {}, partitions)
    values |= {name: share for name, share in shares.items() if name in values}
    return dict.fromkeys(range(partitions), structs.replace(command, values=values)) if values else {}


def _publications(command: PublishCommand, partitions: int) -> dict[int, Command]:
    """The URLs of each partition. They have one publisher, so that it has one credit everywhere."""
    urls = command.lines()
    owners = np.array([partition_of(url, partitions) for url in urls])
    parts: dict[int, Command] = {}
    for owner in np.unique(owners).tolist():
        mine = np.flatnonzero(owners == owner)
        parts[owner] = structs.replace(
            command,
            urls="\n".join(urls[place] for place in mine.tolist()).encode(),
            publisher=command.publisher or host_of(urls[0]),
            modified=_some(command.modified, mine, len(urls)),
            periods=_some(command.periods, mine, len(urls)),
        )
    return parts


def _some(column: bytes, places: Any, count: int) -> bytes:
    packed: bytes = column_of(column, count)[places].tobytes()
    return packed if column else b""


def _packed(command: Command) -> order.Command:
    return order.Command(command.id, pack_command(command))
