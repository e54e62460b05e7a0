"""The subscriptions of a crawl: those it has, and those that were ordered and wait to be taken; and which are in
trouble.
"""

from pathlib import Path
from typing import Any

from centime.crawl.commands.checking import unpack_command
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.notify.delivery import Trouble, read_troubles
from centime.crawl.report.opening import look_at, moment
from centime.model.errors import BadInput
from centime.shard.command import SubscribeCommand, UnsubscribeCommand


def subscription_table(path: Path) -> list[dict[str, Any]]:
    """What is known of each subscription, as the crawl will have it when all commands are taken."""
    opened = look_at(path)
    rows = {row["name"]: _row(row, "serving") for row in opened.shard.requests.subscriptions.facts()}
    opened.close()
    for file in CommandInbox(path).waiting():
        try:
            command = unpack_command(file.read_bytes())
        except (BadInput, OSError):  # the crawl will refuse it, or has taken it just now
            continue
        if isinstance(command, UnsubscribeCommand):
            rows.pop(command.name, None)
        elif isinstance(command, SubscribeCommand):
            told = command.subscription
            facts = {
                "name": told.name,
                "pattern": told.pattern,
                "xpath": told.xpath or None,
                "every_seconds": told.every,
                "to": told.to,
            }
            rows[told.name] = _row(
                rows.get(told.name, {"waiting": 0, "delivered": None, "due": None}) | facts, "ordered"
            )
    troubles = read_troubles(path)
    return [row | _trouble(troubles.get(name)) for name, row in rows.items()]


def _trouble(found: Trouble | None) -> dict[str, Any]:
    """Why a subscriber did not get its batch, so many times in a row, and when it is tried again; nothing of it if
    all is well.
    """
    if found is None:
        return {"failures": 0, "tried_again": None, "trouble": None}
    return {"failures": found.failures, "tried_again": moment(found.next_time), "trouble": found.reason}


def _row(facts: dict[str, Any], state: str) -> dict[str, Any]:
    delivered, due = (
        value if isinstance(value, str) else moment(value or 0.0) for value in (facts["delivered"], facts["due"])
    )
    return facts | {"delivered": delivered, "due": due, "state": state}
