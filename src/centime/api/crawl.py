"""`centime.Crawl`: a crawl run by a Python program, step by step, to its end, in a thread or in an asyncio program.

    with Crawl("museum", "https://museum.example/", delay=2, on_page=save) as crawl:
        crawl.run(pages=1000)

Settings are those of `centime crawl`, as keywords with underscores; they are remembered in the folder. No signal
handler is installed: Ctrl-C raises KeyboardInterrupt in the program, the `with` block ends the crawl in good order, and
the next `Crawl` of the folder continues. `stop` may be called from any thread.

Trap: a crawl belongs to one thread at a time. Its processes end with the thread that started them, so `run_async` keeps
a thread of its own.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from centime.api.reader import Reader
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.memory import tree_memory, tree_memory_above
from centime.crawl.engine.opening import open_writer
from centime.crawl.worker.hook import FetchedPage, Hook, name_of
from centime.settings.units import seconds as seconds_of

__all__ = ["Crawl", "FetchedPage"]


class Crawl:
    """A crawl in a folder, created if it is not there. InUse: another process runs it."""

    def __init__(
        self,
        folder: str | Path,
        seeds: str | Iterable[str] = (),
        *,
        on_page: Hook | str | None = None,
        trust_folder: bool = False,
        **settings: Any,
    ) -> None:
        """`on_page`: a function at the top level of a module, or its name "module:function". Fetcher processes call it
        with a `FetchedPage` for every page that was read. `trust_folder` lets subscriptions of a folder from elsewhere
        run programs and write files.
        """
        self.folder = Path(folder)
        hook = "" if on_page is None else name_of(on_page)
        words = [seeds] if isinstance(seeds, str) else list(seeds)
        given = {name.replace("_", "-"): value for name, value in settings.items() if value is not None}
        before = tree_memory() or 0  # of the program, which is not the crawl's
        self._stack = ExitStack()
        self._writer = self._stack.enter_context(
            open_writer(self.folder, words, given, where="keywords", trust=trust_folder)
        )
        self._engine = Engine(self._writer, on_page=hook, measure=partial(tree_memory_above, before))
        self._closed = False

    def step(self, timeout: float = 0.5) -> bool:
        """One turn: hands pages to the fetchers and records visits, waiting up to `timeout` seconds for them.

        False when the crawl has come to its end: nothing is left to read, or `stop` was called.
        """
        return self._engine.step(timeout)

    def run(
        self,
        until: Callable[["Crawl"], bool] | None = None,
        *,
        pages: int | None = None,
        seconds: float | str | None = None,
    ) -> str:
        """Crawls until nothing is left, `until` returns True (it is called after each turn), or a limit is reached:
        `pages` fetched or `seconds` passed ("90", "2h") in this call. Returns the reason in words.

        The crawl stays open: call `run` or `step` again, or `close`.
        """
        run = self._engine.run_facts
        fetched, started = run.visits, self._engine.now()
        self._engine.limits = Limits(
            pages=None if pages is None else fetched + pages,
            seconds=None if seconds is None else started - run.started + _seconds(seconds),
        )
        while self._engine.step():
            if until is not None and until(self):
                return "until"
        return run.ending

    async def run_async(self, until: Callable[["Crawl"], bool] | None = None, **limits: Any) -> str:
        """`run` for asyncio programs: works in a thread of its own and leaves the event loop free.

        Cancelling the task stops the crawl after its turn.
        """
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="centime-crawl") as thread:
            work = loop.run_in_executor(thread, lambda: self._run_and_leave(until, limits))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                self.stop()
                await work
                raise

    def stop(self) -> None:
        """Ends `run`, or makes the next `step` return False; callable from any thread and from signal handlers."""
        self._engine.stop()

    @property
    def ending(self) -> str:
        """Why the last `run` or `step` ended, in words; "" while there is more to do."""
        return self._engine.run_facts.ending

    @property
    def fetched(self) -> int:
        """Requests answered since this object was made."""
        return self._engine.run_facts.visits

    @property
    def hook_failures(self) -> int:
        """The number of pages for which `on_page` raised; `centime page DIR URL` shows what it raised."""
        return self._engine.run_facts.hook_failures

    def statistics(self) -> dict[str, Any]:
        """The figures of the crawl, as `centime stats` begins with them, and its pace."""
        return self._engine.statistics(self._engine.now())

    def top(self, count: int = 10) -> list[dict[str, Any]]:
        """The most important pages: importance and URL."""
        return self._writer.top(count)

    def reader(self) -> Reader:
        """A reader of this crawl, as of now."""
        self._writer.shard.journal.flush()
        return Reader(self.folder)

    def close(self) -> None:
        """Waits for pages under way, writes a snapshot and closes the folder."""
        if not self._closed:
            self._closed = True
            with self._stack:
                self._engine.finish()

    def __enter__(self) -> "Crawl":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._engine.stop()
        self.close()

    def _run_and_leave(self, until: Callable[["Crawl"], bool] | None, limits: dict[str, Any]) -> str:
        """Runs, and ends the fetchers, which would die with this thread; the next call starts others."""
        try:
            return self.run(until, **limits)
        finally:
            self._engine.pause()


def _seconds(value: float | str) -> float:
    return seconds_of(value) if isinstance(value, str) else float(value)
