"""The report of one page: where its importance comes from, all its visits, and when and why it is fetched next."""

import difflib
from bisect import bisect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from centime.change.noise import RESTLESS
from centime.change.page_state import unpacked
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.interest import page_interest
from centime.crawl.report.opening import moment
from centime.crawl.report.payers import payers_of
from centime.crawl.report.planning.freshness import is_early, refresh_facts
from centime.crawl.report.planning.waiting import LEVELS, REASONS, Waiting
from centime.crawl.report.refused import refused_on
from centime.crawl.report.top import errors_of, importance_of_all, readiness
from centime.crawl.report.visits import KINDS, OUTCOMES, REDIRECT
from centime.discover.canonical import canonical
from centime.discover.exact import exact
from centime.ledger.accounts import PROXY
from centime.model.address import fingerprint, host_of
from centime.model.errors import BadInput, UnknownPage
from centime.model.ids import HostId, PageId
from centime.model.outcome import Outcome, PageKind
from centime.model.row_batch import Pages
from centime.shard.requisites import Needing
from centime.shard.state import ShardState
from centime.store.record import NO_PAGE, Mark, Record

MOST_SHOWN = 20  # payers and links
RESTIVE = "changed at most of the last reads, and counts as a change"
MOST_COMPARED = 100_000  # pages of a host that are searched for similar URLs
HINTS = 3

Facts = dict[str, Any]


def find_page(opened: CrawlState, url: str) -> tuple[PageId, str]:
    """The number and canonical URL of a page; the message of UnknownPage names similar URLs."""
    name = canonical(url) if isinstance(url, str) else None
    if name is None:
        raise BadInput(f"{url}: this is not the URL of a page (http or https)")
    known = opened.shard.pages
    for form in (name, exact(url, url)):  # a requisite has its exact URL
        page = known.table.find_one(fingerprint(form)) if form else None
        if page is not None and form is not None and known.texts.get(page) == form:
            return page, form
    raise UnknownPage(f"{name} is not known to this crawl{_hint(opened, name)}")


class Beyond(Protocol):
    """The other partitions of a crawl."""

    def payers(self, url: str) -> list[tuple[ShardState, int]]:
        """The other partitions whose rows may lead to a page, and by which number."""
        ...

    def pages(self, shard: ShardState, numbers: Pages) -> list[tuple[float, str]]:
        """The importance and the URLs of the pages of others that numbers in rows of this partition stand for."""
        ...

    def url(self, wanted: int) -> str | None:
        """The URL of the page with this fingerprint; None if no partition knows it."""
        ...

    def needed_by(self, parent: int) -> list[tuple[ShardState, int]]:
        """The requisites that a page, by its fingerprint, was the first to need in other partitions."""
        ...


def about_page(
    opened: CrawlState,
    url: str,
    *,
    now: float,
    step: Callable[[float], None] = lambda done: None,
    beyond: Beyond | None = None,
) -> Facts:
    """The facts of a page; `step` receives the number of further pages whose links were searched."""
    page, name = find_page(opened, url)
    shard = opened.shard
    history = list(shard.pages.records.history(page))
    last = history[0] if history else None
    origin = shard.pages.origin(page)
    host = HostId(int(origin["host"]))
    importance = importance_of_all(opened)
    facts: Facts = {
        "url": name,
        "number": page,
        "kind": _kind(last),
        "importance": float(importance[page]),
        "largest_error": errors_of(opened)["largest_error"],
        "rank": int(np.count_nonzero(importance > importance[page])) + 1,
        "known": shard.pages.count,
        "depth": int(origin["depth"]),
        "focus": opened.settings.focus[int(origin["focus"]) - 1] if origin["focus"] else None,
    }
    facts |= page_interest(opened, page)
    facts |= _requisite_facts(opened, page, beyond)
    waiting = Waiting(shard)
    freshness = refresh_facts(opened, page, host, now)
    facts |= next_visit(opened, page, last, waiting, now, freshness.get("due", ""))
    facts |= freshness
    facts |= _last_facts(opened, last)
    facts |= _volatile_facts(opened, last, host)
    facts |= _host_facts(opened, host, waiting, now)
    paying = [(shard, int(page)), *([] if beyond is None else beyond.payers(name))]
    facts |= _income(paying, float(importance[page]), step)
    facts |= _spending(opened, page, float(importance[page]), beyond)
    facts |= refused_on(opened, page, last.refused if last else "", MOST_SHOWN)
    return facts | {"visits": [_visit_facts(record) for record in history]}


def _kind(last: Record | None) -> str:
    if last is None:
        return KINDS[PageKind.UNREAD]
    return KINDS[REDIRECT if last.outcome.redirect else last.kind]


