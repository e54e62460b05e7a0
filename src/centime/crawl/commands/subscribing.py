"""Makes a subscription from the words of a person: absolute paths, a default name; errors say what cannot be served."""

import re
import shlex
import shutil
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from centime.crawl.commands.checking import check_subscription
from centime.crawl.notify.delivering import OPERATORS, unfit
from centime.crawl.notify.message import check_service
from centime.crawl.worker.xpath import check_pace
from centime.discover.canonical import canonical
from centime.fetch.guard import Guard, literal
from centime.model.address import host_of
from centime.model.errors import BadInput, BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.units import seconds
from centime.shard.people.notices import Condition
from centime.shard.people.subscriptions import Subscription


def subscription_to(
    folder: Path,
    settings: CrawlSettings,
    pattern: str,
    condition: Condition,
    every: str,
    to: str | None,
    name: str,
) -> Subscription:
    """The subscription, with absolute paths: the crawl of this folder and these settings may run in another working
    directory.
    """
    if to is None:
        raise BadInput("give a subscriber: --to file:PATH, command:PROGRAM, apprise:URL, http://... or https://...")
    scheme, colon, place = to.partition(":")
    if scheme == "file" and place:
        path = Path(place).absolute()
        if trouble := unfit(str(path), str(folder)):
            raise BadInput(f"cannot write notifications: {trouble}")
        if not path.parent.is_dir():
            raise BadInput(f"{path}: the folder does not exist")
        to = f"file:{path}"
    elif scheme == "command" and place:
        try:
            words = shlex.split(place)
        except ValueError as error:
            raise BadSetting(f"cannot parse the command {place!r}: {error}") from error
        if operator := _shell_operator(place):
            raise BadSetting(
                f"command: starts a program without a shell, so {operator} would be an argument of {words[0]}; "
                f"give the shell itself: command:sh -c {shlex.quote(place)}"
            )
        found = shutil.which(words[0]) if words else None
        if found is None:
            raise BadSetting(f"there is no executable program {words[0] if words else ''!r}")
        to = f"command:{shlex.join([str(Path(found).absolute()), *words[1:]])}"
    elif scheme == "apprise" and place:
        check_service(to)
    elif scheme in ("http", "https") and colon:
        _check_address(folder, settings, to)
    xpath, phrases, when = condition.xpath, condition.words, condition.when
    parts = (pattern, xpath, to) + ((phrases, when.value) if phrases or when else ())
    digest = xxh3_64_hexdigest("\0".join(parts).encode(errors="surrogateescape"))
    subscription = Subscription(name or digest[:8], pattern, seconds(every), to, xpath, phrases, when)
    check_subscription(subscription)
    if xpath:
        check_pace(xpath)
    if xpath and when and not phrases and settings.keep == "none":
        raise BadSetting(
            f"--when with --xpath compares the stored versions of a page, and this crawl stores none; "
            f"centime crawl {folder} --keep versions does"
        )
    return subscription


def _shell_operator(command: str) -> str:
    """The first word that a shell would take as an operator, and is not in quotes; "" if there is none."""
    return next((word for word in shlex.split(command, posix=False) if word in OPERATORS), "")


def _check_address(folder: Path, settings: CrawlSettings, to: str) -> None:
    """Rejects a URL whose address the crawl must not contact; a name is checked when it is resolved."""
    url = canonical(to)
    if url is None:
        raise BadSetting(f"{to!r} is not an http or https URL")
    host = re.sub(r":\d+$", "", host_of(url).partition("//")[2])
    address = literal(host) or ("127.0.0.1" if host == "localhost" or host.endswith(".localhost") else "")
    if address and not Guard(settings.allow_network).allows(address):
        raise BadSetting(f"{address} is not a public address; centime crawl {folder} --allow-network CIDR allows it")
