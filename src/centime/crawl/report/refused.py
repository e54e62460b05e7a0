"""The links that a crawl refused: how many for each reason, and a list that says why and which option lets them in.

Counts come from the shard (`shard/limits/refusals.py`), except that of pages that robots.txt disallows: those are
known, and the records of their visits say so.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.visits import last_visits
from centime.crawl.worker.chain import MOST_HOPS
from centime.discover.refusal import OPTIONS, REASONS, Reason
from centime.discover.suffixes import suffix_of
from centime.discover.traps import Traps
from centime.model.address import host_of
from centime.model.errors import BadSetting
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.model.pattern import compiled
from centime.shard.limits.refusals import Refused
from centime.shard.limits.trap_evidence import FIRST, Evidence
from centime.store.record import NO_PAGE

Facts = dict[str, Any]


def refused_urls(opened: CrawlState, count: int, reasons: Sequence[str] = (), match: str = "") -> Facts:
    """Counts by reason, and up to `count` refused URLs of these reasons in which a pattern is found, those with most
    links first.
    """
    if count < 0:
        raise BadSetting(f"the number of URLs to show must be 0 or more, not {count}")
    for name in reasons:
        if name not in REASONS:
            raise BadSetting(f"a reason is one of {', '.join(REASONS)}, not {name!r}")
    wanted = {REASONS[name] for name in reasons} or set(Reason)
    facts = opened.shard.refusals.facts()
    known = _known_and_refused(opened)
    counts = Counter(facts["refused"])
    counts.update(one.reason.label for one in known)
    pattern = compiled(match) if match else None
    listed = [
        one
        for one in (*opened.shard.refusals.listed(), *known)
        if one.reason in wanted and (pattern is None or pattern.search(one.url))
    ]
    listed.sort(key=lambda one: -one.times)
    found = Counter(one.reason for one in opened.shard.refusals.listed())
    found.update(one.reason for one in known)
    lacking = {reason.label: counts[reason.label] - found[reason] for reason in Reason if reason in wanted}
    words = Words(opened)
    return facts | {
        "refused": dict(counts),
        "not_listed": {label: count for label, count in lacking.items() if count > 0},
        "urls_found": len(listed),
        "urls": [words.row(one) for one in listed[:count]],
    }


def refused_on(opened: CrawlState, page: PageId, summary: str, most: int) -> Facts:
    """The links of a page that were refused at its last visit: counts by reason, and the refused URLs of the list that
    were first seen there.
    """
    counts = {name: int(number) for name, _, number in (word.partition("=") for word in summary.split())}
    words = Words(opened)
    rows = [words.row(one) for one in opened.shard.refusals.listed() if one.source == page][:most]
    return {"links_refused": counts, "refused_links": [_without_source(row) for row in rows]}


def _without_source(row: Facts) -> Facts:
    return {name: value for name, value in row.items() if name != "linked_from"}


class Words:
    """Explains why URLs were refused, by the settings of a crawl and the pages that it has read."""

    def __init__(self, opened: CrawlState) -> None:
        self._opened = opened
        self._scope = opened.settings.scope_rules()
        self._traps = Traps(opened.settings.trap_rules())

    def row(self, one: Refused) -> Facts:
        """A refused URL for a report."""
        texts = self._opened.shard.pages.texts
        return {
            "url": one.url,
            "reason": one.reason.label,
            "why": self._why(one),
            "option": self._option(one),
            "links": one.times or None,
            "linked_from": None if one.source == NO_PAGE else texts.get(one.source),
        }

    def _why(self, one: Refused) -> str:
        settings = self._opened.settings
        match one.reason:
            case Reason.NOT_HTTP:
                return "it is not an http or https URL"
            case Reason.TRAP:
                return self._of_trap(one)
            case Reason.MAX_DEPTH:
                return f"it is more than {settings.max_depth} links away from a seed"
            case Reason.NOFOLLOW:
                return "the page asks crawlers not to follow this link"
            case Reason.PAGES_PER_HOST:
                return f"its host has {settings.pages_per_host} pages already"
            case Reason.MOST_PAGES:
                return "the crawl had no room for it, or only for more important ones"
            case Reason.ROBOTS:
                return "robots.txt disallows it"
            case Reason.REDIRECTS:
                return f"more than {MOST_HOPS} redirects in a row lead to it"
            case Reason.LONGEST_URL:
                return f"it is longer than {settings.longest_url or 'a URL may be'} characters"
            case _:
                return self._scope.refusal(one.url) or "an earlier setting refused it"

    def _of_trap(self, one: Refused) -> str:
        found = self._traps.suspect(one.url)
        phrase = found.phrase if found else "it is like URLs of a trap"
        if not one.key:
            return phrase
        return f"{phrase}; {evidence_in_words(self._opened.shard.limits.evidence(host_of(one.url), one.key))}"

    def _option(self, one: Refused) -> str:
        return f"--also {suffix_of(one.url)}" if one.reason is Reason.SUFFIX else OPTIONS[one.reason]


def evidence_in_words(evidence: Evidence) -> str:
    """The evidence of visits to URLs of a shape, as a phrase."""
    if not evidence.visits:
        return f"the first {FIRST} such URLs are not read yet"
    parts = [
        f"{count} {what}"
        for count, what in (
            (evidence.same, "had a known text or none"),
            (evidence.growing, "had new text and led to nothing new but more of them"),
            (evidence.useful, "had new text"),
        )
        if count
    ]
    return f"of {evidence.visits} such pages that were read, {', '.join(parts)}"


def _known_and_refused(opened: CrawlState) -> list[Refused]:
    """The pages whose last visit was not made, because robots.txt or an exclude pattern of a later run forbids it."""
    found = last_visits(opened.shard.pages, "outcome", "visits")
    refused = []
    for reason, outcome in ((Reason.ROBOTS, Outcome.DISALLOWED), (Reason.EXCLUDE, Outcome.EXCLUDED)):
        pages = np.flatnonzero((found["outcome"] == outcome) & (found["visits"] > 0))
        refused += [Refused(url, reason, NO_PAGE, 0) for url in opened.shard.pages.texts.get_many(pages)]
    return refused