def next_visit(
    opened: CrawlState, page: PageId, last: Record | None, waiting: Waiting, now: float, due: str = ""
) -> Facts:
    """When and why a page is fetched next; `due` is its due time in the refresh book."""
    shard = opened.shard
    _, leased = shard.placement.leases.state()
    _, again = shard.placement.retries.state()
    if page in leased["pages"]:
        deadline = leased["deadlines"][leased["pages"] == page][0]
        return {"next": "being fetched", "why": f"a fetcher has a lease, until {moment(deadline)} at the latest"}
    if page in again["pages"]:
        failures = last.failures if last else 0
        when = moment(float(again["times"][again["pages"] == page][0]))
        if last is not None and last.outcome is Outcome.DISALLOWED:
            return {"next": when, "why": "robots.txt disallows it; the crawl checks then whether it still does"}
        return {
            "next": when,
            "why": f"it failed {failures} {'time' if failures == 1 else 'times'} in a row and is retried then",
        }
    entry = waiting.entry(page)
    if entry is not None:
        level, ready = int(waiting.levels[entry]), readiness(waiting.host_time(HostId(int(waiting.hosts[entry]))), now)
        when = {"now": "when its turn comes", "blocked": "when its host is unblocked"}.get(
            ready, f"not before {ready}, when its host is ready"
        )
        return {"next": when, "why": REASONS[level], "level": LEVELS[level], "pages_ahead": waiting.ahead_of(entry)}
    return _not_waiting(opened, last, due)


def _not_waiting(opened: CrawlState, last: Record | None, due: str) -> Facts:
    if last is None and opened.shard.bounds.dropped:
        return {"next": "not planned", "why": "it was dropped to save memory (--most-pages, --most-memory)"}
    if last is None:
        return {"next": "never", "why": "it was lost: it waits nowhere (run centime check)"}
    after = opened.settings.refresh_after
    if due and opened.settings.continuous:
        never = "it changes too often, or is too unimportant, for the budget: no age makes a read worth its cost"
        early = "by then it is not worth its cost: the crawl checks whether it changes less often than estimated"
        worth = early if is_early(opened, last.page) else "a read will then be worth its cost"
        return {"next": due, "why": never if due == "never" else worth}
    if PageKind.HTML <= last.kind <= PageKind.OTHER:
        if after is not None:
            return {"next": moment(last.time + after), "why": f"it was read, and --refresh-after is {after:g} seconds"}
        return {
            "next": "not planned",
            "why": "it was read, and the crawl does not refresh pages (--continuous, --refresh-after)",
        }
    if last.outcome.redirect and last.redirect != NO_PAGE:
        return {"next": "not planned", "why": f"it redirects to {opened.shard.pages.texts.get(last.redirect)}"}
    why = {
        Outcome.GONE: "it is gone",
        Outcome.DISALLOWED: "robots.txt disallows it",
        Outcome.EXCLUDED: last.detail,
        Outcome.REFUSED_ADDRESS: "the address of its host is forbidden (--allow-network)",
    }.get(last.outcome)
    if why is None and last.outcome.transient:
        why = f"it was given up after {last.failures} failures in a row"
    return {"next": "not planned", "why": why or f"the outcome was {OUTCOMES[last.outcome]}, status {last.status}"}


def _last_facts(opened: CrawlState, last: Record | None) -> Facts:
    """The facts of the last visit, and counts of all visits."""
    if last is None:
        return {"visited": 0}
    return {
        "visited": last.visits,
        "changed": last.changes,
        "first_visit": moment(last.first_time),
        "last_visit": moment(last.time),
        "content_since": moment(last.changed_time),
        "content_type": last.content_type or None,
        "body_bytes": last.body_bytes,
        "etag": last.etag or None,
        "last_modified": last.modified or None,
        "leads_to": None if last.redirect == NO_PAGE else opened.shard.pages.texts.get(last.redirect),
        "marks": [mark.name.lower().replace("_", " ") for mark in Mark if mark in last.marks and mark.name],
    }


def _requisite_facts(opened: CrawlState, page: PageId, beyond: Beyond | None) -> Facts:
    """The page that needs this one, if this is a requisite, and the requisites that were first found here."""
    shard = opened.shard
    facts: Facts = {}
    nesting = shard.requisites.nesting_of(page)
    if nesting:
        parent = shard.requisites.parent_of(page)
        if not isinstance(parent, Needing):
            facts["requisite_of"] = shard.pages.texts.get(parent)
        else:
            facts["requisite_of"] = None if beyond is None else beyond.url(parent.fingerprint)
        facts["nesting"] = nesting
    first = [(shard, number) for number in shard.requisites.first_needed_by(page).tolist()]
    if beyond is not None:
        first += beyond.needed_by(int(shard.pages.table.fingerprints[page]))
    if first:
        facts["requisites_first_found_here"] = len(first)
        facts["requisites"] = [{"url": one.pages.texts.get(PageId(number))} for one, number in first[:MOST_SHOWN]]
    return facts


