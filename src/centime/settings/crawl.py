"""The settings of a crawl: one frozen value, kept in the crawl's folder, so that the same command resumes with them.

Fields have the names of the command's options, and their types have the ranges of the options, which
`settings/reading.py` checks with msgspec. The constructor checks nothing: a journal or folder must open although its
values lie outside the ranges of a later version.
"""

import os
from math import inf
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from centime.discover.canonical import LONGEST_URL
from centime.discover.scope import Scope
from centime.discover.suffixes import SUFFIXES, refused_suffixes
from centime.discover.traps import TrapMode, TrapRules
from centime.fetch.settings import FetchSettings
from centime.model.errors import BadSetting
from centime.model.link_weight import link_weights
from centime.model.pattern import Patterns, compiled
from centime.refresh.settings import FIRST_RATE, Policy, RefreshSettings
from centime.settings.focus import FocusRule
from centime.settings.intervals import Intervals, intervals_of
from centime.settings.retaining import Retaining, retaining_of
from centime.settings.want import want_of
from centime.store.folder import CrawlFolder

Keep = Literal["none", "xml", "all", "versions"]
ScopeKind = Literal["page", "host", "domain", "any"]
LedgerKind = Literal["exact", "opic", "interpolation", "variable"]
Share = Annotated[float, Meta(gt=0, lt=1)]
Most = Annotated[int, Meta(ge=1, le=2**31)] | None


