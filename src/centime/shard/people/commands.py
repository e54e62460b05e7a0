"""Carries out people's commands (settings, publications, subscriptions) and uses the claims of sitemaps and feeds."""

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import DISCOVERY, PUBLISHED
from centime.model.address import host_of
from centime.model.errors import BadSetting
from centime.model.ids import HostId, host_ids, page_ids
from centime.model.row_batch import Pages
from centime.refresh.learning.credit import weight
from centime.settings.crawl import CrawlSettings
from centime.settings.live import changed, changed_again
from centime.shard.joining import believe, fingerprints_of, join
from centime.shard.limits.dropping import rebalance
from centime.shard.message import PLAIN, Role
from centime.shard.pages import origins_at
from centime.shard.people.command import (
    Command,
    PublishCommand,
    SetCommand,
    SubscribeCommand,
    UnsubscribeCommand,
    column_of,
)
from centime.shard.queueing import promote
from centime.shard.state import ShardState
from centime.shard.wanting import apply_want

PROBATION = 16  # one of this many pages is fetched early if their publisher has lost its credit
FUTURE_SECONDS = 86_400.0  # a date further ahead of now than this is wrong

Vector = npt.NDArray[np.float64]


def carry_out(state: ShardState, now: float, command: Command) -> None:
    """Carries out a command, unless it was carried out before."""
    if not state.requests.recent.add(command.id):
        return
    match command:
        case SetCommand():
            _set(state, now, command)
        case PublishCommand():
            _publish(state, now, command)
        case SubscribeCommand():
            state.requests.subscriptions.add(command.subscription)
            state.requests.enlisted, state.requests.enlist_end = 0, state.pages.count
        case UnsubscribeCommand():
            state.requests.subscriptions.remove(command.name)


def changed_live(settings: CrawlSettings, command: SetCommand) -> CrawlSettings:
    """The settings with the values of a command; BadSetting if they cannot change while leases are out."""
    new = changed(settings, command.values)
    if bool(new.delay) != bool(settings.delay):
        raise BadSetting(
            "a delay of 0 allows several requests to a host at a time: stop the crawl and start it with another --delay"
        )
    if new.refused_suffixes() != settings.refused_suffixes():
        raise BadSetting(
            f"the fetchers refuse files that want={new.want or 'none'} asks for or gives up: stop the crawl and start "
            f"it with --want {new.want or 'none'}"
        )
    return new


def take_claims(state: ShardState, now: float, host: HostId, claims: npt.NDArray[np.void]) -> None:
    """Uses the claims of a sitemap or feed of a host: how often pages change, and which changed since they were
    read."""
    pages = state.pages.table.find(claims["fingerprint"].astype(np.uint64))
    known = pages >= 0
    claims, pages = claims[known], pages[known].astype(np.int64)
    _claim_periods(state, pages, claims["period"].astype(np.float64), host)
    # a sitemap may list every page of its host: those that were never read keep their place
    dated = (claims["modified"] > 0) & state.refreshing.book.contains(pages)
    _announce(state, now, pages[dated], claims["modified"][dated].astype(np.float64), state.hosts[host].name)


def _set(state: ShardState, now: float, command: SetCommand) -> None:
    state.apply_live_settings(changed_again(state.settings, command.values))
    apply_want(state)
    rebalance(state, now)


def _publish(state: ShardState, now: float, command: PublishCommand) -> None:
    urls = command.lines()
    fingerprints = fingerprints_of(urls)
    publisher = command.publisher or host_of(urls[0])
    publishers = state.requests.publishers
    trusted = publishers.is_trusted(publisher)
    known = state.pages.table.find(fingerprints)
    role = Role.SITEMAP if command.source == "sitemap" else PLAIN
    origins = origins_at(np.zeros(len(urls)), role)
    fresh = join(state, fingerprints, urls, origins, PUBLISHED if trusted else DISCOVERY)
    if role:
        believe(state, fingerprints)
    pages = state.pages.table.find(fingerprints) if fresh else known
    if fresh:
        new = pages[(known < 0) & (pages >= 0)].astype(np.int64)
        state.placement.frontier.update_worth(
            new, publishers.weight(publisher, len(new)) * state.ledger.importance(new)
        )
        publishers.announce(publisher, page_ids(new))
    old = known >= 0
    if command.source == "url":
        origins = state.pages.origins_of(known[old].astype(np.int64))
        periods = column_of(command.periods, len(urls))[old]
        for host in host_ids(np.unique(origins["host"])):
            own = origins["host"] == host
            _claim_periods(state, known[old][own].astype(np.int64), periods[own], host)
    _announce(state, now, known[old].astype(np.int64), column_of(command.modified, len(urls))[old], publisher)
    if command.cluster and trusted:
        _gather(state, pages[pages >= 0].astype(np.int64))


def _announce(state: ShardState, now: float, pages: Pages, modified: Vector, publisher: str) -> None:
    """Makes pages urgent that a publisher announces as new or changed; `modified` is when they changed, 0 if unknown.

    Pages that were read since they changed, and pages with a date in the future, stay where they are. Of a publisher
    that is not trusted, one page in PROBATION is fetched nevertheless, so that it can earn its credit back.
    """
    read_at = state.refreshing.book.read_times(pages)
    changed_since = ~((modified > 0) & (modified <= read_at)) & (modified <= now + FUTURE_SECONDS)
    pages = pages[changed_since]
    if not state.requests.publishers.is_trusted(publisher):
        pages = pages[pages % PROBATION == 0]
    if len(pages):
        weight = state.requests.publishers.weight(publisher, len(pages))
        state.requests.publishers.announce(publisher, page_ids(pages))
        dropped = state.placement.idle(pages) & ~state.pages.records.visited(pages)
        state.bounds.dropped -= len(np.unique(pages[dropped]))  # an announced page is to be fetched
        promote(state, pages, weight)


def _claim_periods(state: ShardState, pages: Pages, periods: Vector, host: HostId) -> None:
    """Takes published periods as evidence for pages without other evidence, so that the same claim counts once."""
    usable = (periods > 0) & state.refreshing.book.is_unclaimed(pages)
    if usable.any():
        weights = np.full(int(usable.sum()), weight(state.hosts[host].claims))
        state.refreshing.book.claim(pages[usable], periods[usable], weights)


def _gather(state: ShardState, pages: Pages) -> None:
    """Gives all pages of a cluster the key of the most important one, so that they are fetched one after the other."""
    if len(pages):
        state.placement.frontier.update_worth(pages, np.full(len(pages), state.ledger.importance(pages).max()))
