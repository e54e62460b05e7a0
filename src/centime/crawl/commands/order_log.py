"""The commands that a crawl has carried out or refused, newest last: what each was, who gave it and when.

    DIR/orders.jsonl     one JSON object on each line; beyond MOST_BYTES the older half is dropped

The crawl writes it after the command is in the journal. It is for people and not part of the state: a crawl that is
killed in between may name a command twice, with the same id, or not at all.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from centime.files.disk import create_file
from centime.files.replacement import replace_file
from centime.model.errors import NoRoom
from centime.shard.people.command import (
    Command,
    PublishCommand,
    SetCommand,
    SubscribeCommand,
    UnsubscribeCommand,
)

FILE = "orders.jsonl"
MOST_BYTES = 1 << 20
MOST_DETAIL = 300  # characters


def log_orders(folder: Path, commands: Iterable[tuple[Command, str]], now: float) -> None:
    """Adds commands, each with the reason if it was refused. If the file cannot be written, they are left out."""
    lines = b"".join(msgspec.json.encode(order_facts(one, now, reason)) + b"\n" for one, reason in commands)
    if not lines:
        return
    path = folder / FILE
    with suppress(OSError, NoRoom):
        handle = create_file(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            size = os.fstat(handle).st_size
            os.write(handle, lines)
        finally:
            os.close(handle)
        if size + len(lines) > MOST_BYTES:
            replace_file(path, path.read_bytes()[-MOST_BYTES // 2 :].partition(b"\n")[2], durable=False)


def read_orders(folder: Path) -> list[dict[str, Any]]:
    """The commands of the log, newest first, each id once; lines that are damaged are left out."""
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        data = os.read(handle, 2 * MOST_BYTES)
    except OSError:
        return []
    finally:
        os.close(handle)
    found: dict[str, dict[str, Any]] = {}
    for line in data.splitlines():
        with suppress(msgspec.DecodeError, KeyError, TypeError):
            order = msgspec.json.decode(line, type=dict[str, Any])
            found[str(order["id"])] = order
    return list(found.values())[::-1]


def order_facts(command: Command, applied: float | None, reason: str = "") -> dict[str, Any]:
    """A command for people; `applied` is when a crawl took it, None while it waits."""
    name, detail = _words(command)
    state = "waiting" if applied is None else "refused" if reason else "applied"
    return {
        "id": command.id,
        "time": command.time,
        "applied": applied,
        "command": name,
        "detail": detail[:MOST_DETAIL],
        "by": command.by or "command line",
        "state": state,
        "trouble": reason or None,
    }


def _words(command: Command) -> tuple[str, str]:
    match command:
        case SetCommand():
            return "set", ", ".join(f"{name}={_value(value)}" for name, value in command.values.items())
        case PublishCommand():
            lines = command.lines()
            more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
            return "publish", f"{lines[0]}{more}" + (f" by {command.publisher}" if command.publisher else "")
        case SubscribeCommand():
            return "subscribe", f"{command.subscription.name}: {command.subscription.pattern}"
        case UnsubscribeCommand():
            return "unsubscribe", command.name


def _value(value: object) -> str:
    return "none" if value is None else " ".join(map(str, value)) if isinstance(value, list) else str(value)
