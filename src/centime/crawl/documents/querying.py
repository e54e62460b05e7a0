"""Evaluates an XPath in stored pages, the most important first, until enough have results."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from lxml import etree

from centime.crawl.documents.examiner import Examiner, examiner
from centime.crawl.documents.examining import UNKNOWN_PREFIX, Task
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.crawl.report.versions import Version, Versions
from centime.crawl.report.visits import are_present, heads_found, last_found
from centime.crawl.search.paths import CrawlPaths
from centime.model.errors import BadSetting, UnknownPage
from centime.model.outcome import PageKind
from centime.model.pattern import check_pattern, compiled
from centime.store.versions.database import keeping_open

LONGEST_XPATH = 10_000
FIRST_BATCH, MOST_BATCH = 64, 4_096  # candidates that are looked up at once
TOGETHER = 4  # pages that are examined at once, so that there are few round trips
MOST_RESULTS = 1_000  # of a page
KINDS = {"xml": (PageKind.XML,), "html": (PageKind.HTML,), "any": (PageKind.HTML, PageKind.XML)}


class Answer(NamedTuple):
    """The results in one page."""

    url: str
    importance: float
    found: list[str]
    total: int
    trouble: str = ""


def check_query(xpath: str) -> None:
    """BadSetting if this is no XPath, or calls a function that does not exist. Prefixes are those of each document."""
    if len(xpath) > LONGEST_XPATH:
        raise BadSetting(f"an XPath has at most {LONGEST_XPATH} characters, not {len(xpath)}")
    try:
        etree.XPath(xpath)(etree.Element("a"))
    except (etree.XPathError, ValueError, TypeError) as error:
        if str(error) != UNKNOWN_PREFIX:
            raise BadSetting(f"{xpath!r} is not an XPath (1.0, without variables): {error}") from error


def kinds_of(kind: str) -> tuple[PageKind, ...]:
    """The kinds of pages that a person means by a word."""
    if kind not in KINDS:
        raise BadSetting(f"the kind of pages is one of {', '.join(KINDS)}, not {kind!r}")
    return KINDS[kind]


def pages_of_kind(opened: CrawlState, kind: str, match: str = "", *, once: bool = False) -> list[tuple[str, float]]:
    """URL and importance of the pages whose URL matches and that were of a kind when they were last found, the most
    important first. With `once`, all pages that were ever found: they may have been of that kind before.
    """
    kinds_of(kind)
    check_pattern(match)
    search = compiled(match).search
    kinds = last_found(opened.shard.pages, "kind")["kind"]
    chosen = are_present(kinds) if once else np.isin(kinds, KINDS[kind])
    pages: npt.NDArray[np.int64] = np.flatnonzero(chosen)
    importance = opened.shard.ledger.importance(pages)
    order = np.argsort(-importance, kind="stable")
    urls = opened.shard.pages.texts.get_many(pages[order])
    rows = zip(urls, importance[order].tolist(), strict=True)
    return [(url, x) for url, x in rows if search(url)]


class Queried(NamedTuple):
    """Pages to look into, the most important first, with their importance; how many there are at most."""

    pages: Iterable[tuple[str, float]]
    most: int
    by_index: bool


def pages_to_query(
    opened: CrawlState,
    xpath: str,
    kind: str = "any",
    match: str = "",
    *,
    at: str | None = None,
    paths: CrawlPaths | None = None,
) -> Queried:
    """The pages to look into: those that the index of paths names, or all of a kind if there is no index, or if the
    query is about another time.
    """
    kinds_of(kind)
    check_pattern(match)
    found = (paths or CrawlPaths(opened)).candidates(xpath) if at is None else None
    if found is None:
        pages = pages_of_kind(opened, kind, match, once=at is not None)
        return Queried(pages, len(pages), by_index=False)
    return Queried(_in_order(opened, found, kind, match), len(found), by_index=True)


def _in_order(opened: CrawlState, pages: npt.NDArray[np.int64], kind: str, match: str) -> Iterator[tuple[str, float]]:
    """Those of the pages whose URL matches and that were of a kind when they were last found, the most important first;
    read lazily.
    """
    kinds, search = kinds_of(kind), compiled(match).search
    known = opened.shard.pages
    importance = opened.shard.ledger.importance(pages)
    order = np.argsort(-importance, kind="stable")
    size = FIRST_BATCH
    begin = 0
    while begin < len(order):
        some = order[begin : begin + size]
        heads = heads_found(known, pages[some])
        for url, x, kind_found in zip(
            known.texts.get_many(pages[some]), importance[some].tolist(), heads["kind"].tolist(), strict=True
        ):
            if kind_found in kinds and search(url):
                yield url, x
        begin, size = begin + size, min(4 * size, MOST_BATCH)


def query(
    opened: CrawlState,
    xpath: str,
    pages: Iterable[tuple[str, float]],
    *,
    kind: str = "any",
    at: str | None = None,
    step: Callable[[int], None] = lambda done: None,
    asking: Examiner | None = None,
) -> Iterator[Answer]:
    """The pages whose stored body is of a kind and in which an XPath finds something, and those in which it could not
    be evaluated, or not in the whole page. `asking` is an examiner to use, if there is one.
    """
    kinds, waiting = kinds_of(kind), iter(pages)
    with examiner(opened.folder.path) if asking is None else nullcontext(asking) as one:
        while some := list(islice(waiting, TOGETHER)):
            tasks = [Task(url, xpath, at, kinds=kinds) for url, _ in some]
            for (url, importance), found in zip(some, one.examine_many(tasks), strict=True):
                step(1)
                if found.count:
                    yield Answer(url, importance, found.found, found.count, found.error)
                elif found.error and not found.error.startswith(UnknownPage.__name__):
                    yield Answer(url, importance, [], 0, found.error)


class Pair(NamedTuple):
    """Two stored versions of a page, one after the other, and when the second was first seen."""

    seen: float
    url: str
    importance: float
    old: Version
    new: Version


def stored_pairs(
    opened: CrawlState, match: str, since: float, step: Callable[[int], None] = lambda done: None
) -> list[Pair]:
    """All pairs of versions of pages whose URL matches, the second of which was first seen since a time, newest first,
    whether or not the difference counted as a change when it was seen.
    """
    found: list[Pair] = []
    with keeping_open():
        for url, importance in pages_of_kind(opened, "any", match, once=True):
            step(1)
            with suppress(UnknownPage):
                pairs = Versions(opened.folder.path, url).pairs_since(since)
                found += [Pair(seen, url, importance, old, new) for seen, old, new in pairs]
    return sorted(found, key=lambda pair: -pair.seen)


def changed_results(
    opened: CrawlState, xpath: str, pairs: Iterable[Pair], step: Callable[[int], None] = lambda done: None
) -> Iterator[dict[str, Any]]:
    """The pairs of versions in which an XPath finds different results, with both results."""
    with examiner(opened.folder.path) as asking:
        for pair in pairs:
            step(1)
            versions = pair.old, pair.new
            old, new = (asking.examine(Task(pair.url, xpath, version=version.number)) for version in versions)
            if (old.found, old.count) != (new.found, new.count):
                yield {
                    "url": pair.url,
                    "seen": moment(pair.seen),
                    "importance": pair.importance,
                    "from": pair.old.time,
                    "to": pair.new.time,
                    "old": old.found,
                    "new": new.found,
                }


def facts_of_answer(answer: Answer, most: int) -> dict[str, Any]:
    """An answer for a report, with its first results."""
    facts: dict[str, Any] = {"importance": answer.importance, "url": answer.url, "count": answer.total}
    if answer.found or not answer.trouble:
        facts["found"] = answer.found[:most]
    return facts | ({"trouble": answer.trouble} if answer.trouble else {})