class CrawlSettings(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """How a crawl works, from its first page to its last."""

    seeds: tuple[str, ...] = ()  # canonical URLs, to which `scope` is relative
    scope: ScopeKind = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()  # [PATTERN=]css:SELECTOR: parts of a page that are compared
    ignore: tuple[str, ...] = ()  # [PATTERN=]css:SELECTOR or [PATTERN=]regex:REGEX: parts that are not
    max_depth: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    delay: Annotated[float, Meta(ge=0, le=86_400)] = 1.0
    address_delay: Annotated[float, Meta(ge=0, le=86_400)] | None = None  # None: 0.1 s, and 0 on this machine
    keep: Keep = "none"
    retain: tuple[str, ...] = ()  # [PATTERN=]NUMBER or [PATTERN=]TIME: which versions are kept
    ignore_noarchive: bool = False  # keeps pages that ask not to be archived
    index: bool | None = None  # keeps the index up to date while the crawl runs; None: if it is continuous
    also: tuple[str, ...] = ()  # suffixes or kinds of files that are fetched too
    parts: bool = False  # fetches the DTDs and entities of XML documents, from any host
    requisites: bool = False  # fetches the files that pages need to be shown
    requisites_per_page: Annotated[int, Meta(ge=1, le=20_000)] = 1_000
    requisites_per_host: Annotated[int, Meta(ge=1, le=2**31)] = 100_000
    requisite_depth: Annotated[int, Meta(ge=1, le=250)] = 8  # of requisites of requisites, redirects included
    most_requisite_bytes: Annotated[int, Meta(ge=1024, le=2**31)] = 20 * 2**20
    focus: tuple[str, ...] = ()  # PATTERN=WEIGHT
    want: str | None = None  # a kind of page, or a pattern (settings/want.py); None: all pages alike
    link_weight: str | None = None  # KIND=X,... (model/link_weight.py); None: all links of a page alike
    ledger: LedgerKind = "exact"
    damping: Annotated[float, Meta(ge=0, le=0.999999)] = 0.85
    workers: Annotated[int, Meta(ge=0, le=64)] = 0  # 0: one for each core
    user_agent: str = FetchSettings().user_agent
    allow_network: tuple[str, ...] = ()
    resolve: tuple[str, ...] = ()  # NAME=ADDRESS
    refresh_after: Annotated[float, Meta(ge=0.001, le=1e10)] | None = None
    rate: Annotated[float, Meta(ge=1e-6, le=1e9)] | None = None  # pages per second
    bandwidth: Annotated[float, Meta(ge=1, le=1e15)] | None = None  # bytes per second
    fill_rate: Annotated[float, Meta(ge=1e-6, le=1e9)] | None = None  # pages per second, until most pages were visited
    timeout: Annotated[float, Meta(ge=0.1, le=86_400)] = 120.0  # of one page, from the first packet to the last byte
    most_page_bytes: Annotated[int, Meta(ge=1024, le=2**31)] = 10 * 2**20
    pages_per_host: Annotated[int, Meta(ge=1, le=2**31)] = 1_000_000
    most_pages: Annotated[int, Meta(ge=1, le=2**31)] | None = None  # known ones; None: as many as fit into memory
    most_memory: Annotated[int, Meta(ge=2**20, le=2**50)] | None = None  # bytes, all processes; None: half of it
    longest_url: Annotated[int, Meta(ge=64, le=LONGEST_URL)] | None = 2_048  # characters; None: LONGEST_URL
    refuse_suffix: tuple[str, ...] = ()
    follow_nofollow: bool = False
    traps: TrapMode = "evidence"  # the treatment of suspicious URLs (discover/traps.py)
    most_segments: Most = 20  # from here on: beyond which a URL is suspicious; None: never
    longest_segment: Most = 255
    repeated_segments: Annotated[int, Meta(ge=2, le=1_000)] | None = 3
    most_parameters: Most = 12
    repeated_parameters: Most = 3
    years_off: Most = 30
    queries_per_path: Most = 1_000
    dates_per_path: Most = 600
    continuous: bool = False  # discovers and refreshes pages until it is stopped
    policy: Policy = "optimal"
    alpha: Annotated[float, Meta(ge=0, le=1e6)] = 0.0  # penalty for each change that a copy missed
    beta: Annotated[float, Meta(ge=0, le=1e6)] = 1.0  # penalty for a stale copy
    discovery: str = "auto"  # by worth, or a percentage of the budget
    discovery_weight: Annotated[float, Meta(ge=1e-9, le=1e9)] = 1.0  # of a page never visited, relative to a stale one
    least_interval: Annotated[float, Meta(ge=0.01, le=1e9)] = 3_600.0  # between two visits, except requested ones
    least_intervals: tuple[str, ...] = ()  # PATTERN=TIME, or PATTERN=none: that of all pages
    greatest_interval: Annotated[float, Meta(ge=0.01, le=1e9)] | None = None  # between two visits, if the budget allows
    greatest_intervals: tuple[str, ...] = ()
    first_rate: Annotated[float, Meta(ge=1e-12, le=10)] = (
        FIRST_RATE  # changes per second of a page without observations
    )
    shares: tuple[Share, Share, Share] = (0.5, 0.5, 0.5)  # of the choices that reach levels 1 to 3
    ban: tuple[str, ...] = ()  # hosts that are not fetched from
    sitemaps: bool = True  # those that robots.txt names are followed
    cookies: bool = False  # each host gets the cookies that it has set
    header: tuple[str, ...] = ()  # these three without their secrets: settings/secrets.py
    auth: tuple[str, ...] = ()
    proxy: str | None = None
    ca_file: str | None = None
    insecure: bool = False
    partition: Annotated[int, Meta(ge=0, le=4_095)] = 0  # which of them this folder is; a cluster sets both
    partitions: Annotated[int, Meta(ge=1, le=4_096)] = 1

    def discovery_share(self) -> float | None:
        """The share of the budget for discovery, from 0 to 1; None if worth decides."""
        return None if self.discovery == "auto" else float(self.discovery.removesuffix("%")) / 100

    def weighs_nofollow(self) -> bool:
        """Whether links that ask not to be followed have a weight of their own."""
        return self.link_weight is not None and link_weights(self.link_weight).nofollow is not None

    def refreshes(self) -> bool:
        """Whether pages are read again after their first read."""
        return self.continuous or self.refresh_after is not None

    def keeps_index(self) -> bool:
        """Whether the index of stored pages is kept up to date while the crawl runs."""
        return self.continuous and self.keep != "none" if self.index is None else self.index

    def refresh_settings(self) -> RefreshSettings:
        """The settings of refreshing. Without a budget, plans assume one page per second."""
        by_bytes = self.rate is None and self.bandwidth is not None
        budget = self.rate if self.rate is not None else self.bandwidth if self.bandwidth is not None else 1.0
        share = self.discovery_share()
        return RefreshSettings(
            policy=self.policy,
            alpha=self.alpha,
            beta=self.beta,
            budget=budget * (1.0 - (share or 0.0)),
            by_bytes=by_bytes,
            least_interval=self.least_times().shortest,
            first_rate=self.first_rate,
        )

    def least_times(self) -> Intervals:
        """The least time between two visits of each page, except requested ones."""
        return intervals_of(self.least_interval, self.least_intervals)

    def greatest_times(self) -> Intervals:
        """The greatest time between two visits of each page; infinity without one."""
        usual = inf if self.greatest_interval is None else self.greatest_interval
        return intervals_of(usual, self.greatest_intervals)

    def level_shares(self) -> tuple[float, ...]:
        """The share that each of levels 1 to 4 may take of the choices that reach it."""
        share = self.discovery_share()
        return (*self.shares, 0.5 if share is None else 1.0 - share)

    @property
    def worker_count(self) -> int:
        """The number of fetcher processes."""
        return self.workers or max(1, len(os.sched_getaffinity(0)))

    def scope_rules(self) -> Scope:
        """The rules that say which URLs belong to the crawl."""
        return Scope.of(
            self.seeds,
            kind=self.scope,
            include=self.include,
            exclude=self.exclude,
            suffixes=self.refused_suffixes(),
            longest_url=self.longest_url,
        )

    def refused_suffixes(self) -> frozenset[str]:
        """The suffixes of URLs that are not fetched. PDFs are fetched if all bodies are kept, and so are wanted
        files."""
        wanted = () if self.want is None else want_of(self.want).fetched_suffixes()
        return refused_suffixes((*self.also, *wanted, *(["pdf"] if self.keep == "all" else [])), self.refuse_suffix)

    def trap_rules(self) -> TrapRules:
        """The rules that say which URLs are suspicious."""
        return TrapRules(
            mode=self.traps,
            most_segments=self.most_segments,
            longest_segment=self.longest_segment,
            repeated_segments=self.repeated_segments,
            most_parameters=self.most_parameters,
            repeated_parameters=self.repeated_parameters,
            years_off=self.years_off,
        )

    def focus_rules(self) -> tuple[FocusRule, ...]:
        """The rules of focus; the first is that of class 1."""
        return tuple(map(FocusRule.parse, self.focus))

    def focus_patterns(self) -> Patterns:
        """The patterns of all rules of focus: the first that is found in a page's URL gives its class."""
        return compiled(*(rule.pattern for rule in self.focus_rules()))

    def resolve_rules(self) -> tuple[tuple[str, str], ...]:
        """Names and their addresses that are not looked up in DNS."""
        rules = []
        for rule in self.resolve:
            name, equals, address = rule.partition("=")
            if not (name and equals and address):
                raise BadSetting(f"an address is given as NAME=ADDRESS, not {rule!r}")
            rules.append((name, address))
        return tuple(rules)

    def fetch_settings(self) -> FetchSettings:
        """The settings of fetching."""
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
            keep_heads=self.keep in ("xml", "all"),
            keep_errors=self.keep == "all",
            ca_file=self.ca_file or "",
            insecure=self.insecure,
        )

    def facts(self) -> dict[str, Any]:
        """The settings as plain values, by the names of the options."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


class RequisiteSettings(msgspec.Struct, frozen=True):
    """Which files that pages need are fetched."""

    all: bool = False  # whatever their host and suffix
    parts: bool = False  # those of XML documents and DTDs, whatever their host
    suffixes: tuple[str, ...] = ()  # in scope, with these suffixes or of these kinds
    per_page: int = 1_000
    depth: int = 8
    most_bytes: int = 0  # of one; 0 as of a page


class FetcherSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a fetcher process starts with."""

    name: str
    fetch: FetchSettings
    seeds: tuple[str, ...]
    scope_kind: ScopeKind
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    max_depth: int | None
    keep: Keep
    bodies: str
    versions: str
    retain: tuple[str, ...] = ()
    sitemaps: bool = True
    cookies: bool = False
    ignore_noarchive: bool = False
    requisites: RequisiteSettings = RequisiteSettings()
    on_page: str = ""  # a function to call for every page: crawl/worker/hook.py
    ahead: float | None = None  # of the clock of the run (processes/clock.py); None for the wall clock
    suffixes: frozenset[str] = SUFFIXES
    longest_url: int | None = None
    traps: TrapRules = TrapRules()
    follow_nofollow: bool = False
    weighs_nofollow: bool = False  # visits say which of their links are nofollow
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    refreshes: bool = True
    asks_for_addresses: bool = False  # other partitions may contact the same ones (fetch/address_leases.py)

    def retaining(self) -> Retaining:
        """Which versions of each page are kept."""
        return retaining_of(self.retain)

    def scope(self) -> Scope:
        """The rules that say which URLs belong to the crawl."""
        return Scope.of(
            self.seeds,
            kind=self.scope_kind,
            include=self.include,
            exclude=self.exclude,
            suffixes=self.suffixes,
            longest_url=self.longest_url,
        )


