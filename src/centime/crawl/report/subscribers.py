"""The subscriptions of a crawl: those it has, those that wait in its inbox, and the troubles of their deliveries."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from centime.crawl.commands.checking import unpack_command
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.notify.delivery import Trouble, read_troubles
from centime.crawl.report.opening import look_at, moment
from centime.model.errors import BadInput
from centime.shard.people.command import SubscribeCommand, UnsubscribeCommand
from centime.shard.people.subscriptions import condition_facts


def subscription_table(path: Path, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The facts of each subscription of a crawl, as if it had taken all commands of its inbox; `folders` are that of
    the crawl itself, or those of its partitions.
    """
    found: dict[str, dict[str, Any]] = {}
    troubles: dict[str, Trouble] = {}
    for folder in folders:
        opened = look_at(folder)
        for facts in opened.shard.requests.subscriptions.facts():
            found[facts["name"]] = _together(found[facts["name"]], facts) if facts["name"] in found else facts
        opened.close()
        troubles |= read_troubles(folder)
    rows = {name: _row(facts, "active") for name, facts in found.items()}
    for file in CommandInbox(path).waiting():
        try:
            command = unpack_command(file.read_bytes())
        except (BadInput, OSError):  # the crawl will refuse it, or has taken it just now
            continue
        if isinstance(command, UnsubscribeCommand):
            rows.pop(command.name, None)
        elif isinstance(command, SubscribeCommand):
            given = command.subscription
            facts = {
                "name": given.name,
                "pattern": given.pattern,
                **condition_facts(given),
                "every_seconds": given.every,
                "to": given.to,
            }
            before = rows.get(given.name, {"waiting": 0, "delivered": None, "due": None})
            rows[given.name] = _row(before | facts, "requested")
    return [row | _trouble(troubles.get(name)) for name, row in rows.items()]


def _together(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The facts of a subscription in two partitions."""
    due = [facts["due"] for facts in (one, other) if facts["due"] is not None]
    return one | {
        "waiting": one["waiting"] + other["waiting"],
        "delivered": max(one["delivered"] or 0.0, other["delivered"] or 0.0),
        "due": min(due, default=None),
    }


def _trouble(found: Trouble | None) -> dict[str, Any]:
    """The failures in a row of a subscriber, the time of the next attempt, and the reason."""
    if found is None:
        return {"failures": 0, "next_attempt": None, "trouble": None}
    return {"failures": found.failures, "next_attempt": moment(found.next_time), "trouble": found.reason}


def _row(facts: dict[str, Any], state: str) -> dict[str, Any]:
    delivered, due = (
        value if isinstance(value, str) else moment(value or 0.0) for value in (facts["delivered"], facts["due"])
    )
    return facts | {"delivered": delivered, "due": due, "state": state}
