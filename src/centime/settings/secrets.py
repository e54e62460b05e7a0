"""Credentials of a crawl: headers, passwords and a proxy. They may be secrets.

A person gives them like other settings:

    header    NAME: VALUE, or HOST=NAME: VALUE to send it to one host alone
    auth      HOST=USER:PASSWORD, by HTTP's basic authentication
    proxy     http://USER:PASSWORD@HOST:PORT; `direct` for none, also if the environment names one

HOST is a host of https, or has its scheme: http://HOST:PORT. `Cookie` and `Authorization` without a host are for the
host of the seeds.

The whole words are kept in `secrets.json` in the crawl's folder, which only its owner can read. The settings of the
crawl, and so its journal, its snapshots and all reports, have them with `(hidden)` instead of the secret. Fetchers get
them when they are started. Nothing is sent to any other host, not even after a redirect.
"""

import base64
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import getproxies_environment

import msgspec
from msgspec import structs

from centime.discover.canonical import canonical
from centime.fetch.proxy import DIRECT, Proxy
from centime.fetch.settings import FetchSettings
from centime.files.disk import read_file
from centime.files.replacement import replace_file
from centime.model.address import host_of
from centime.model.errors import BadSetting, DamagedFile
from centime.settings.crawl import CrawlSettings

FILE = "secrets.json"
HIDDEN = "(hidden)"
NAMES = ("header", "auth", "proxy")

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PORT = re.compile(r"^\S+:\d{1,5}$")
_PASSWORD = re.compile(r"(?<=:)[^:@/]*(?=@)")
# Headers that the client writes itself: other values would break the framing of HTTP, or the reading of the answer.
_OURS = frozenset(
    [
        "host",
        "connection",
        "keep-alive",
        "proxy-connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "accept-encoding",
        "range",
        "if-range",
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "proxy-authorization",
        "user-agent",
    ]
)
_FOR_ONE_HOST = frozenset(["cookie", "authorization"])
_INSTEAD = {"user-agent": "--user-agent", "proxy-authorization": "--proxy http://USER:PASSWORD@HOST:PORT"}


class Secrets(msgspec.Struct, frozen=True, kw_only=True):
    """The words as they were given."""

    header: tuple[str, ...] = ()
    auth: tuple[str, ...] = ()
    proxy: str | None = None


def check_header(word: str) -> None:
    """Refuses a header that cannot be sent."""
    _header(word)


def check_auth(word: str) -> None:
    """Raises BadSetting unless this is a host with a user and a password."""
    _auth(word)


def check_proxy(word: str) -> None:
    """Raises BadSetting unless this is the URL of a proxy."""
    if word != DIRECT:
        Proxy.of(word)


def hide(settings: CrawlSettings, names: Set[str], before: Secrets) -> tuple[CrawlSettings, Secrets]:
    """The settings without the secrets of these names, which were just given, and all secrets."""
    given: dict[str, Any] = {name: getattr(settings, name) for name in NAMES if name in names}
    secrets = structs.replace(before, **given)
    hidden = _hidden(secrets)
    return structs.replace(settings, **{name: hidden[name] for name in given}), secrets


def check_one_host(settings: CrawlSettings) -> None:
    """Refuses a cookie or an authorization without a host if there are several, and words for a host that can never get
    them.
    """
    hosts = {host_of(seed) for seed in settings.seeds}
    for word in settings.header:
        host, name, _ = _header(word)
        if not host and name.lower() in _FOR_ONE_HOST and len(hosts) > 1:
            raise BadSetting(f"header: the seeds have {len(hosts)} hosts; say for which one it is: HOST={name}: VALUE")
        _check_scheme("header", host, hosts)
    for word in settings.auth:
        _check_scheme("auth", _auth(word)[0], hosts)


def _check_scheme(name: str, host: str, seeds: Set[str]) -> None:
    """Refuses a word for a host with TLS if it is a seed without: one port has only one of them."""
    scheme, _, rest = host.partition("://")
    without = f"http://{rest}"
    if scheme == "https" and _PORT.search(rest) and host not in seeds and without in seeds:
        raise BadSetting(f"{name}: {rest} is a seed without TLS, and gets nothing that is for {host}; write {without}=")


def read_secrets(folder: Path) -> Secrets:
    """The secrets of a crawl; none if it has none."""
    try:
        return msgspec.json.decode(read_file(folder / FILE), type=Secrets)
    except FileNotFoundError:
        return Secrets()
    except msgspec.DecodeError as error:
        raise DamagedFile(f"{folder / FILE}: {error}; remove it, and give --header, --auth and --proxy again") from None


def write_secrets(folder: Path, secrets: Secrets) -> None:
    """Keeps the secrets of a crawl; only the owner of the folder can read them."""
    replace_file(folder / FILE, msgspec.json.encode(secrets))