def _host_facts(opened: CrawlState, number: HostId, waiting: Waiting, now: float) -> Facts:
    host = opened.shard.hosts[number]
    return {
        "host": host.name,
        "host_ready": readiness(max(host.next_time, waiting.host_time(number)), now),
        "host_crawl_delay_seconds": host.politeness.crawl_delay or None,
        "host_latency_seconds": host.politeness.latency or None,
        "host_failures_in_a_row": host.politeness.failures,
        "host_trouble": host.trouble or None,
        "host_pages_waiting": opened.shard.placement.frontier.pages_of(number),
    }


def _income(paying: list[tuple[ShardState, int]], importance: float, step: Callable[[float], None]) -> Facts:
    """The payers of a page, which each shard knows by another number."""
    count, along_links, rows = 0, 0.0, []
    for shard, number in paying:
        payers = payers_of(shard, number, step)
        count += len(payers.pages)
        along_links += float(payers.contributions.sum())
        best = zip(
            payers.contributions[:MOST_SHOWN].tolist(),
            payers.links[:MOST_SHOWN].tolist(),
            shard.pages.texts.get_many(payers.pages[:MOST_SHOWN]),
            strict=True,
        )
        rows += [
            {"contribution": paid, "share_percent": 100 * paid / importance, "its_links": links, "url": url}
            for paid, links, url in best
        ]
    return {
        "links_in": count,
        "received_along_links": along_links,
        "received_from_virtual_page": importance - along_links,
        "paid_by": sorted(rows, key=lambda row: -row["contribution"])[:MOST_SHOWN],
    }


def _spending(opened: CrawlState, page: PageId, importance: float, beyond: Beyond | None) -> Facts:
    shard = opened.shard
    row = shard.pages.rows.gather(np.array([page], dtype=np.int64))
    links, shares = row.links().astype(np.int64), row.shares()
    if not len(links):
        return {"links_out": 0, "pays": "only the virtual page: no links are known"}
    targets = links[links < PROXY]  # of a partition: those that it owns
    theirs = shard.ledger.importance(targets)
    first = np.lexsort((targets, -theirs))[:MOST_SHOWN]
    shown = list(zip(theirs[first].tolist(), shard.pages.texts.get_many(targets[first]), strict=True))
    if beyond is not None:
        shown = sorted([*shown, *beyond.pages(shard, links[links >= PROXY])], key=lambda one: -one[0])[:MOST_SHOWN]
    paid = shard.ledger.damping * importance
    pays = {"pays_each_link": paid / len(links)}
    if len(shares):
        pays = {"pays_a_link_at_least": paid * float(shares.min()), "pays_a_link_at_most": paid * float(shares.max())}
    return {
        "links_out": len(links),
        **pays,
        "links_to": [{"importance": x, "url": url} for x, url in shown],
    }


def _visit_facts(record: Record) -> Facts:
    return {
        "time": moment(record.time),
        "outcome": OUTCOMES[record.outcome],
        "status": record.status or None,
        "wire_bytes": record.wire_bytes,
        "changed": _content(record),
        "latency_milliseconds": record.latency_milliseconds,
        "detail": record.detail,
    }


def _content(record: Record) -> str:
    """The facts of the content that a visit found."""
    if record.outcome is Outcome.UNCHANGED:
        return "no"
    if not record.outcome.present:
        return ""
    for mark, text in (
        (Mark.CHANGED, "yes"),
        (Mark.VOLATILE, "minor: volatile parts"),
        (Mark.MARKUP, "minor: markup"),
    ):
        if mark in record.marks:
            return text
    return "no"


def _volatile_facts(opened: CrawlState, last: Record | None, number: HostId) -> Facts:
    """The parts of a page in which a difference does not count as a change, and their share of its parts."""
    state, noise = opened.shard.pages.compared_by(last), opened.shard.hosts[number].noise
    if not state or noise is None:
        return {}
    parts, page = noise.volatile_parts(state), unpacked(state)
    places = max(1, page.count)
    share = 100 * min(len(parts), places) / places
    if page.restive() and not any(kind == RESTLESS for kind, _ in parts):
        parts.append((RESTIVE, ""))
    return {
        "volatile_share_percent": share,
        "volatile_parts": [{"part": kind, "sample": sample} for kind, sample in parts],
    }


def _hint(opened: CrawlState, name: str) -> str:
    """The end of an error message that names similar URLs of the same host."""
    shard = opened.shard
    number = shard.hosts.find(host_of(name))
    if number is None or not shard.hosts[number].known:
        return f", and neither is any page of {host_of(name)}"
    pages = np.flatnonzero(shard.pages.origins.every()["host"] == number)
    texts = shard.pages.texts.get_many(pages[:MOST_COMPARED])
    place = bisect(texts := sorted(texts), name)
    alike = texts[max(0, place - 100) : place + 100]  # comparing is slow: only URLs with a similar beginning
    near = difflib.get_close_matches(name, alike, HINTS, 0.5) or alike[:HINTS]
    return f"; of its host there {'is' if len(pages) == 1 else 'are'} {len(pages)}, such as {', '.join(near)}"