def fetcher_settings(
    settings: CrawlSettings,
    fetch: FetchSettings,
    name: str,
    folder: CrawlFolder,
    on_page: str = "",
    ahead: float | None = None,
    *,
    asks_for_addresses: bool = False,
) -> FetcherSettings:
    """The settings of one fetcher process of the crawl; `fetch` has its secrets."""
    return FetcherSettings(
        name=name,
        fetch=fetch,
        seeds=settings.seeds,
        scope_kind=settings.scope,
        include=settings.include,
        exclude=settings.exclude,
        max_depth=settings.max_depth,
        keep=settings.keep,
        asks_for_addresses=asks_for_addresses,
        bodies=str(folder.bodies),
        versions=str(folder.versions),
        retain=settings.retain,
        sitemaps=settings.sitemaps,
        cookies=settings.cookies,
        ignore_noarchive=settings.ignore_noarchive,
        requisites=RequisiteSettings(
            settings.requisites,
            settings.parts,
            settings.also,
            settings.requisites_per_page,
            settings.requisite_depth,
            settings.most_requisite_bytes,
        ),
        on_page=on_page,
        ahead=ahead,
        suffixes=settings.refused_suffixes(),
        longest_url=settings.longest_url,
        traps=settings.trap_rules(),
        follow_nofollow=settings.follow_nofollow,
        weighs_nofollow=settings.follow_nofollow and settings.weighs_nofollow(),
        select=settings.select,
        ignore=settings.ignore,
        refreshes=settings.refreshes(),
    )


unpack_fetcher = msgspec.msgpack.Decoder(FetcherSettings).decode
