"""`on_page`: a function of the user's program, called in the fetcher processes for every page that was read.

The function is named by MODULE:NAME, or by FILE.py:NAME for one of the main program, and imported by each fetcher: the
page's body stays in the process that fetched it. The function sees a `FetchedPage`. What it returns is ignored. What it
raises, also SystemExit and KeyboardInterrupt, does not stop the crawl: the record of the visit contains it, and the
engine counts it. It runs in the fetcher's event loop, so other pages wait while it runs.

A function that ends its process (`os._exit`, a crash in a library) takes the fetcher with it. So the fetcher names the
page to the engine before each call, and after MOST_DEATHS such ends the page is read without calling it
(`crawl/engine/fetchers.py`).
"""

import asyncio
import importlib
import runpy
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from centime.model.document import Document
from centime.model.errors import BadSetting
from centime.model.ids import PageId
from centime.model.outcome import PageKind
from centime.model.response import Response

FAILED = "on_page: "  # the detail of a visit starts with this if the function raised
LONGEST_DETAIL = 200
MOST_DEATHS = 2  # of fetchers, for one page


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page that was just fetched."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes  # decompressed; cut at `--most-page-bytes`
    truncated: bool
    fetched_at: float  # seconds since the epoch
    document: Document  # kind, encoding, title, language, links as written

    @property
    def kind(self) -> PageKind:
        """HTML, XML, DTD or OTHER."""
        return self.document.kind

    @property
    def title(self) -> str:
        """The title of an HTML page, or ""."""
        return self.document.title

    @property
    def text(self) -> str:
        """The body decoded by the page's encoding; characters that cannot be decoded are replaced."""
        return self.body.decode(self.document.encoding or "utf-8", errors="replace")


Hook = Callable[[FetchedPage], object]


def name_of(hook: Hook | str) -> str:
    """The name by which fetchers import a function; BadSetting if they could not."""
    if isinstance(hook, str):
        load_hook(hook)
        return hook
    module, name = getattr(hook, "__module__", ""), getattr(hook, "__qualname__", "")
    if not module or not name.isidentifier():
        raise BadSetting(f"on_page must be a function at the top level of a module, not {hook!r}")
    if module == "__main__":
        main = getattr(sys.modules["__main__"], "__file__", None)
        if main is None:
            raise BadSetting("on_page cannot be defined in an interactive session: put the function into a module")
        return f"{Path(main).resolve()}:{name}"
    return f"{module}:{name}"


def load_hook(name: str) -> Hook:
    """The function of this name; BadSetting if there is none."""
    place, _, function = name.rpartition(":")
    if not place or not function.isidentifier():
        raise BadSetting(f"on_page is named MODULE:FUNCTION or FILE.py:FUNCTION, not {name!r}")
    try:
        found: Any = (
            runpy.run_path(place, run_name="__centime_page__").get(function)
            if place.endswith(".py")
            else getattr(importlib.import_module(place), function)
        )
    except (Exception, SystemExit) as trouble:  # the user's module may raise anything
        raise BadSetting(f"on_page: {name} cannot be imported: {_in_words(trouble)}") from trouble
    if not callable(found):
        raise BadSetting(f"on_page: {name} is not a function")
    hook: Hook = found
    return hook


def called(hook: Hook, response: Response, document: Document) -> str:
    """Calls a hook for a page; returns what it raised, in one line, or ""."""
    page = FetchedPage(
        response.url,
        response.status,
        response.headers,
        response.body,
        response.truncated,
        response.asked_at,
        document,
    )
    try:
        hook(page)
    except BaseException as trouble:  # the user's code may raise anything, and one page must not stop the others
        return f"{FAILED}{_in_words(trouble)}"[:LONGEST_DETAIL]
    return ""


class HookCaller:
    """Calls a hook for one page at a time, after `announce` has named the page to the engine."""

    def __init__(self, hook: Hook, announce: Callable[[PageId], Awaitable[None]]) -> None:
        self._hook = hook
        self._announce = announce
        self._turn = asyncio.Lock()

    async def call(self, page: PageId, response: Response, document: Document, *, skip: bool = False) -> str:
        """Calls the hook, unless `skip` says that it would end the process; returns what it raised, in one line, or
        "".
        """
        if skip:
            return f"{FAILED}it is not called for this page, because it ended the fetcher {MOST_DEATHS} times"
        async with self._turn:
            await self._announce(page)
            return called(self._hook, response, document)


def _in_words(trouble: BaseException) -> str:
    """The kind of an exception and its message, whatever that contains or raises, as text that can be stored."""
    try:
        said = str(trouble)
    except BaseException as another:
        said = f"its message cannot be read ({type(another).__name__})"
    return f"{type(trouble).__name__}: {said}".encode(errors="backslashreplace").decode()
