"""How hosts are treated: when each may be asked again after a visit, and which of them share an address that must be
spared.
"""

import dataclasses
from collections.abc import Sequence

from centime.fetch.politeness import PolitenessSettings, address_delay, after
from centime.frontier.frontier import Frontier
from centime.model.outcome import Outcome
from centime.settings.crawl import CrawlSettings
from centime.shard.host_table import Hosts
from centime.shard.message import Visit

ON_ITS_WAY_SECONDS = 1.0  # the last request of a dead fetcher may reach its host so late


class HostPoliteness:
    """The treatment of all hosts under some settings."""

    def __init__(self, settings: CrawlSettings) -> None:
        self.lanes: dict[
            int, int
        ] = {}  # of hosts whose address must be spared; not part of the state: any division is right
        self.configure(settings)

    def configure(self, settings: CrawlSettings) -> None:
        """Goes on with other settings."""
        self._delay = settings.delay
        self._politeness = PolitenessSettings(delay_seconds=settings.delay)
        self._fetching = settings.fetch_settings()

    def next_times(self, hosts: Hosts, visits: Sequence[Visit], numbers: Sequence[int]) -> list[float]:
        """When the host of each visit may be asked again, now that this came of asking it."""
        return [self._next_time(hosts, visit, number) for visit, number in zip(visits, numbers, strict=True)]

    def _next_time(self, hosts: Hosts, visit: Visit, number: int) -> float:
        host = hosts[number]
        pause = host.politeness.blocked_until
        host.politeness, host.next_time = after(host.politeness, visit, self._politeness)
        if (
            visit.asked_at <= pause > host.next_time
        ):  # it was asked before the host asked to be left alone: that still holds
            host.politeness = dataclasses.replace(host.politeness, blocked_until=pause)
            host.next_time = pause
        return host.next_time

    def file(self, hosts: Hosts, frontier: Frontier, now: float, visit: Visit, number: int) -> None:
        """Counts what came of a visit for its host, and spares its address."""
        host, outcome = hosts[number], visit.outcome
        if visit.address:
            if host.address != visit.address and address_delay(visit.address, self._fetching):
                frontier.set_address(number, hosts.address_number(visit.address))
                self.lanes[number] = hosts.address_number(visit.address)
            self._spare_address(hosts, frontier, visit.address, max(now, visit.asked_at))
            host.address = visit.address
        host.visits += outcome is not Outcome.LOST
        host.read += outcome.present
        host.wire_bytes += visit.wire_bytes
        host.refused += outcome is Outcome.DISALLOWED
        if outcome.transient:
            host.failures += 1
            host.trouble = f"{outcome.name.lower().replace('_', ' ')}: {visit.detail}".removesuffix(": ")

    def leave_alone(self, hosts: Hosts, frontier: Frontier, now: float, number: int) -> None:
        """Spares a host of which nobody can say when it was asked: maybe a moment ago."""
        host = hosts[number]
        delay = max(self._delay, host.politeness.crawl_delay)
        host.next_time = max(host.next_time, now + delay + (ON_ITS_WAY_SECONDS if delay else 0.0))
        self._spare_address(hosts, frontier, host.address, now)

    def _spare_address(self, hosts: Hosts, frontier: Frontier, address: str, since: float) -> None:
        pause = address_delay(address, self._fetching) if address else 0.0
        if pause:
            frontier.delay_address(hosts.address_number(address), since + pause)
