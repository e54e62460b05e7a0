"""Orders of visitors: the same commands, checked by the same functions, through the same inbox as the command line.

Subscribers that are a file or a program of this machine are left to the command line: a visitor of the window is not
the user whose files and programs they are.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from centime.cluster.opening import folders_of, settings_of
from centime.crawl.commands.checking import unpack_command
from centime.crawl.commands.inbox import REASON, REFUSED, CommandInbox
from centime.crawl.commands.order_log import order_facts, read_orders
from centime.crawl.commands.ordering import hand_over
from centime.crawl.commands.publication import read_publication
from centime.crawl.commands.subscribing import subscription_to
from centime.crawl.report.opening import moment
from centime.crawl.report.subscribers import subscription_table
from centime.model.errors import BadInput, BadSetting
from centime.settings.live import read_values
from centime.shard.people.command import Command, SetCommand, SubscribeCommand, UnsubscribeCommand, new_id
from centime.shard.people.commands import changed_live
from centime.shard.people.notices import Condition

MOST_LISTED = 200
MOST_WORDS = 10_000  # URLs in one order
COLUMNS = ("id", "time", "applied", "command", "detail", "by", "state", "trouble")
KINDS = ("set", "ban", "boost", "publish", "subscribe", "unsubscribe")


def give_order(folder: Path, form: Mapping[str, str], by: str) -> dict[str, Any]:
    """Passes the order of a form to the crawl; BadInput says what is wrong with it."""
    commands = _commands(folder, form, by)
    return hand_over(folder, commands)


def _commands(folder: Path, form: Mapping[str, str], by: str) -> list[Command]:
    now = time.time()
    match form.get("order", ""):
        case "set":
            return [_set(folder, _field(form, "values").split(), now, by)]
        case "ban":
            return [_set(folder, [f"ban+={_field(form, 'host')}"], now, by)]
        case "boost":
            return [_set(folder, [f"focus={_field(form, 'pattern')}={_field(form, 'weight')}"], now, by)]
        case "publish":
            words = _field(form, "urls").split()
            if len(words) > MOST_WORDS:
                raise BadInput(f"a command has at most {MOST_WORDS} URLs, not {len(words)}")
            if local := next(
                (word for word in words if word.startswith(("sitemap:", "feed:")) and "://" not in word), ""
            ):
                raise BadInput(f"{local[:100]}: files are read by centime publish; give a URL here")
            found = read_publication(words, settings_of(folder))
            made = found.commands(time=now, publisher=form.get("publisher", "").strip(), by=by)
            if not made:
                reason = f"{found.reasons[0]['url']}: {found.reasons[0]['reason']}" if found.reasons else "no URL"
                raise BadInput(f"none of the URLs can be published; {reason}")
            return [*made]
        case "subscribe":
            to = _field(form, "to")
            if not to.startswith(("http://", "https://")):
                raise BadInput("a subscriber here is an http or https URL; centime subscribe accepts others")
            subscription = subscription_to(
                folder,
                settings_of(folder),
                _field(form, "pattern"),
                Condition(form.get("xpath", "").strip()),
                form.get("every", "").strip() or "1d",
                to,
                form.get("name", "").strip(),
            )
            return [SubscribeCommand(id=new_id(), time=now, subscription=subscription, by=by)]
        case "unsubscribe":
            name = _field(form, "name")
            if name not in (row["name"] for row in subscription_table(folder, folders_of(folder))):
                raise BadInput(f"no subscription has the name {name[:100]!r}")
            return [UnsubscribeCommand(id=new_id(), time=now, name=name, by=by)]
        case other:
            raise BadInput(f"a command is one of {', '.join(KINDS)}, not {other[:40]!r}")


def _set(folder: Path, words: list[str], now: float, by: str) -> SetCommand:
    if not words:
        raise BadSetting("a setting is NAME=VALUE, such as rate=50/s")
    command = SetCommand(id=new_id(), time=now, values=read_values(words), by=by)
    changed_live(settings_of(folder), command)
    return command


def _field(form: Mapping[str, str], name: str) -> str:
    value = form.get(name, "").strip()
    if not value:
        raise BadInput(f"the command has no {name}")
    return value


def order_list(folder: Path) -> list[dict[str, Any]]:
    """All orders, newest first: those that wait, that were applied, and that were refused."""
    inbox = CommandInbox(folder)
    waiting = []
    for path in inbox.waiting():
        try:
            waiting.append(order_facts(unpack_command(path.read_bytes()), None))
        except (BadInput, OSError):  # taken or refused meanwhile
            continue
    rows = [*waiting[::-1], *read_orders(folder)]
    rows += _unreadable(inbox, {row["id"] for row in rows})
    return [row | {"time": moment(row["time"]), "applied": moment(row["applied"] or 0.0)} for row in rows[:MOST_LISTED]]


def _unreadable(inbox: CommandInbox, known: set[str]) -> list[dict[str, Any]]:
    """Files of the inbox that were refused because they are not commands."""
    rows = []
    for path in sorted((inbox.path / REFUSED).glob(f"*{REASON}"), reverse=True)[:MOST_LISTED]:
        stamp, _, identity = path.name.removesuffix(REASON).partition("-")
        if identity in known:
            continue
        reason = inbox.refusal(inbox.path / path.name.removesuffix(REASON))
        row = {"id": identity, "time": int(stamp) / 1e6 if stamp.isdigit() else 0.0, "applied": None}
        rows.append(row | {"command": "?", "detail": "", "by": "", "state": "refused", "trouble": reason})
    return rows
