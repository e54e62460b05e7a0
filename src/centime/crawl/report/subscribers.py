"""The subscriptions of a crawl: those it has, those that wait in its inbox, and the troubles of their deliveries."""

from pathlib import Path
from typing import Any

from centime.crawl.commands.checking import unpack_command
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.notify.delivery import Trouble, read_troubles
from centime.crawl.report.opening import look_at, moment
from centime.model.errors import BadInput
from centime.shard.people.command import SubscribeCommand, UnsubscribeCommand
from centime.shard.people.subscriptions import condition_facts


def subscription_table(path: Path) -> list[dict[str, Any]]:
    """The facts of each subscription, as if the crawl had taken all commands of its inbox."""
    opened = look_at(path)
    rows = {row["name"]: _row(row, "active") for row in opened.shard.requests.subscriptions.facts()}
    opened.close()
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
    troubles = read_troubles(path)
    return [row | _trouble(troubles.get(name)) for name, row in rows.items()]


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
