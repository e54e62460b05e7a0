"""The process that examines stored documents: it loads XML and evaluates XPaths, with limits on memory and on time.

    python -m centime.crawl.documents.examining SOCKET        (`processes/child.py`)

A document can make a parser or an XPath take any time and memory. So this work has a process of its own, which the
requesting process kills when a document takes too long (`examiner.py`).
"""

import asyncio
import re
import resource
from pathlib import Path
from typing import Any

import msgspec
from lxml import etree

from centime.crawl.engine.damage import damage_closes
from centime.crawl.report.bodies import Stored, capture_at, captures_in, read_stored
from centime.crawl.report.opening import folder_of
from centime.crawl.report.versions import Versions
from centime.model.errors import CentimeError
from centime.model.outcome import PageKind
from centime.parse.encoding import as_utf8, with_declared_encoding
from centime.parse.kind import kind_of
from centime.parse.tree import whole_tree_of
from centime.processes.channel import LENGTH
from centime.processes.child import Work, serve_crawl
from centime.processes.memory_limit import limit_memory
from centime.search.path_terms import terms_of
from centime.search.scanned_terms import TermScanner
from centime.shard.message import pack
from centime.store.folder import CrawlFolder
from centime.store.versions.database import keeping_open
from centime.warehouse.loader import State, load
from centime.warehouse.xml_catalog import XmlCatalogs

TITLE = "centime-docs"
MOST_MEMORY = 2 << 30
MOST_FOUND = 1_000  # results of an XPath in one document
LONGEST_RESULT = 4_096  # characters
UNKNOWN_PREFIX = "Undefined namespace prefix"  # a message of libxml2
_PREFIX = re.compile(r"([^\W\d][\w.-]*):(?!:)")
HELD_PARTS = 64  # parts that are remembered: many documents share a DTD


class Task(msgspec.Struct, array_like=True, frozen=True):
    """A document to examine: to load, or to evaluate an XPath in."""

    url: str
    xpath: str = ""
    at: str | None = None  # the version, by time
    version: int = 0  # the version, by its number
    kinds: tuple[int, ...] = ()  # kinds of bodies (PageKind) in which the XPath is evaluated; all if there are none
    ends: dict[str, str] = {}  # the URLs to which parts redirect
    catalogs: tuple[str, ...] = ()  # XML catalogs of this machine that a person named
    body: bytes | None = None  # of a document whose terms are requested (`search/path_terms.py`)
    content_type: str = ""


class Examined(msgspec.Struct, array_like=True, frozen=True):
    """The results for a document."""

    url: str
    state: str = ""
    error: str = ""
    wanted: list[str] = []
    facts: dict[str, Any] = {}
    found: list[str] = []
    count: int = 0  # of all results
    terms: bytes = b""


unpack_tasks = msgspec.msgpack.Decoder(list[Task]).decode
unpack_examined = msgspec.msgpack.Decoder(Examined).decode


