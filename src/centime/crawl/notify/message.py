"""A batch of notices as a message for people, and its delivery to any service that Apprise knows.

    2 pages changed

    changed https://museum.example/news
    - Open from 9 to 17.
    + Open from 9 to 18.

Apprise is the extra `notify`. It opens connections of its own, to any address that its URL names, so such a subscriber
is accepted from the command line alone, and not served for a foreign crawl folder.
"""

import logging
import shlex
import warnings
from typing import Any

from centime.model.errors import BadSetting
from centime.model.visible import visible
from centime.shard.people.notices import Change

SCHEME = "apprise:"
MOST_CHANGES = 20
MOST_SENTENCES = 20  # of one change
MOST_TEXT = 12_000  # characters
MISSING = "notices to apprise: need the package apprise: pip install 'centime[notify]'"


def message_of(facts: dict[str, Any]) -> tuple[str, str]:
    """The title and the text of a message."""
    changes = facts["changes"]
    count = len(changes)
    lines: list[str] = []
    for change in changes[:MOST_CHANGES]:
        lines.append(f"{change['change']} {visible(change['url'])}")
        if change["new"] or change["old"]:
            lines += [f"{sign} {_line(text)}" for sign, text in (("-", change["old"]), ("+", change["new"])) if text]
        sentences = (change.get("diff") or {}).get("sentences") or []
        pairs = [(sign, one) for step in sentences for sign, side in (("-", "old"), ("+", "new")) for one in step[side]]
        lines += [f"{sign} {_line(one)}" for sign, one in pairs[:MOST_SENTENCES]]
        if change["change"] == Change.VOLATILE:
            lines.append(volatile_sentence([place["select"] for place in change.get("places") or ()]))
        lines.append("")
    if count > MOST_CHANGES:
        lines.append(f"and {count - MOST_CHANGES} more")
    return f"{count} {'page' if count == 1 else 'pages'} changed", "\n".join(lines)[:MOST_TEXT].rstrip()


def volatile_sentence(selectors: list[str]) -> str:
    """A sentence for people: what a `volatile` change means, and what to do about it."""
    if not selectors:
        return "the difference changes so often that it is not reported as a change; --select css:SELECTOR reports it"
    options = " ".join(f"--select {shlex.quote(one)}" for one in selectors)
    return f"this changes so often that it is no longer reported as a change; {options} reports every change of it"


def _line(text: str) -> str:
    return visible(" ".join(str(text).split()))[:1000]


def check_service(to: str) -> None:
    """Refuses a subscriber that Apprise does not know, or every one if Apprise is not installed."""
    if not _service(to.removeprefix(SCHEME)):
        raise BadSetting("Apprise does not know this service; a subscriber is apprise:URL, as apprise:mailto://...")


def send(to: str, facts: dict[str, Any]) -> str:
    """Sends a message; returns why that failed, or ""."""
    try:
        service = _service(to.removeprefix(SCHEME))
    except BadSetting as trouble:
        return str(trouble)
    if not service:
        return "Apprise does not know this service"
    title, body = message_of(facts)
    return "" if service.notify(title=title, body=body) else "the service did not accept the message"


def _service(url: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of modules that Apprise imports
        try:
            import apprise
        except ModuleNotFoundError:
            raise BadSetting(MISSING) from None
        logging.getLogger("apprise").setLevel(logging.CRITICAL)  # it would write to standard error
        made = apprise.Apprise(asset=apprise.AppriseAsset(app_id="Centime", app_desc="Centime", app_url=""))
        return made if made.add(url) and len(made) else None
