"""The live view of a crawl: a panel that is redrawn on a terminal, or a line every few seconds elsewhere.

The engine calls `show` when it has time. The view has no thread, because the crawl forks.
"""

import time
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from centime.cli.visible import say, visible

LINE_SECONDS = 5.0
LEISURE = 20  # the view takes at most a twentieth of the time
TOP = 8


class Running(Protocol):
    """A crawl that runs."""

    def statistics(self, now: float) -> dict[str, Any]:
        """Its figures."""
        ...

    def top(self, count: int) -> list[dict[str, Any]]:
        """Its most important pages."""
        ...


class CrawlView:
    """Shows the progress of a crawl on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True)
        self._quiet = quiet
        self._live: Live | None = None
        self._started = time.monotonic()
        self._line_at = 0.0
        self._next = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the view was made."""
        return time.monotonic() - self._started

    def __enter__(self) -> "CrawlView":
        if not self._quiet and self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, crawl: Running, now: float) -> None:
        """Draws the current state of the crawl, unless it was drawn a moment ago."""
        if self._quiet:
            return
        if self._live is None:
            if self.seconds - self._line_at >= LINE_SECONDS:
                self._line_at = self.seconds
                say(_line(crawl.statistics(now)))
            return
        if self.seconds < self._next:
            return
        started = self.seconds
        # The certified error must belong to the importance beside it: both are computed now, from all pages.
        self._live.update(_panel(crawl.statistics(now), crawl.top(TOP)), refresh=True)
        self._next = self.seconds + LEISURE * (self.seconds - started)


def _line(facts: dict[str, Any]) -> str:
    error = facts["certified_error"]
    certified = "" if error is None else f", certified error {error:.2g}"
    return (
        f"{facts['seconds']:.0f} s: {facts['visits']} visits ({facts['pages_per_second']:.0f}/s), "
        f"{facts['known']} known, {facts['read']} read, {facts['hosts']} hosts, "
        f"{facts['wire_bytes'] / 1e6:.1f} MB{certified}{_bounded(facts)}"
    )


def _bounded(facts: dict[str, Any]) -> str:
    """What the bounds of the crawl exclude, for the end of a line; empty while the crawl is far below them."""
    refused = facts["refused"].get("most-pages", 0)
    if facts["admitted"] == "all URLs" and not refused and not facts["pages_dropped"]:
        return ""
    dropped = f", {facts['pages_dropped']} dropped" if facts["pages_dropped"] else ""
    return f"; near {facts['most_pages']} pages: admits {facts['admitted']}, {refused} refused{dropped}"


def _panel(facts: dict[str, Any], top: list[dict[str, Any]]) -> Group:
    grid = Table.grid(padding=(0, 2))
    error = facts["certified_error"]
    grid.add_row(
        "pages",
        f"{facts['pages_per_second']:.0f}/s",
        "bytes",
        f"{facts['bytes_per_second'] / 1e6:.2f} MB/s, {facts['wire_bytes'] / 1e6:.1f} MB",
    )
    grid.add_row("known", f"{facts['known']:,}", "read", f"{facts['read']:,} ({facts['fresh']:,} fresh)")
    grid.add_row(
        "hosts",
        f"{facts['hosts']:,}",
        "waiting",
        f"{facts['frontier']:,}, {facts['leased']} being read",
    )
    grid.add_row("errors", ", ".join(f"{name} {count}" for name, count in facts["errors"].items()) or "none", "", "")
    if near := _bounded(facts).removeprefix("; "):
        grid.add_row("bound", near, "", "")
    grid.add_row(
        "error",
        "-" if error is None else f"importance is certified to {error:.2g}",
        "time",
        f"{facts['seconds']:.0f} s (Ctrl-C)",
    )
    best = Table(box=None, padding=(0, 2, 0, 0))
    best.add_column("importance", justify="right")
    best.add_column("page", overflow="ellipsis", no_wrap=True)
    for row in top:
        best.add_row(f"{row['importance']:.3g}", Text(visible(str(row["url"]))))
    return Group(grid, "", best)
