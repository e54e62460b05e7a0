"""What a crawl is told: one frozen value, kept in the crawl's folder, so that the same command goes on in the same way.

Names are those of the command's options. A configuration file has the same names; an unknown one is refused, with the
nearest known, and so is a value that is not of its setting's type: a truth is no number, and 10.0 is the whole number
10 but 10.5 is none. The word `none` takes back a setting that may be absent, and empties a list.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from centime.discover.canonical import canonical
from centime.discover.scope import Scope
from centime.fetch.settings import FetchSettings
from centime.model.address import host_of
from centime.model.errors import BadSetting
from centime.model.pattern import Patterns, compiled
from centime.refresh.settings import FIRST_RATE, RefreshSettings

Keep = Literal["none", "xml", "all"]
ScopeKind = Literal["page", "host", "domain", "any"]
LedgerKind = Literal["exact", "opic", "interpolation", "variable"]
Policy = Literal["optimal", "paper", "uniform"]

NONE = "none"
MOST_WORKERS = 64
LEAST_WEIGHT, MOST_WEIGHT, MOST_RULES = 1 / 16, 65_536.0, 127  # of a focus: what ledgers take
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """How a crawl goes about its work; the same from its first page to its last unless told otherwise."""

    seeds: tuple[str, ...] = ()  # canonical URLs: what `scope` is relative to
    scope: ScopeKind = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int | None = None
    delay: float = 1.0
    address_delay: float | None = None  # None: a tenth of a second, and none on this machine
    keep: Keep = "none"
    focus: tuple[str, ...] = ()  # PATTERN=WEIGHT
    ledger: LedgerKind = "exact"
    damping: float = 0.85
    workers: int = 0  # 0: one for each core
    user_agent: str = FetchSettings().user_agent
    allow_network: tuple[str, ...] = ()
    resolve: tuple[str, ...] = ()  # NAME=ADDRESS
    refresh_after: float | None = None
    rate: float | None = None  # pages a second
    bandwidth: float | None = None  # bytes a second
    timeout: float = 120.0  # seconds for one page, from the first packet to the last byte
    most_page_bytes: int = 10 * 2**20
    pages_per_host: int = 1_000_000
    continuous: bool = False  # discovers, and keeps fresh what it knows, until it is stopped
    policy: Policy = "optimal"
    alpha: float = 0.0  # penalty for an old copy
    beta: float = 1.0  # penalty for a stale copy
    discovery: str = "auto"  # by worth, or so many per cent of the budget
    discovery_weight: float = 1.0  # of an unread page beside one that is stale
    least_interval: float = 3_600.0  # seconds between two reads of a page that nobody asked for
    first_rate: float = FIRST_RATE  # changes a second that a page is held to have before anything was seen
    shares: tuple[float, ...] = (0.5, 0.5, 0.5)  # what levels 1 to 3 may take of the choices that come down to them
    ban: tuple[str, ...] = ()  # hosts that are not asked

    def __post_init__(self) -> None:
        for name, kinds in (("scope", ScopeKind), ("keep", Keep), ("ledger", LedgerKind), ("policy", Policy)):
            if getattr(self, name) not in get_args(kinds):
                raise BadSetting(f"{name} is one of {', '.join(get_args(kinds))}, not {getattr(self, name)!r}")
        _between("delay", self.delay, 0, 86_400)
        _between("address-delay", self.address_delay, 0, 86_400)
        _between("damping", self.damping, 0, 0.999999)
        _between("workers", self.workers, 0, MOST_WORKERS)
        _between("max-depth", self.max_depth, 0, 1_000_000)
        _between("refresh-after", self.refresh_after, 0.001, 1e10)
        _between("rate", self.rate, 1e-6, 1e9)
        _between("bandwidth", self.bandwidth, 1, 1e15)
        _between("timeout", self.timeout, 0.1, 86_400)
        _between("most-page-bytes", self.most_page_bytes, 1024, 2**31)
        _between("pages-per-host", self.pages_per_host, 1, 2**31)
        _between("alpha", self.alpha, 0, 1e6)
        _between("beta", self.beta, 0, 1e6)
        _between("discovery-weight", self.discovery_weight, 1e-9, 1e9)
        _between("first-rate", self.first_rate, 1e-12, 10)
        _between("least-interval", self.least_interval, 0.01, 1e9)
        if not self.alpha and not self.beta:
            raise BadSetting("alpha and beta are both 0: then nothing is worth reading again")
        if len(self.shares) != 3 or not all(0 < share < 1 for share in self.shares):
            raise BadSetting(
                f"shares are three numbers above 0 and below 1, for levels 1 to 3, not {list(self.shares)}"
            )
        if self.continuous and self.refresh_after is not None:
            raise BadSetting(
                "either --continuous decides when pages are read again or --refresh-after does: give one of them"
            )
        if self.continuous and self.rate is None and self.bandwidth is None:
            raise BadSetting("--continuous spends a budget: give it as --rate 50/s or --bandwidth 2GB/day")
        self.discovery_share()
        self.scope_rules()
        self.focus_rules()
        self.fetch_settings()

    def discovery_share(self) -> float | None:
        """The share of the budget that discovery has, from 0 to 1; None where worth decides."""
        if self.discovery == "auto":
            return None
        try:
            share = float(self.discovery.removesuffix("%")) / 100
        except ValueError:
            share = -1.0
        if not 0.001 <= share <= 0.999:
            raise BadSetting(f"discovery is auto, or a percentage from 0.1 to 99.9, not {self.discovery!r}")
        return share

    def refresh_settings(self) -> RefreshSettings:
        """What the book of change rates needs of it. A crawl without a budget has a page a second, for plans."""
        by_bytes = self.rate is None and self.bandwidth is not None
        budget = self.rate if self.rate is not None else self.bandwidth if self.bandwidth is not None else 1.0
        share = self.discovery_share()
        return RefreshSettings(
            policy=self.policy,
            alpha=self.alpha,
            beta=self.beta,
            budget=budget * (1.0 - (share or 0.0)),
            by_bytes=by_bytes,
            least_interval=self.least_interval,
            first_rate=self.first_rate,
        )

    def level_shares(self) -> tuple[float, ...]:
        """What levels 1 to 4 may take of the choices that come down to them."""
        share = self.discovery_share()
        return (*self.shares, 0.5 if share is None else 1.0 - share)

    @property
    def worker_count(self) -> int:
        """How many fetchers there are."""
        return self.workers or max(1, len(os.sched_getaffinity(0)))

    def scope_rules(self) -> Scope:
        """Which URLs may be known."""
        return Scope.of(self.seeds, kind=self.scope, include=self.include, exclude=self.exclude)

    def focus_rules(self) -> list[tuple[Patterns, float]]:
        """Pattern and weight of each focus class, from class 1 on."""
        rules = []
        for rule in self.focus:
            pattern, equals, weight = rule.rpartition("=")
            try:
                rules.append((compiled(pattern), float(weight)))
            except (ValueError, re.error):
                equals = ""
            if not equals or not pattern:
                raise BadSetting(f"a focus is PATTERN=WEIGHT, with a regular expression and a number, not {rule!r}")
            if not LEAST_WEIGHT <= rules[-1][1] <= MOST_WEIGHT or rules[-1][1] % LEAST_WEIGHT:
                raise BadSetting(
                    f"the weight of a focus is a multiple of 1/16 from 1/16 to {MOST_WEIGHT:g}, not {weight}"
                )
        if len(rules) > MOST_RULES:
            raise BadSetting(f"there are {MOST_RULES} rules of focus at most, not {len(rules)}")
        return rules

    def resolve_rules(self) -> tuple[tuple[str, str], ...]:
        """Names whose addresses are given."""
        rules = []
        for rule in self.resolve:
            name, equals, address = rule.partition("=")
            if not (name and equals and address):
                raise BadSetting(f"an address is given as NAME=ADDRESS, not {rule!r}")
            rules.append((name, address))
        return tuple(rules)

    def fetch_settings(self) -> FetchSettings:
        """What the fetchers need of it."""
        return FetchSettings(
            user_agent=self.user_agent,
            allow_networks=self.allow_network,
            resolve=self.resolve_rules(),
            delay_seconds=self.delay,
            address_delay_seconds=self.address_delay,
            most_body_bytes=self.most_page_bytes,
            total_seconds=self.timeout,
            connect_seconds=min(FetchSettings().connect_seconds, self.timeout),
            first_byte_seconds=min(FetchSettings().first_byte_seconds, self.timeout),
            slow_grace_seconds=min(FetchSettings().slow_grace_seconds, self.timeout / 2),
            keep_heads=self.keep != "none",
        )

    def facts(self) -> dict[str, Any]:
        """The settings as plain values."""
        return {
            name.replace("_", "-"): list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


TYPES: dict[str, Any] = {name.replace("_", "-"): kind for name, kind in get_type_hints(CrawlSettings).items()}
SETTINGS = set(TYPES)


def settings_from(facts: dict[str, Any], *, where: str, start: CrawlSettings | None = None) -> CrawlSettings:
    """Settings with these values on top of `start`; a name that is not known is refused, and a value that is not of its
    type.

    Of `continuous` and `refresh-after` the one that is given takes the place of the other in `start`.
    """
    given: dict[str, Any] = {}
    for name, value in facts.items():
        known = name.replace("_", "-")
        if known not in SETTINGS:
            near = difflib.get_close_matches(known, SETTINGS, 1)
            raise BadSetting(f"{where}: unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        given[known.replace("-", "_")] = _value(known, value, where)
    if given.get("continuous"):
        given.setdefault("refresh_after", None)
    elif given.get("refresh_after") is not None:
        given.setdefault("continuous", False)
    try:
        return replace(start or CrawlSettings(), **given)
    except TypeError as error:
        raise BadSetting(f"{where}: {error}") from error


def read_config(path: Path) -> dict[str, Any]:
    """The values of a configuration file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSetting(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # also of a number with too many digits, which tomllib does not call its own error
        raise BadSetting(f"{path} is not TOML: {error}") from error


def seconds(text: str | float) -> float:
    """A length of time: `90`, `90s`, `10m`, `2h`, `1d`."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", str(text))
    if not found:
        raise BadSetting(f"a time is a number with s, m, h or d behind it, as 10m, not {text!r}")
    return float(found[1]) * _UNITS[found[2] or "s"]


def per_second(text: str | float) -> float:
    """A rate: `50`, `50/s`, `3000/m`, `1000000/d`."""
    number, _, unit = str(text).partition("/")
    try:
        return float(number) / _UNITS[unit.strip()[:1] or "s"]
    except (ValueError, KeyError):
        raise BadSetting(f"a rate is a number a second, minute, hour or day, as 50/s, not {text!r}") from None


def bytes_per_second(text: str | float) -> float:
    """A bandwidth: `500KB/s`, `2GB/day`."""
    amount, _, unit = str(text).partition("/")
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", amount.lower())
    if not found or (found[2] or "b") not in _BYTES or (unit.strip()[:1] or "s") not in _UNITS:
        raise BadSetting(f"a bandwidth is an amount a time, as 500KB/s or 2GB/day, not {text!r}")
    return float(found[1]) * _BYTES[found[2] or "b"] / _UNITS[unit.strip()[:1] or "s"]


_READERS: dict[str, Callable[[str], float]] = {
    "delay": seconds,
    "address-delay": seconds,
    "refresh-after": seconds,
    "timeout": seconds,
    "least-interval": seconds,
    "rate": per_second,
    "first-rate": per_second,
    "bandwidth": bytes_per_second,
}
_EXPECTED: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    tuple[str, ...]: "a list of words",
    tuple[float, ...]: "a list of numbers, as 0.5,0.5,0.5",
}


def _value(name: str, value: Any, where: str) -> Any:
    """The value as the setting's type has it; BadSetting names the setting, the value and what is expected."""
    kind = TYPES[name] if get_origin(TYPES[name]) is not Literal else str
    optional = NoneType in get_args(kind)
    kind = get_args(kind)[0] if optional else kind
    if optional and value in (None, NONE):
        return None
    if name == "discovery" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    try:
        if isinstance(value, str) and name in _READERS:
            return _READERS[name](value)
        typed = _typed(kind, value)
        return typed if name != "ban" else tuple(dict.fromkeys(host for item in typed for host in hosts_named(item)))
    except BadSetting as error:
        raise BadSetting(f"{where}: {name}: {error}") from None
    except (TypeError, ValueError):
        raise BadSetting(
            f"{where}: {name} is {_EXPECTED[kind]}{' or none' if optional else ''}, not {value!r}"
        ) from None


def _typed(kind: Any, value: Any) -> Any:
    """The value as one of this type; TypeError or ValueError if it is not."""
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        if isinstance(value, str):
            return tuple(map(float, value.split(","))) if item is float else () if value == NONE else (value,)
        if isinstance(value, list | tuple):
            return tuple(_typed(item, each) for each in value)
    elif kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    elif isinstance(value, bool) == (kind is bool) and isinstance(value, int | float if kind is float else kind):
        return value
    raise TypeError


def hosts_named(text: str) -> list[str]:
    """The hosts that a word means: with a scheme one, without one both of its schemes."""
    named = [text] if "://" in text else [f"http://{text}", f"https://{text}"]
    urls = [canonical(name) for name in named]
    if any(url is None or not url.endswith("/") or url.count("/") > 3 for url in urls) or any(
        character in text for character in "?#@"
    ):
        raise BadSetting(f"a host is a name, as spam.example or https://spam.example:8443, not {text!r}")
    return [host_of(url) for url in urls if url]


def _between(name: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not least <= value <= most:
        raise BadSetting(f"{name} lies between {least:g} and {most:g}, not at {value}")


class FetcherSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a fetcher is told when it starts."""

    name: str
    fetch: FetchSettings
    seeds: tuple[str, ...]
    scope_kind: ScopeKind
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    max_depth: int | None
    keep: Keep
    bodies: str

    def scope(self) -> Scope:
        """Which URLs may be known."""
        return Scope.of(self.seeds, kind=self.scope_kind, include=self.include, exclude=self.exclude)


def fetcher_settings(settings: CrawlSettings, name: str, bodies: Path) -> FetcherSettings:
    """What one fetcher of the crawl is told."""
    return FetcherSettings(
        name=name,
        fetch=settings.fetch_settings(),
        seeds=settings.seeds,
        scope_kind=settings.scope,
        include=settings.include,
        exclude=settings.exclude,
        max_depth=settings.max_depth,
        keep=settings.keep,
        bodies=str(bodies),
    )


unpack_fetcher = msgspec.msgpack.Decoder(FetcherSettings).decode