def with_secrets(
    settings: CrawlSettings, secrets: Secrets, environment: Mapping[str, str] | None = None
) -> FetchSettings:
    """The settings of fetching with all secrets of the words. BadSetting if the words are not those of the
    settings. `environment` has the proxies of HTTP_PROXY, HTTPS_PROXY and NO_PROXY by default, as urllib reads them.
    """
    for name, words in _hidden(secrets).items():
        if words != getattr(settings, name):
            raise BadSetting(f"{name}: its secrets are missing in {FILE}; give --{name} again, or --{name} none")
    proxies = dict(getproxies_environment() if environment is None else environment)
    bypassed = proxies.pop("no", "")
    chosen = {scheme: proxies.get(scheme) or proxies.get("all", "") for scheme in ("http", "https")}
    if secrets.proxy is not None:
        chosen = dict.fromkeys(chosen, "" if secrets.proxy == DIRECT else secrets.proxy)
    for url in filter(None, chosen.values()):
        try:
            Proxy.of(url)
        except BadSetting as trouble:
            raise BadSetting(f"the environment names a proxy that cannot be used (--proxy direct): {trouble}") from None
    return replace(
        settings.fetch_settings(),
        header_lines=_lines(secrets, settings.seeds),
        proxies=tuple((scheme, url) for scheme, url in chosen.items() if url),
        no_proxy=bypassed,
    )


def proxies_in_words(fetch: FetchSettings) -> str:
    """The proxies in use, without passwords; empty if there are none."""
    return ", ".join(sorted({_PASSWORD.sub(HIDDEN, url) for _, url in fetch.proxies}))


def _hidden(secrets: Secrets) -> dict[str, Any]:
    """The words of all secrets, with the secret parts hidden."""
    return {
        "header": tuple(map(_hidden_header, secrets.header)),
        "auth": tuple(f"{host}={user}:{HIDDEN}" for host, user, _ in map(_auth, secrets.auth)),
        "proxy": None if secrets.proxy is None else _PASSWORD.sub(HIDDEN, secrets.proxy),
    }


def _lines(secrets: Secrets, seeds: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The lines of a request, each with the host that gets it; "" for all."""
    lines = []
    for word in secrets.header:
        host, name, value = _header(word)
        hosts = [host]
        if not host and name.lower() in _FOR_ONE_HOST:
            own = {host_of(seed) for seed in seeds}
            hosts = sorted(own | {_with_tls(one) for one in own})
        lines += [(one, f"{name}: {value}\r\n") for one in hosts]
    for word in secrets.auth:
        host, user, password = _auth(word)
        known = base64.b64encode(f"{user}:{password}".encode()).decode()
        lines.append((host, f"Authorization: Basic {known}\r\n"))
    return tuple(lines)


def _with_tls(host: str) -> str:
    """The same host with TLS, if it has the usual port: a site redirects its visitors there."""
    scheme, _, name = host.partition("://")
    return f"https://{name}" if scheme == "http" and (name.endswith("]") or ":" not in name) else host


def _header(word: str) -> tuple[str, str, str]:
    """The host, the name and the value of a header; no host for all of them."""
    said = "a header is 'NAME: VALUE', or 'HOST=NAME: VALUE' for one host"
    host = ""
    before, equals, rest = word.partition("=")
    if equals and ("://" in before or ":" not in before or (_PORT.search(before) and ":" in rest)):
        host, word = _host(before, said), rest
    name, colon, value = word.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not _NAME.fullmatch(name) or not value:
        raise BadSetting(said)
    if not value.isascii() or not value.isprintable():
        raise BadSetting(f"the value of a header is one line of ASCII; that of {name} is not")
    if name.lower() in _OURS:
        instead = _INSTEAD.get(name.lower())
        raise BadSetting(f"{name} is written by the crawler itself" + (f"; use {instead}" if instead else ""))
    return host, name, value


def _auth(word: str) -> tuple[str, str, str]:
    """The host, the user and the password."""
    said = "a password is given as HOST=USER:PASSWORD"
    host, equals, known = word.partition("=")
    user, colon, password = known.partition(":")
    if not equals or not user or not colon or not known.isprintable():
        raise BadSetting(said)
    return _host(host, said), user, password


def _host(text: str, said: str) -> str:
    """The host that a word names: one of https if it has no scheme."""
    url = canonical(text if "://" in text else f"https://{text}")
    if url is None or not url.endswith("/") or url.count("/") > 3 or any(character in text for character in "?#@ "):
        raise BadSetting(f"{said}; HOST is museum.example, or http://museum.example:8080 without TLS, not {text!r}")
    return host_of(url)


def _hidden_header(word: str) -> str:
    host, name, _ = _header(word)
    return f"{host}={name}: {HIDDEN}" if host else f"{name}: {HIDDEN}"
