"""Computes when a host is ready to fetch again, from the outcome of the last request; pure, time is an argument.

With d = max(delay_seconds, crawl_delay), L the smoothed latency and f the failures in a row (this one included), the
next request starts no earlier than `asked_at` plus

    answered                 max(d, min(latency_factor L, most_delay))        the adaptive part is 0 if delay_seconds is
    server error, nonsense   max(of the above, min(B, most_delay))            B = 2 max(d, 1) 2^(f-1)
    busy                     max(d, Retry-After), without one max(d, min(B, most_back_off))
    disallowed               0 if robots.txt was known, so that no request was sent
    not reached              max(d, Retry-After, min(B, most_back_off)); from most_failures on, block_seconds

Guarantees: never earlier than d after the answer; more failures never shorten the wait; one answer ends the back-off;
after a block the host gets one try, which blocks it again if it fails. Only a host that is not reached is blocked: a
host that answers, even only that it is busy, is alive.
"""

from dataclasses import dataclass
from typing import Protocol

from centime.fetch.guard import is_loopback
from centime.fetch.settings import FetchSettings
from centime.model.errors import BadSetting
from centime.model.outcome import Outcome

_ADDRESS_DELAY = 0.1  # seconds
_SMOOTHING = 0.3  # weight of the latest latency
_LEAST_BACK_OFF = 1.0  # seconds, for a crawl without delay
_TROUBLED = frozenset({Outcome.SERVER_ERROR, Outcome.BAD_RESPONSE})
UNREACHED = frozenset(
    {
        Outcome.NO_ROBOTS,
        Outcome.NO_ADDRESS,
        Outcome.REFUSED_ADDRESS,
        Outcome.NO_CONNECTION,
        Outcome.BAD_TLS,
        Outcome.TIMED_OUT,
    }
)
_UNASKED = frozenset({Outcome.DISALLOWED, Outcome.EXCLUDED, Outcome.LOST})  # no information about the server


@dataclass(frozen=True, slots=True, kw_only=True)
class PolitenessSettings:
    """How long hosts are left alone between requests."""

    delay_seconds: float = 1.0
    latency_factor: float = 1.0
    most_delay_seconds: float = 60.0
    most_back_off_seconds: float = 3600.0
    most_failures: int = 10
    block_seconds: float = 24 * 3600.0

    def __post_init__(self) -> None:
        """Rejects values with which more failures could shorten the wait."""
        if not 0 <= self.delay_seconds < float("inf") or not 0 <= self.latency_factor < float("inf"):
            raise BadSetting("delay_seconds and latency_factor must be numbers from 0")
        if not 0 < self.most_delay_seconds <= self.most_back_off_seconds <= self.block_seconds < float("inf"):
            raise BadSetting(
                "most_delay_seconds, most_back_off_seconds and block_seconds must be above 0 and in this order"
            )
        if self.most_failures < 1:
            raise BadSetting(f"most_failures must be at least 1, not {self.most_failures}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """The state of a host between two requests."""

    latency: float = 0.0  # seconds, smoothed; 0 before the first answer
    failures: int = 0  # in a row
    blocked_until: float = 0.0  # end of a back-off or block; 0 without one
    crawl_delay: float = 0.0


class Seen(Protocol):
    """The fields of a response that politeness needs."""

    @property
    def outcome(self) -> Outcome:
        """How the visit ended."""

    @property
    def asked_at(self) -> float:
        """When the answer came, or the attempt was given up; 0 if no request was sent."""

    @property
    def seconds(self) -> float:
        """The latency of the answer."""

    @property
    def retry_after(self) -> float:
        """The seconds of Retry-After."""

    @property
    def crawl_delay(self) -> float:
        """The Crawl-delay of robots.txt."""


def after(state: HostState, seen: Seen, settings: PolitenessSettings) -> tuple[HostState, float]:
    """The host's new state, and the time from which it is ready to fetch again."""
    outcome = seen.outcome
    if outcome in (Outcome.DISALLOWED, Outcome.EXCLUDED) and not seen.asked_at:
        return state, state.blocked_until
    crawl_delay = state.crawl_delay if outcome in UNREACHED or outcome is Outcome.LOST else seen.crawl_delay
    delay = max(settings.delay_seconds, crawl_delay)
    if outcome in _UNASKED:
        kept = HostState(
            latency=state.latency, failures=state.failures, blocked_until=state.blocked_until, crawl_delay=crawl_delay
        )
        return kept, max(seen.asked_at + delay, state.blocked_until)
    failed = outcome in UNREACHED or outcome in _TROUBLED or outcome is Outcome.BUSY
    failures = state.failures + 1 if failed else 0
    latency = state.latency if outcome in UNREACHED else _smooth(state.latency, seen.seconds)
    wait = max(
        delay, min(settings.latency_factor * latency, settings.most_delay_seconds) if settings.delay_seconds else 0.0
    )
    if failed:
        wait = max(wait, _back_off(outcome, failures, delay, seen.retry_after, settings))
    until = seen.asked_at + wait
    return HostState(
        latency=latency, failures=failures, blocked_until=until if failed else 0.0, crawl_delay=crawl_delay
    ), until


def address_delay(address: str, settings: FetchSettings) -> float:
    """The least time between two requests to an address, whatever the hosts; by default none for this machine."""
    if settings.address_delay_seconds is not None:
        return settings.address_delay_seconds
    return 0.0 if is_loopback(address) else _ADDRESS_DELAY


def _smooth(latency: float, seconds: float) -> float:
    return latency + _SMOOTHING * (seconds - latency) if latency else seconds


def _back_off(outcome: Outcome, failures: int, delay: float, retry_after: float, settings: PolitenessSettings) -> float:
    growing = 2 * max(delay, _LEAST_BACK_OFF) * 2.0 ** min(failures - 1, 40)
    if outcome in _TROUBLED:
        return max(retry_after, min(growing, settings.most_delay_seconds))
    growing = min(growing, settings.most_back_off_seconds)
    if outcome is Outcome.BUSY:
        return retry_after or growing
    return max(retry_after, settings.block_seconds if failures >= settings.most_failures else growing)
