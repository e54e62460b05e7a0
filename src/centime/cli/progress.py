"""A progress bar for work that may take more than a second.

    with progress(visits, "visiting") as step:
        for batch in batches:
            step(ledger.visit_many(batch))

The bar is on standard error, appears after a second, only on a terminal, and vanishes at the end.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

PATIENCE_SECONDS = 1.0


class Step(Protocol):
    """To be called with how much more is done and, if that has changed, with what is being done."""

    def __call__(self, done: float, what: str | None = None, /) -> None:
        """Takes notice."""
        ...


@contextmanager
def progress(total: float, what: str, *, quiet: bool = False) -> Iterator[Step]:
    """A function to call with how much more of `total` is done; `quiet` shows nothing (for `--json`)."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, what=None, /: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what, total=total)
    # A timer, not a look at the clock in each step: one long step must show the bar too.
    patience = Timer(PATIENCE_SECONDS, bar.start)
    patience.daemon = True
    patience.start()
    try:
        yield lambda done, what=None, /: bar.update(task, advance=done, description=what)
    finally:
        patience.cancel()
        patience.join()
        bar.stop()
