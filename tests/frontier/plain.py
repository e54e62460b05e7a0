"""The frontier in plain Python: dicts, sorted() and nothing clever. The tests compare the real one with it."""

import math
from fractions import Fraction

Page = tuple[int, int, float]  # host, kind, key


class PlainFrontier:
    def __init__(self, leases_per_host: int, shares: tuple[float, ...]) -> None:
        self.leases_per_host = leases_per_host
        self.shares = [Fraction(0)] * 4
        self.credits = [Fraction(0)] * 4
        self.set_shares(shares)
        self.inside: dict[int, Page] = {}
        self.next_times: dict[int, float] = {}
        self.outstanding: dict[int, int] = {}
        self.blocked: set[int] = set()
        self.group_of: dict[int, int] = {}
        self.group_times: dict[int, float] = {}
        self.standings: dict[int, int] = {}
        self.domains: dict[int, int] = {}

    def set_shares(self, shares: tuple[float, ...]) -> None:
        for level, share in enumerate(Fraction(round(share * 1_000_000), 1_000_000) for share in shares):
            if share != self.shares[level]:
                self.shares[level], self.credits[level] = share, 1 - share

    def ready_time(self, host: int) -> float:
        group = self.group_times.get(self.group_of.get(host, -1), -math.inf)
        return max(self.next_times.get(host, -math.inf), group)

    def may_lease(self, host: int) -> bool:
        return host not in self.blocked and self.outstanding.get(host, 0) < self.leases_per_host

    def ready_pages(self, now: float) -> list[int]:
        return [
            page for page, (host, _, _) in self.inside.items() if self.may_lease(host) and self.ready_time(host) <= now
        ]

    def earliest(self, now: float) -> float:
        times = [self.ready_time(host) for host, _, _ in self.inside.values() if self.may_lease(host)]
        return max(min(times, default=math.inf), now)

    def choose_level(self, levels: list[int], refresh_first: bool | None) -> int:
        if refresh_first is not None:  # levels 4 and 5 are one
            levels = [level for level in levels if level != (5 if refresh_first else 4)]
        for level in levels[:-1]:
            self.credits[level - 1] += self.shares[level - 1]
            if self.credits[level - 1] >= 1:
                self.credits[level - 1] -= 1
                return level
        return levels[-1]

    def lease_one(self, now: float, offsets: list[float], discovery: float) -> int | None:
        ready = self.ready_pages(now)
        levels = sorted({self.inside[page][1] // 128 for page in ready})
        if not levels:
            return None
        refresh_first = None
        if discovery and {4, 5} <= set(levels):
            most = {
                level: max(self.importance(page, offsets) for page in ready if self.inside[page][1] // 128 == level)
                for level in (4, 5)
            }
            refresh_first = most[4] >= discovery * most[5]
        level = self.choose_level(levels, refresh_first)
        firsts: dict[int, int] = {}
        for page in sorted(ready, key=lambda page: (-self.inside[page][2], page)):
            if self.inside[page][1] // 128 == level:
                firsts.setdefault(self.inside[page][1], page)
        best = min(firsts.values(), key=lambda page: (-self.importance(page, offsets), page))
        # the guarantee itself, once more without the tie rules
        assert all(
            self.importance(page, offsets) <= self.importance(best, offsets)
            for page in ready
            if self.inside[page][1] // 128 == level
        )
        host = self.inside.pop(best)[0]
        self.outstanding[host] = self.outstanding.get(host, 0) + 1
        return best

    def leases(self, standing: int, place: dict[int, int] | None = None, number: int = -1) -> int:
        """Leases in flight of a standing; only of one domain or address, if one is given."""
        return sum(
            count
            for host, count in self.outstanding.items()
            if self.standings.get(host, 0) == standing and (place is None or place.get(host, -1) == number)
        )

    def is_full(self, host: int, most: int) -> bool:
        """Whether the domain or the address of a host has as many leases of its standing as it may."""
        return any(
            place.get(host, -1) >= 0 and self.leases(self.standings.get(host, 0), place, place[host]) >= most
            for place in (self.domains, self.group_of)
        )

    def importance(self, page: int, offsets: list[float]) -> float:
        _, kind, key = self.inside[page]
        return key + offsets[kind % 128] if kind // 128 == 5 else key

    def best(self, count: int, offsets: list[float]) -> list[int]:
        def sort_key(page: int) -> tuple[int, float, float, int]:
            _, kind, key = self.inside[page]
            return kind // 128, -self.importance(page, offsets), -key, page

        return sorted(self.inside, key=sort_key)[:count]
