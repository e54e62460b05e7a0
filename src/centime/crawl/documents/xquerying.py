"""The process that evaluates XQueries (3.1, by SaxonC, the extra `centime[xquery]`), with limits on everything.

    python -m centime.crawl.documents.xquerying SOCKET        (`processes/child.py`)

XQuery can read files, the network and the environment. So the process has no environment, and opens nothing once it
runs: documents come through its socket. Memory and CPU time have limits, and the requesting process kills this one when
a document takes too long (`examiner.py`).

Traps: SaxonC copies the environment when it starts, so that is emptied before. Its heap is reserved, not used, so
RLIMIT_DATA bounds it and RLIMIT_AS would stop it at once. Python's codecs are files, so they are loaded before files
are out of reach. The parser of the JDK refuses documents of 101 levels, 201 attributes or names of 1 001 characters:
its limits are lifted, because those of the process and of our own parser hold.
"""

import asyncio
import os
import resource
import time
from typing import Any

from lxml import etree

from centime.crawl.documents.coercion import written_as_xml
from centime.crawl.documents.examining import (
    LONGEST_RESULT,
    MOST_FOUND,
    MOST_MEMORY,
    Examined,
    Task,
    tree_for,
    unpack_tasks,
)
from centime.model.outcome import PageKind
from centime.parse.encoding import load_codecs
from centime.parse.kind import kind_of
from centime.processes.channel import LENGTH
from centime.processes.child import Work, serve_crawl
from centime.shard.message import pack
from centime.warehouse.loader import State

TITLE = "centime-xquery"
CPU_SECONDS = 30  # for one document
UNKNOWN_PREFIX = "XPST0081"
STATIC = "static error: "  # prefix of the trouble if the query itself is invalid
_NOT_XML = "SXXP0003"
_PARSER_PROPERTY = "http://saxon.sf.net/feature/parserProperty?uri=jdk.xml."
_LIMITS = ("elementAttributeLimit", "maxElementDepth", "maxXMLNameLimit", "maxGeneralEntitySizeLimit")


class XQuerying:
    """Evaluates XQueries in documents."""

    def __init__(self) -> None:
        from saxonche import PySaxonProcessor

        self._processor = PySaxonProcessor(license=False)
        for limit in _LIMITS:
            self._processor.set_configuration_property(f"{_PARSER_PROPERTY}{limit}", "0")
        self._evaluated("1", etree.Element("a"))  # loads what it needs

    async def examine(self, task: Task, writer: asyncio.StreamWriter) -> None:
        """Evaluates a query in a document, and sends the results."""
        used = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used + CPU_SECONDS, resource.RLIM_INFINITY))
        try:
            found = self.examined(task)
        except Exception as error:  # of SaxonC, which has classes of its own
            found = _troubled(task, " ".join(str(error).split()))
        answer = pack(found)
        writer.write(LENGTH.pack(len(answer)) + answer)

    def examined(self, task: Task) -> Examined:
        """The results of a query in a document."""
        body = task.body or b""
        kind = kind_of(body, task.content_type)
        if task.kinds and kind not in task.kinds:
            return Examined(task.url)
        root, trouble = tree_for(body, kind, task.content_type, task.url)
        if root is None:
            return Examined(task.url, error=trouble)
        if kind is PageKind.HTML:
            etree.strip_attributes(root, "xmlns")  # written as XML, it would put all names into a namespace
        found = self._evaluated(task.xpath, root)
        return Examined(task.url, error=trouble, found=found[:MOST_FOUND], count=len(found))

    def _evaluated(self, query: str, root: Any) -> list[str]:
        for entity in list(root.iter(etree.Entity)):  # no reader but ours has their declarations
            _replace_by_text(entity)
        processor = self._processor.new_xquery_processor()
        for prefix, uri in root.nsmap.items():
            processor.declare_namespace(prefix or "", uri)
        processor.set_query_content(query)
        processor.set_context(xdm_item=self._parsed(root))
        value = processor.run_query_to_value()
        if value is None:
            return []
        items = [value.item_at(place) for place in range(value.size)]
        if len(items) == 1 and items[0].is_atomic and str(items[0]) in ("false", "NaN"):
            return []
        return [str(item)[:LONGEST_RESULT] for item in items]

    def _parsed(self, root: Any) -> Any:
        """The document as SaxonC's tree. Almost every tree can be written without changes."""
        from saxonche import PySaxonApiError

        try:
            return self._processor.parse_xml(xml_text=etree.tostring(root, encoding="unicode", with_tail=False))
        except PySaxonApiError as error:
            if _NOT_XML not in str(error):
                raise
            return self._processor.parse_xml(xml_text=written_as_xml(root))


def _troubled(task: Task, message: str) -> Examined:
    """The answer for an error. A document that does not declare a prefix has no such elements."""
    if UNKNOWN_PREFIX in message:
        return Examined(task.url)
    is_static = "Static error" in message or " XPST" in message or " XQST" in message
    return Examined(task.url, State.GIVEN_UP, (STATIC if is_static else "") + message[:500])


def _replace_by_text(entity: Any) -> None:
    """Puts a reference to an entity as it was written in its place."""
    parent, before = entity.getparent(), entity.getprevious()
    text = entity.text + (entity.tail or "")
    if before is None:
        parent.text = (parent.text or "") + text
    else:
        before.tail = (before.tail or "") + text
    parent.remove(entity)


async def _serve(settings: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    os.environ.clear()
    load_codecs()
    querying = XQuerying()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        resource.setrlimit(limit, (0, 0))
    await Work().run(reader, unpack_tasks, lambda task: querying.examine(task, writer))


if __name__ == "__main__":
    serve_crawl(_serve, TITLE)
