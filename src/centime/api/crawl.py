"""`centime.Crawl`: a crawl run by a Python program, step by step, to its end, in a thread or in an asyncio program.

    with Crawl("museum", "https://museum.example/", delay=2, on_page=save) as crawl:
        crawl.run(pages=1000)

Settings are those of `centime crawl`, as keywords with underscores; they are remembered in the folder. No signal
handler is installed: Ctrl-C raises KeyboardInterrupt in the program, the `with` block ends the crawl cleanly, and
the next `Crawl` of the folder continues. `stop` may be called from any thread.

One call at a time works on the crawl: `_alone` owns this rule. `run`, `run_async` and `step` raise InUse while another
of them is running, and `close` stops it and waits for its end.

Trap: the processes of a crawl end with the thread that started them, so `run_async` keeps a thread of its own.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from centime.api.arguments import folder_path, opened_in, real_number, seed_words
from centime.api.reader import Reader
from centime.crawl.engine.loop import STOPPED, Engine, Limits
from centime.crawl.engine.memory import tree_memory, tree_memory_above
from centime.crawl.engine.opening import open_writer
from centime.crawl.imports.importing import Importer
from centime.crawl.report.statistics import ended_in_words
from centime.crawl.search.indexer import indexing
from centime.crawl.worker.hook import FetchedPage, Hook, name_of
from centime.model.counts import whole_number
from centime.model.errors import BadInput, InUse
from centime.settings.crawl import Keep
from centime.settings.units import seconds as seconds_of

__all__ = ["Crawl", "FetchedPage"]


class Crawl:
    """A crawl in a folder, created if it is not there. InUse: another process runs it."""

    def __init__(
        self,
        folder: str | PathLike[str],
        seeds: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        *,
        on_page: Hook | str | None = None,
        trust_folder: bool = False,
        **settings: Any,
    ) -> None:
        """`seeds`: words as `centime crawl` takes them, or paths of files of them. `on_page`: a function at the top
        level of a module, or its name "module:function". Fetcher processes call it with a `FetchedPage` for every page
        that was read. `trust_folder` lets subscriptions of a foreign folder run programs and write files.
        """
        self.folder = folder_path(folder)
        self._process = os.getpid()
        hook = "" if on_page is None else name_of(on_page)
        words = seed_words(seeds)
        given = {name.replace("_", "-"): value for name, value in settings.items() if value is not None}
        before = tree_memory() or 0  # memory of the program itself, which the crawl does not count
        self._stack = ExitStack()
        with opened_in(self.folder):
            self._writer = self._stack.enter_context(
                open_writer(self.folder, words, given, where="keywords", trust=trust_folder)
            )
            self._indexer = self._stack.enter_context(
                indexing(self.folder, self._writer.settings, lambda: self._hurried)
            )
        self._engine = Engine(self._writer, on_page=hook, measure=partial(tree_memory_above, before))
        self._closed = self._stopped = self._hurried = False
        self._lock = threading.Lock()
        self._runner = 0  # the thread that holds the lock

    def step(self, timeout: float = 0.5) -> bool:
        """One turn: hands pages to the fetchers and records visits, waiting up to `timeout` seconds for them.

        False when the crawl has come to its end: nothing is left to read, or `stop` was called.
        """
        wait = _seconds(timeout, "timeout")
        with self._alone():
            self._engine.limit(Limits())  # the limits of an earlier run do not apply
            return self._engine.step(wait)

    def run(
        self,
        until: Callable[["Crawl"], bool] | None = None,
        *,
        pages: int | None = None,
        seconds: float | str | None = None,
    ) -> str:
        """Crawls until nothing is left, `until` returns True (it is called after each turn), or a limit is reached:
        `pages` fetched or `seconds` passed ("90", "2h") in this call. Returns in words why it ended, and how many pages
        were longer than `most_page_bytes`, if any.

        The crawl stays open: call `run` or `step` again, or `close`. InUse: another call runs it.
        """
        limits = _limits(pages, seconds)
        with self._alone():
            return self._run(until, limits)

    async def run_async(
        self,
        until: Callable[["Crawl"], bool] | None = None,
        *,
        pages: int | None = None,
        seconds: float | str | None = None,
    ) -> str:
        """`run` for asyncio programs: works in a thread of its own and leaves the event loop free.

        Cancelling the task stops the crawl after its turn.
        """
        limits = _limits(pages, seconds)
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="centime-crawl") as thread:
            work = loop.run_in_executor(thread, partial(self._run_and_leave, until, limits))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                self.stop()
                await work
                raise

    def import_files(
        self, files: Iterable[str | PathLike[str]], *, form: str = "", keep: Keep = "none"
    ) -> dict[str, Any]:
        """Takes visits, links and URLs from files that other programs have written, as `centime import` does; returns
        its figures. `form` is the format if it is not recognised, `keep` says which bodies are stored here.

        Ctrl-C ends it; the same call continues the import. InUse: another call runs the crawl.
        """
        paths = [Path(os.fsdecode(one)) for one in files]
        with self._alone():
            self._engine.pause()
            importer = Importer(self._writer, keep=keep)
            return importer.run(importer.sources(paths, form)).facts()

    def stop(self) -> None:
        """Ends `run`, or makes the next `run` or `step` end at once; callable from any thread and from signal handlers.
        Later calls continue the crawl.
        """
        self._hurried = self._stopped
        self._stopped = True
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
        """The number of pages for which `on_page` raised; `centime page DIR URL` shows the exception."""
        return self._engine.run_facts.hook_failures

    @property
    def index_trouble(self) -> str:
        """Why the process that keeps the index (`index=True`) stopped, in words; "" if it runs."""
        return self._indexer.trouble()

    def statistics(self) -> dict[str, Any]:
        """The figures of the crawl, as `centime stats` begins with them, and its pace."""
        return self._engine.statistics(self._engine.now())

    def top(self, count: int = 10) -> list[dict[str, Any]]:
        """The most important pages: importance and URL."""
        return self._writer.top(whole_number(count, "count"))

    def reader(self) -> Reader:
        """A reader of this crawl in its present state."""
        if self._lock.acquire(blocking=False):  # a running crawl flushes its journal after each turn
            try:
                if not self._closed:
                    self._writer.shard.journal.flush()
            finally:
                self._lock.release()
        return Reader(self.folder)

    def close(self) -> None:
        """Waits for pages that are being fetched, writes a snapshot and closes the folder; ends a run of another thread
        first. If a crawl keeps an index, it waits until that is up to date, unless the run was stopped or its time was
        over. In a forked child it does nothing: the crawl is the parent's.

        InUse: called by the run itself, from `until` or a signal handler, where `stop` is the way to end it.
        """
        if os.getpid() != self._process:
            return
        if self._lock.locked() and not self._closed:
            if self._runner == threading.get_ident():
                raise InUse("this crawl is running; call stop, and close it when the run has ended")
            if not self._stopped:  # a second stop would not wait for pages that are being fetched
                self.stop()
        with self._lock:
            if not self._closed:
                self._closed = True
                hurried = self._engine.is_hurried()
                if not self._stopped:
                    self.stop()  # so that a second call of `close` does not wait
                self._hurried = hurried
                with self._stack:
                    self._engine.finish()

    def __enter__(self) -> "Crawl":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()
        self.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds the crawl for one call; InUse at once if another has it."""
        if not self._lock.acquire(blocking=False):
            raise InUse("this crawl is running already; one run at a time")
        try:
            self._runner = threading.get_ident()
            if os.getpid() != self._process:
                raise InUse("this crawl is open in the process that forked this one")
            if self._closed:
                raise BadInput("this crawl is closed; make another Crawl of its folder to continue")
            yield
        finally:
            if self._engine.run_facts.ending == STOPPED:
                self._stopped = False
                self._engine.resume()
            self._runner = 0
            self._lock.release()

    def _run(self, until: Callable[["Crawl"], bool] | None, limits: Limits) -> str:
        self._engine.limit(limits)
        while self._engine.step():
            if until is not None and until(self):
                return "until"
        return ended_in_words(self._engine.run_facts.ending, self._writer)

    def _run_and_leave(self, until: Callable[["Crawl"], bool] | None, limits: Limits) -> str:
        """Runs, and ends the fetchers, which would die with this thread; the next call starts others."""
        with self._alone():
            try:
                return self._run(until, limits)
            finally:
                self._engine.pause()


def _limits(pages: object, seconds: object) -> Limits:
    """The limits of a call; BadSetting says what is wrong with them."""
    return Limits(
        pages=None if pages is None else whole_number(pages, "pages"),
        seconds=None if seconds is None else _seconds(seconds, "seconds"),
    )


def _seconds(value: object, name: str) -> float:
    return real_number(seconds_of(value) if isinstance(value, str) else value, name)
