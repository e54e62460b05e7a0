"""Checks commands before a crawl accepts them; the errors are for the person who gave the command.

A command is checked when it is given, and again when the crawl takes it from its inbox. A command in the journal is
never checked again: a stricter version must be able to replay what an older one accepted.
"""

import re

import msgspec
import numpy as np

from centime.crawl.worker.xpath import check_xpath
from centime.discover.canonical import canonical
from centime.model.errors import BadInput, BadSetting
from centime.model.pattern import check_pattern
from centime.shard.people.command import (
    MOST_NAME,
    MOST_URLS,
    Command,
    PublishCommand,
    SubscribeCommand,
    column_of,
    decode_command,
)
from centime.shard.people.subscriptions import Subscription

LONGEST_WORDS = 1_000
LEAST_EVERY, MOST_EVERY = 1.0, 10 * 365 * 86_400.0

_ID = re.compile(r"[0-9a-f]{32}").fullmatch
_NAME = re.compile(r"[\w.:-]{1,100}").fullmatch
_DESTINATION = re.compile(r"file:.+|command:.+|apprise:.+|https?://[^/\s]+.*", re.DOTALL).fullmatch


def unpack_command(packed: bytes) -> Command:
    """The command in these bytes; BadInput if they are not a command, or one that cannot be carried out."""
    try:
        command: Command = decode_command(packed)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"this is not a command: {error}") from error
    check_command(command)
    return command


def check_command(command: Command) -> None:
    """Refuses a command that could not be carried out."""
    if not _ID(command.id):
        raise BadInput(f"the id of a command is 32 hexadecimal digits, not {command.id[:40]!r}")
    if not 0 <= command.time < 1e11:
        raise BadInput(f"the time of a command is in seconds since the epoch, not {command.time}")
    match command:
        case PublishCommand():
            _check_publication(command)
        case SubscribeCommand():
            check_subscription(command.subscription)
        case _:
            pass


def check_subscription(subscription: Subscription) -> None:
    """Refuses a subscription that could never be served."""
    if not _NAME(subscription.name):
        raise BadSetting(
            f"the name of a subscription is 1 to 100 letters, digits and any of _ . : -, not {subscription.name!r}"
        )
    check_pattern(subscription.pattern)
    _check_text("the place for notices", subscription.to)
    _check_text("the XPath", subscription.xpath)
    if not LEAST_EVERY <= subscription.every <= MOST_EVERY:
        raise BadSetting(
            f"a subscription is delivered at most every second and at least every ten years, not every"
            f" {subscription.every} s"
        )
    if not _DESTINATION(subscription.to) or "\0" in subscription.to:
        raise BadSetting(
            f"notices are delivered to file:PATH, command:PROGRAM, apprise:URL, http://... or https://..., "
            f"not to {subscription.to!r}"
        )
    if subscription.xpath:
        check_xpath(subscription.xpath)
    if subscription.words:
        _check_text("the words", subscription.words)
        if len(subscription.words) > LONGEST_WORDS:
            raise BadSetting(f"the words have at most {LONGEST_WORDS} characters, not {len(subscription.words)}")
        from centime.search.query import wanted  # of few crawls, and slow to import

        wanted(subscription.words)
    if subscription.when and not subscription.condition:
        raise BadSetting(f"{subscription.when.value!r} needs an XPath or words: give one of them")


def check_content(command: Command) -> None:
    """Refuses a publication with a URL that is not canonical, which would become a page, or with too long a name.

    Only for commands from the inbox, which another program may have written: the journal can hold older ones.
    """
    if isinstance(command, PublishCommand):
        if max(len(command.publisher), len(command.cluster)) > MOST_NAME:
            raise BadInput(f"the name of a publisher or a cluster has at most {MOST_NAME} characters")
        wrong = next((url for url in command.lines() if canonical(url) != url), None)
        if wrong is not None:
            raise BadInput(f"a publication has canonical URLs, one per line, not {wrong[:100]!r}")


def _check_text(what: str, text: str) -> None:
    """Refuses what a command cannot hold: bytes of a command line or of a file name that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadSetting(f"{what} must be UTF-8 text, not {text[:100]!r}") from None


def _check_publication(command: PublishCommand) -> None:
    _check_text("the name of a publisher", command.publisher)
    _check_text("the name of a cluster", command.cluster)
    try:
        count = len(command.lines())
    except UnicodeDecodeError as error:
        raise BadInput(f"the URLs of a publication are not text: {error}") from error
    if not command.urls or count > MOST_URLS:
        raise BadInput(f"a publication has 1 to {MOST_URLS} URLs, not {count if command.urls else 0}")
    for name, column in (("modified", command.modified), ("periods", command.periods)):
        if column and len(column) != 8 * count:
            raise BadInput(
                f"{name} of a publication has one number of 8 bytes for each URL, or none, "
                f"not {len(column)} bytes for {count}"
            )
    if not np.isfinite(column_of(command.periods, count)).all():
        raise BadInput("a period of a publication is not a finite number of seconds")
