"""Which doors for pushes are open, and their secrets: a TOML file of the person who runs the window.

[museum.webhook]                 # of the crawl that is served as museum
secret = "..."
[museum.indexnow]                # IndexNow requests, whose keys the crawl verifies
[museum.ping]                    # /push/museum/ping?sitemap=URL
[museum.websub.news]             # a feed to which a hub is subscribed
topic = "https://museum.example/news.atom"
secret = "..."
hub = "https://hub.example/"     # subscribe there, and again before the lease ends; leave out to do it yourself
callback = "https://window.example/push/museum/websub/news"     # how the hub reaches this server
"""

import tomllib
from pathlib import Path

import msgspec

from centime.model.errors import BadInput

LEAST_SECRET = 16


class Webhook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any program that knows the secret announces pages."""

    secret: str


class Open(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A door without settings."""


class WebSub(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topic that a hub pushes."""

    topic: str
    secret: str
    hub: str = ""
    callback: str = ""


class Doors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The open doors of a crawl."""

    webhook: Webhook | None = None
    indexnow: Open | None = None
    ping: Open | None = None
    websub: dict[str, WebSub] = {}


def read_doors(path: Path, crawls: frozenset[str]) -> dict[str, Doors]:
    """The open doors of each crawl; BadInput says what is wrong in the file."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Doors])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as trouble:
        raise BadInput(f"{path}: {getattr(trouble, 'strerror', None) or trouble}") from trouble
    for name, doors in found.items():
        if name not in crawls:
            raise BadInput(f"{path}: no crawl is served as {name!r}; served: {', '.join(sorted(crawls))}")
        secrets = [doors.webhook.secret] if doors.webhook else []
        for one in doors.websub.values():
            secrets.append(one.secret)
            if one.hub and not one.callback:
                raise BadInput(f"{path}: a hub needs --callback, the URL at which it reaches this server")
        if any(len(secret) < LEAST_SECRET for secret in secrets):
            raise BadInput(f"{path}: a secret of {name} is shorter than {LEAST_SECRET} characters")
    return found
