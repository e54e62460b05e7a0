"""The politeness of a shard: when each host can be fetched from again, which hosts share an address with a delay, and
the standing of each host (`frontier/standing.py`).

`fetch/politeness.py` has the rule; this module applies it to visits and stores its results in the hosts.
"""

import dataclasses
from collections.abc import Sequence

from centime.fetch.politeness import UNREACHED, PolitenessSettings, address_delay, after
from centime.frontier.frontier import Frontier
from centime.frontier.standing import ANSWERING, FAILING, NEW, UNCHANGED
from centime.model.ids import HostId
from centime.model.outcome import Outcome
from centime.settings.crawl import CrawlSettings
from centime.shard.host_table import Host, Hosts
from centime.shard.message import LIE, TRUE, Visit

ON_ITS_WAY_SECONDS = 1.0  # the last request of a dead fetcher can reach its host this late
FIRST_PATIENCE_SECONDS = 5.0  # for a host that never answered; doubled with each failure
MOST_DOUBLINGS = 3  # then as long as for any other host
DOUBTED_EVERY, LIAR_VISITS = 32, 16
PROMPT_SECONDS = 5.0  # a host that keeps a fetcher waiting for longer takes slots that others need


def standing_after(visit: Visit) -> int:
    """The standing of a host after a visit."""
    if not visit.asked_at or visit.outcome is Outcome.LOST:  # the host was not contacted
        return UNCHANGED
    return FAILING if visit.outcome in UNREACHED or visit.held > PROMPT_SECONDS else ANSWERING


def patience_with(host: Host) -> float:
    """How many seconds to wait for a connection to a host and for its answer; 0 for as long as the settings say."""
    failures = host.politeness.failures
    if (host.politeness.latency and not failures) or failures > MOST_DOUBLINGS:
        return 0.0
    return FIRST_PATIENCE_SECONDS * float(1 << failures)


def doubts(host: Host) -> bool:
    """Whether the next 304 of a host is checked: the first, second, fourth ... and every 32nd; for a host that lied,
    conditional requests are made only for this check, at one in 16 visits.
    """
    if host.lies:
        return host.visits % LIAR_VISITS == 0
    following = host.unmodified + 1
    return following & (following - 1) == 0 or following % DOUBTED_EVERY == 0


def standing_of(host: Host) -> int:
    """The standing of a host from a snapshot of an older version, which stored none."""
    return (FAILING if host.politeness.failures else ANSWERING) if host.visits else NEW


class HostPoliteness:
    """The politeness of all hosts under some settings."""

    def __init__(self, settings: CrawlSettings) -> None:
        # host -> address, of hosts whose address has a delay; not part of the state, because any assignment of pages
        # to fetchers is right
        self.lanes: dict[HostId, int] = {}
        self.configure(settings)

    def configure(self, settings: CrawlSettings) -> None:
        """Applies new settings."""
        self._delay = settings.delay
        self._politeness = PolitenessSettings(delay_seconds=settings.delay)
        self._fetching = settings.fetch_settings()

    def next_times(self, hosts: Hosts, visits: Sequence[Visit], numbers: Sequence[HostId]) -> list[float]:
        """When the host of each visit can be fetched from again; updates the politeness of the hosts."""
        return [self._next_time(hosts, visit, number) for visit, number in zip(visits, numbers, strict=True)]

    def _next_time(self, hosts: Hosts, visit: Visit, number: HostId) -> float:
        host = hosts[number]
        pause = host.politeness.blocked_until
        host.politeness, host.next_time = after(host.politeness, visit, self._politeness)
        if visit.asked_at <= pause > host.next_time:  # a request sent before the pause began does not end the pause
            host.politeness = dataclasses.replace(host.politeness, blocked_until=pause)
            host.next_time = pause
        return host.next_time

    def file(self, hosts: Hosts, frontier: Frontier, now: float, visit: Visit, number: HostId) -> None:
        """Adds a visit to the counters of its host, and delays the next fetch from its address."""
        host, outcome = hosts[number], visit.outcome
        if visit.address:
            if host.address != visit.address and address_delay(visit.address, self._fetching):
                frontier.set_address(number, hosts.address_number(visit.address))
                self.lanes[number] = hosts.address_number(visit.address)
            self._delay_address(hosts, frontier, visit.address, max(now, visit.asked_at))
            host.address = visit.address
        for name, asked_at in visit.elsewhere:
            other = hosts.find(name)
            if other is not None:
                delay = max(self._delay, hosts[other].politeness.crawl_delay)
                hosts[other].next_time = max(hosts[other].next_time, asked_at + delay)
                frontier.delay(other, hosts[other].next_time)
        host.visits += outcome is not Outcome.LOST
        host.unmodified += outcome is Outcome.UNCHANGED or visit.doubted == LIE
        host.lies = host.lies + 1 if visit.doubted == LIE else max(0, host.lies - (visit.doubted == TRUE))
        host.read += outcome.present
        host.wire_bytes += visit.wire_bytes
        host.refused += outcome is Outcome.DISALLOWED
        if outcome.transient and outcome is not Outcome.LOST:
            host.failures += 1
            host.trouble = f"{outcome.name.lower().replace('_', ' ')}: {visit.detail}".removesuffix(": ")

    def delay_after_loss(self, hosts: Hosts, frontier: Frontier, now: float, number: HostId) -> None:
        """Delays a host whose lease ended without a visit: its fetcher may have sent a request just before it died."""
        host = hosts[number]
        delay = max(self._delay, host.politeness.crawl_delay)
        host.next_time = max(host.next_time, now + delay + (ON_ITS_WAY_SECONDS if delay else 0.0))
        self._delay_address(hosts, frontier, host.address, now)

    def _delay_address(self, hosts: Hosts, frontier: Frontier, address: str, since: float) -> None:
        pause = address_delay(address, self._fetching) if address else 0.0
        if pause:
            frontier.delay_address(hosts.address_number(address), since + pause)
