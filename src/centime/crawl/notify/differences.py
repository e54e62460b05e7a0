"""Details of a change for its notice, from the stored versions: the sentences that differ, of XML documents the delta,
and which nodes that an XPath finds are new, changed or gone. Everything has a limit: `centime diff` shows the rest.
"""

from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import msgspec
from lxml import etree

from centime.crawl.notify.node_changes import node_changes
from centime.crawl.report.versions import Version, Versions
from centime.crawl.worker.conditions import WatchedPage
from centime.model.errors import CentimeError
from centime.model.outcome import PageKind
from centime.parse.encoding import as_utf8
from centime.parse.kind import kind_of
from centime.shard.people.notices import Batch, Change, Condition, Notice, When
from centime.shard.people.subscriptions import MISSING, THERE
from centime.warehouse.changed_places import changed_places
from centime.warehouse.comparison import XML, Document, changed_sentences
from centime.warehouse.tree import NotWellFormed
from centime.warehouse.written_delta import operations

WITH_DIFFERENCE = (Change.CHANGED, Change.BACK, Change.VOLATILE)
MOST_BODY = 1 << 20  # bytes of a version that is compared
MOST_BYTES = 1 << 16  # bytes of sentences, and of a delta, in a notice
MOST_DIFFERENCES = 200  # in a batch
MOST_VERSIONS = 100  # of an XML document whose nodes are numbered
MOST_SECONDS = 60.0  # for a batch


def add_differences(folder: Path, facts: dict[str, Any], batch: Batch, seconds: float = MOST_SECONDS) -> None:
    """Adds to the facts of each notice `diff`, and `nodes` if the subscription has an XPath; None if the versions are
    not stored, and behind the first notices. Removes a notice if the versions show that the part that its subscriber
    watches has not changed.
    """
    until = monotonic() + seconds
    kept = []
    for number, (entry, notice) in enumerate(zip(facts["changes"], batch.notices, strict=True)):
        is_late = monotonic() >= until
        stored = None if is_late else _stored(folder, notice)
        is_first = number < MOST_DIFFERENCES and notice.change in WITH_DIFFERENCE
        entry["diff"] = _difference(stored) if stored is not None and stored.old is not None and is_first else None
        if notice.change is Change.VOLATILE:
            entry["places"] = _places(stored)
        nodes = entry["nodes"] = _nodes(stored, batch.condition) if stored is not None else None
        if stored is not None and batch.condition:
            entry |= _values(stored, batch.condition)
        if is_late or _concerns(notice, batch.condition, stored, nodes):
            kept.append(entry)
    facts["changes"] = kept


class _Stored(NamedTuple):
    """The versions before and after a change: without an old one, the page is new; without a new one, it is gone."""

    versions: Versions
    old: Version | None
    new: Version | None
    documents: tuple[Document | None, Document | None]
    is_back: bool = False  # the page was gone between them, and its subscribers know

    def page(self, place: int) -> WatchedPage | None:
        """One of them, for a condition; None if the page was not there."""
        document = self.documents[place]
        if document is None or (self.is_back and place == 0):
            return None
        kind = kind_of(document.body, document.content_type)
        _, encoding = as_utf8(document.body, document.content_type, xml=kind is PageKind.XML, url=document.url)
        return WatchedPage(document.body, kind, encoding, document.content_type, document.url)

    def is_short(self) -> bool:
        """Whether both are short enough to be compared."""
        return all(one is None or len(one.body) <= MOST_BODY for one in self.documents)


def _stored(folder: Path, notice: Notice) -> _Stored | None:
    """The versions around a change; None if one of them is not stored."""
    first_before = notice.first_before or notice.before
    try:
        versions = Versions(folder, notice.url)
        old, new = versions.before(first_before), versions.seen_by(notice.before, notice.time)
        if notice.change in WITH_DIFFERENCE:
            pair = versions.around(first_before, notice.before, notice.time, was_gone=notice.change is Change.BACK)
            old, new = pair or (None, versions.confirmed_by(notice.time) if notice.change is Change.BACK else None)
        elif notice.change is Change.NEW:
            old = None
        else:
            new = None
        if old is None and new is None:
            return None
        documents = tuple(None if version is None else versions.read(version) for version in (old, new))
        return _Stored(versions, old, new, (documents[0], documents[1]), notice.change is Change.BACK)
    except (CentimeError, OSError):  # a notice is sent even if versions cannot be read
        return None


def _difference(stored: _Stored) -> dict[str, Any] | None:
    documents = [document for document in stored.documents if document is not None]
    if stored.old is None or stored.new is None:
        return None
    facts: dict[str, Any] = {"from": stored.old.time, "to": stored.new.time, "sentences": None, "delta": None}
    if not stored.is_short():
        return facts
    steps = changed_sentences(*documents)
    facts["sentences"] = _bounded([{"old": list(one.old), "new": list(one.new)} for one in steps if not one.equal])
    if all(document.form() == XML for document in documents) and len(stored.versions) <= MOST_VERSIONS:
        with suppress(NotWellFormed):
            facts["delta"] = _bounded(operations(stored.versions.trees(stored.old, stored.new)))
    return facts


def _places(stored: _Stored | None) -> list[dict[str, str]]:
    """The parts of the page that differ and count as volatile, each with what selects it."""
    if stored is None or stored.documents[0] is None or stored.documents[1] is None:
        return []
    return [one._asdict() for one in changed_places(stored.documents[0], stored.documents[1])]


def _nodes(stored: _Stored, condition: Condition) -> list[dict[str, str | None]] | None:
    """The changes of the nodes that the XPath finds; None if they cannot be computed."""
    if not condition.xpath or not stored.is_short():
        return None
    try:
        when = When.ALWAYS if condition.words else condition.when
        return node_changes(stored.page(0), stored.page(1), condition.xpath, when)
    except (etree.XPathError, ValueError, TypeError, MemoryError):
        return None


def _values(stored: _Stored, condition: Condition) -> dict[str, str | None]:
    """The results of the condition in both versions: `old` and `new`, as far as it can be evaluated. A result that is
    known without versions is as old as its last change.
    """
    if not stored.is_short():
        return {}
    values: dict[str, str | None] = {}
    for name, place in (("old", 0), ("new", 1)):
        page = stored.page(place)
        found = (0, "") if page is None else page.found(condition)
        if found is not None:
            values[name] = found[1]
    return values


def _concerns(notice: Notice, condition: Condition, stored: _Stored | None, nodes: list[Any] | None) -> bool:
    """Whether a subscriber is notified of a change. In doubt it is, unless the page itself has not changed."""
    if not condition or stored is None or not stored.is_short():
        return not notice.doubtful
    was_evaluated = notice.change is Change.CHANGED and notice.old is not None
    if condition.words:
        if was_evaluated:
            return True
        pages = stored.page(0), stored.page(1)
        before, after = ((MISSING, "") if page is None else page.found(condition) for page in pages)
        if before is None or after is None:
            return not notice.doubtful
        wanted = {When.ALWAYS: (MISSING, THERE), When.APPEARS: (THERE,), When.VANISHES: (MISSING,)}[condition.when]
        return before[0] != after[0] and after[0] in wanted
    if nodes is None:
        return not notice.doubtful
    return bool(nodes) or (condition.when is When.ALWAYS and was_evaluated)


def _bounded(found: list[Any]) -> list[Any] | None:
    """The value, or None if it is too long for a notice."""
    return found if len(msgspec.json.encode(found)) <= MOST_BYTES else None