class Examining:
    """Examines the documents of one crawl."""

    def __init__(self, folder: Path) -> None:
        self._path = folder
        self._opened: CrawlFolder | None = None
        self._catalogs: XmlCatalogs | None = None
        self._named: tuple[str, ...] = ()
        self._parts: dict[str, bytes | None] = {}
        self._scanner = TermScanner()

    async def examine(self, task: Task, writer: asyncio.StreamWriter) -> None:
        """Examines a document, and sends the results."""
        try:
            found = self.examined(task)
        except (CentimeError, OSError, MemoryError, etree.LxmlError, ValueError) as error:
            found = Examined(task.url, State.GIVEN_UP, f"{type(error).__name__}: {error}"[:500])
        message = pack(found)
        writer.write(LENGTH.pack(len(message)) + message)

    def examined(self, task: Task) -> Examined:
        """The results for a document."""
        if task.body is not None:
            return self._with_terms(task, task.body)
        body, content_type = self._read(self._stored(task))
        if task.xpath:
            return self._queried(task, body, content_type)
        if self._catalogs is None or self._named != task.catalogs:
            self._catalogs, self._named = XmlCatalogs(map(Path, task.catalogs)), task.catalogs
        whole = with_declared_encoding(body, content_type)
        loaded = load(whole, task.url, self._held, task.ends, is_recoded=whole is not body)
        return Examined(task.url, loaded.state, loaded.error, loaded.wanted, loaded.facts)

    def _stored(self, task: Task) -> Stored:
        if task.version:
            return Versions(self._path, task.url).numbered(task.version).first
        return capture_at(captures_in(self._folder, task.url), task.at)

    @property
    def _folder(self) -> CrawlFolder:
        """The folder of the crawl, opened once: many documents are read."""
        if self._opened is None:
            self._opened = folder_of(self._path)
        return self._opened

    def _read(self, stored: Stored) -> tuple[bytes, str]:
        with damage_closes(self._path):
            return read_stored(self._folder, stored)

    def _queried(self, task: Task, body: bytes, content_type: str) -> Examined:
        kind = kind_of(body, content_type)
        if task.kinds and kind not in task.kinds:
            return Examined(task.url)
        root, trouble = tree_for(body, kind, content_type, task.url)
        if root is None:
            return Examined(task.url, error=trouble)
        # a prefix that the document does not declare names no element of it
        names = {prefix: f"urn:undeclared:{prefix}" for prefix in _PREFIX.findall(task.xpath) if prefix != "xml"}
        names |= {prefix: uri for prefix, uri in root.nsmap.items() if prefix}
        result = root.xpath(task.xpath, namespaces=names)
        if not isinstance(result, list):
            result = [] if result is False or result != result else [result]
        found = [_written(one) for one in result[:MOST_FOUND]]
        return Examined(task.url, error=trouble, found=found, count=len(result))

    def _with_terms(self, task: Task, body: bytes) -> Examined:
        """The terms of a document; none if it is neither HTML nor XML."""
        kind = kind_of(body, task.content_type)
        if kind not in (PageKind.HTML, PageKind.XML):
            return Examined(task.url)
        root, trouble = tree_for(body, kind, task.content_type, task.url)
        make = self._scanner.terms_of_html if kind is PageKind.HTML else terms_of
        return Examined(task.url, terms=make(root, is_whole=not trouble).tobytes())

    def _held(self, url: str, public: str) -> bytes | None:
        """The newest stored body of a part, or the file that catalogs of this machine name; None if there is none."""
        body = self._stored_part(url)
        return self._catalogs.part(url, public) if body is None and self._catalogs is not None else body

    def _stored_part(self, url: str) -> bytes | None:
        if url not in self._parts:
            if len(self._parts) >= HELD_PARTS:
                self._parts.clear()
            try:
                body, content_type = self._read(captures_in(self._folder, url)[-1])
                self._parts[url] = with_declared_encoding(body, content_type)
            except CentimeError:
                self._parts[url] = None
        return self._parts[url]


def tree_for(body: bytes, kind: PageKind, content_type: str, url: str) -> tuple[Any, str]:
    """The root element of a page, or None; and what is missing in it."""
    _, encoding = as_utf8(body, content_type, xml=kind is PageKind.XML, url=url)
    return whole_tree_of(body, kind, encoding)


def _written(result: Any) -> str:
    """A result as text: an element as XML, everything else as its value."""
    if isinstance(result, bool):
        return str(result).lower()
    if isinstance(result, float):
        return f"{result:.15g}"
    if isinstance(result, str | tuple):  # a tuple is a namespace
        return str(result)[:LONGEST_RESULT]
    return str(etree.tostring(result, encoding="unicode", with_tail=False))[:LONGEST_RESULT]


async def _serve(settings: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    limit_memory(MOST_MEMORY)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    examining = Examining(Path(settings.decode()))
    with keeping_open():
        await Work().run(reader, unpack_tasks, lambda task: examining.examine(task, writer))


def main(number: int | None = None) -> None:
    """Examines documents for the process at the other end of the socket."""
    serve_crawl(_serve, TITLE, number)


if __name__ == "__main__":
    main()
