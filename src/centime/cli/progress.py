"""A progress bar for work that may take more than a second.

    with progress(visits, "visiting") as step:
        for batch in batches:
            step(ledger.visit_many(batch))

The bar is on standard error. It appears after a second, only on a terminal, and disappears at the end.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

from centime.cli.visible import visible

PATIENCE_SECONDS = 1.0


class Step(Protocol):
    """Takes the work done since the last call and, if it changed, a description of the current work."""

    def __call__(self, done: float, what: str | None = None, /) -> None:
        """Advances the bar."""
        ...


@contextmanager
def progress(total: float, what: str, *, quiet: bool = False) -> Iterator[Step]:
    """Yields a function that advances a bar towards `total`; `quiet` shows no bar (for `--json`)."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, what=None, /: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(visible(what), total=total)
    # A timer instead of a check in each step: a single long step must show the bar too.
    patience = Timer(PATIENCE_SECONDS, bar.start)
    patience.daemon = True
    patience.start()
    try:
        yield lambda done, what=None, /: bar.update(
            task, advance=done, description=None if what is None else visible(what)
        )
    finally:
        patience.cancel()
        patience.join()
        bar.stop()
