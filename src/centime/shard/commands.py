"""Orders from outside are carried out: other settings, publications, subscriptions; and what sitemaps and feeds
announce by themselves.
"""

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import DISCOVERY, PUBLISHED
from centime.model.address import host_of
from centime.model.errors import BadSetting
from centime.model.row_batch import Pages
from centime.refresh.credit import weight
from centime.settings.crawl import CrawlSettings
from centime.settings.live import changed, changed_again
from centime.shard.command import Command, PublishCommand, SetCommand, SubscribeCommand, UnsubscribeCommand, column_of
from centime.shard.joining import fingerprints_of, join
from centime.shard.queueing import promote
from centime.shard.state import ShardState

PROBATION = 16  # of so many pages that somebody without credit announces one is read

Vector = npt.NDArray[np.float64]


def carry_out(state: ShardState, now: float, command: Command) -> None:
    """Does what a command says, once."""
    if not state.requests.recent.add(command.id):
        return
    match command:
        case SetCommand():
            _set(state, command)
        case PublishCommand():
            _publish(state, now, command)
        case SubscribeCommand():
            state.requests.subscriptions.add(command.subscription)
            state.requests.enlisted, state.requests.enlist_end = 0, state.pages.count
        case UnsubscribeCommand():
            state.requests.subscriptions.remove(command.name)


def changed_live(settings: CrawlSettings, command: SetCommand) -> CrawlSettings:
    """The settings with what a command changes; BadSetting if that cannot be while pages are being read."""
    new = changed(settings, command.values)
    if bool(new.delay) != bool(settings.delay):
        raise BadSetting(
            "a delay of 0 allows several requests to a host at a time: stop the crawl and start it with another --delay"
        )
    return new


def take_claims(state: ShardState, now: float, host: int, claims: npt.NDArray[np.void]) -> None:
    """What a sitemap or feed of a host says of pages: how often they change, and which have changed since they were
    read.
    """
    pages = state.pages.table.find(claims["fingerprint"].astype(np.uint64))
    known = pages >= 0
    claims, pages = claims[known], pages[known].astype(np.int64)
    _claim_periods(state, pages, claims["period"].astype(np.float64), host)
    dated = (claims["modified"] > 0) & state.refreshing.book.contains(
        pages
    )  # it may name every page: unread ones keep their turn
    _announce(state, now, pages[dated], claims["modified"][dated].astype(np.float64), state.hosts[host].name)


def _set(state: ShardState, command: SetCommand) -> None:
    state.apply_live_settings(changed_again(state.settings, command.values))


def _publish(state: ShardState, now: float, command: PublishCommand) -> None:
    urls = command.lines()
    fingerprints = fingerprints_of(urls)
    publisher = command.publisher or host_of(urls[0])
    publishers = state.requests.publishers
    believed = publishers.is_believed(publisher)
    known = state.pages.table.find(fingerprints)
    fresh = join(state, fingerprints, urls, np.zeros(len(urls), dtype=np.uint8), PUBLISHED if believed else DISCOVERY)
    pages = state.pages.table.find(fingerprints) if fresh else known
    if fresh:
        new = pages[(known < 0) & (pages >= 0)].astype(np.int64)
        state.placement.frontier.update_worth(
            new, publishers.weight(publisher, len(new)) * state.ledger.importance(new)
        )
        publishers.announce(publisher, new.tolist())
    old = known >= 0
    if command.source == "url":
        origins = state.pages.origins_of(known[old].astype(np.int64))
        periods = column_of(command.periods, len(urls))[old]
        for host in np.unique(origins["host"]).tolist():
            own = origins["host"] == host
            _claim_periods(state, known[old][own].astype(np.int64), periods[own], host)
    _announce(state, now, known[old].astype(np.int64), column_of(command.modified, len(urls))[old], publisher)
    if command.cluster and believed:
        _gather(state, pages[pages >= 0].astype(np.int64))


def _announce(state: ShardState, now: float, pages: Pages, modified: Vector, publisher: str) -> None:
    """Reads pages before their time that a publisher says are there or have changed; `modified`: when, 0 if it does not
    say.

    Of one that is not believed a few are read all the same, so that it can win its credit back.
    """
    read_at = state.refreshing.book.read_times(pages)
    news = ~((modified > 0) & (modified <= read_at)) & (
        modified <= now + 86_400.0
    )  # what we have is new enough; or the date is nonsense
    pages = pages[news]
    if not state.requests.publishers.is_believed(publisher):
        pages = pages[pages % PROBATION == 0]
    if len(pages):
        weight = state.requests.publishers.weight(publisher, len(pages))
        state.requests.publishers.announce(publisher, pages.tolist())
        promote(state, pages, weight)


def _claim_periods(state: ShardState, pages: Pages, periods: Vector, host: int) -> None:
    """Takes published frequencies as evidence on pages of which nothing else is known yet: the same word counts
    once.
    """
    said = (periods > 0) & state.refreshing.book.is_unclaimed(pages)
    if said.any():
        state.refreshing.book.claim(
            pages[said], periods[said], np.full(int(said.sum()), weight(state.hosts[host].claims))
        )


def _gather(state: ShardState, pages: Pages) -> None:
    """Gives the pages of a cluster one key, that of its most important one, so that they are read one after the
    other.
    """
    if len(pages):
        state.placement.frontier.update_worth(pages, np.full(len(pages), state.ledger.importance(pages).max()))
