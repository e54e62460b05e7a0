"""The log events of a run of a crawl (`processes/log.py` writes them): its beginning and end, figures, orders,
troubles, visits.

| level | events |
|---|---|
| warning | an order was refused, a fetcher died, a subscriber cannot be notified, a note about visits |
| info | a run began or ended, an order was carried out, a subscriber is notified again, figures every minute |
| debug | every visit |

Python programs get the same events from the logger `centime.crawl`.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from centime.crawl.commands.order_log import order_facts
from centime.shard.message import Visit
from centime.shard.people.command import Command

if TYPE_CHECKING:
    from centime.crawl.engine.loop import Engine
    from centime.crawl.notify.delivery import Trouble

FIGURES_SECONDS = 60.0
FIGURES = ("known", "read", "visits", "hosts", "frontier", "leased", "wire_bytes", "errors", "certified_error")

_log = logging.getLogger("centime.crawl")
_log.addHandler(logging.NullHandler())  # without a log file, warnings would go to standard error


class RunLog:
    """The log of one run."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._next = 0.0
        self._before = (0.0, 0, 0)  # when the last figures were logged: time, visits, bytes
        self._notes = 0
        self._troubled: dict[str, str] = {}

    def began(self, now: float) -> None:
        """A run began."""
        self._next = now + FIGURES_SECONDS
        self._before = (now, self._engine.run_facts.visits, self._engine.run_facts.wire_bytes)
        self._say(logging.INFO, "run began", {"known": self._engine.shard.pages.count})

    def ended(self, now: float) -> None:
        """A run has ended."""
        run = self._engine.run_facts
        facts = {"reason": run.ending, "seconds": now - run.started, "visits_now": run.visits}
        self._say(logging.INFO, "run ended", facts | self._figures(now))

    def look(self, now: float, troubles: Mapping[str, "Trouble"]) -> None:
        """Logs figures if it is time, and what has changed since the last look."""
        for note in self._engine.run_facts.notes[self._notes :]:
            self._notes += 1
            self._say(logging.WARNING, "note", {"about": note})
        self._look_at(troubles)
        if now >= self._next and _log.isEnabledFor(logging.INFO):
            self._next = now + FIGURES_SECONDS
            self._say(logging.INFO, "figures", self._figures(now) | self._pace(now))

    def visited(self, visits: Sequence[Visit]) -> None:
        """Visits were recorded."""
        if not _log.isEnabledFor(logging.DEBUG):
            return
        texts = self._engine.shard.pages.texts
        for visit in visits:
            facts: dict[str, Any] = {
                "url": texts.get(visit.page),
                "outcome": visit.outcome.name.lower(),
                "status": visit.status,
                "bytes": visit.wire_bytes,
                "seconds": visit.seconds,
            }
            self._say(logging.DEBUG, "visit", facts | ({"detail": visit.detail} if visit.detail else {}))

    def lost(self, pages: int) -> None:
        """A fetcher died."""
        self._say(logging.WARNING, "a fetcher died; another one was started", {"pages_returned": pages})

    def ordered(self, orders: Iterable[tuple[Command, str]], now: float) -> None:
        """Commands were carried out, or refused for a reason."""
        for command, reason in orders:
            facts = order_facts(command, now, reason)
            level, event = (logging.WARNING, "command refused") if reason else (logging.INFO, "command applied")
            self._say(
                level, event, {name: facts[name] for name in ("command", "detail", "by", "trouble") if facts[name]}
            )

    def _look_at(self, troubles: Mapping[str, "Trouble"]) -> None:
        now = {name: trouble.reason for name, trouble in troubles.items()}
        if now == self._troubled:
            return
        for name, reason in now.items():
            if self._troubled.get(name) != reason:
                self._say(logging.WARNING, "a subscriber cannot be notified", {"subscription": name, "reason": reason})
        for name in self._troubled.keys() - now.keys():
            self._say(logging.INFO, "a subscriber is notified again", {"subscription": name})
        self._troubled = now

    def _pace(self, now: float) -> dict[str, float]:
        """Pages and bytes per second since the last figures."""
        run, (since, visits, sent) = self._engine.run_facts, self._before
        self._before = (now, run.visits, run.wire_bytes)
        passed = max(1e-9, now - since)
        return {
            "pages_per_second": (run.visits - visits) / passed,
            "bytes_per_second": (run.wire_bytes - sent) / passed,
        }

    def _figures(self, now: float) -> dict[str, Any]:
        found = self._engine.opened.statistics(now)
        return {name: sum(found[name].values()) if name == "errors" else found[name] for name in FIGURES}

    def _say(self, level: int, event: str, facts: Mapping[str, Any]) -> None:
        if _log.isEnabledFor(level):
            folder = str(self._engine.opened.folder.path)
            _log.log(level, event, extra={"facts": {"crawl": folder, **facts}})
