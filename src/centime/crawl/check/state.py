"""Checks the state against its laws: money, frontier, URL table, link rows, records, counts, and that no page is lost.

    Every page is in at most one of frontier, leases and retries. A page in none of them was visited, and its last visit
    was final: the page was present, redirects, is gone, was disallowed, or was given up. Dropped pages were never
    visited and are in none of them; there are as many as are counted.

Everything is checked, so that all problems are reported. Only the ledger is skipped if a link row leads to an unknown
page, because its kernels do not check where they write.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from centime.crawl.check.findings import Findings
from centime.crawl.engine.state import CrawlState, rows_of
from centime.crawl.report.changes import presences
from centime.crawl.report.planning.waiting import Waiting
from centime.crawl.report.visits import BATCH, TRANSIENT, are_present, batches, last_visits
from centime.frontier.kind import DISCOVERY
from centime.ledger.accounts import PROXY
from centime.model.address import fingerprint, host_of
from centime.model.errors import CentimeError
from centime.model.ids import host_ids, page_ids
from centime.model.outcome import Outcome, PageKind, Presence
from centime.model.row_batch import Pages
from centime.shard.state import ShardState
from centime.shard.wanting import check_interest
from centime.shard.weights.weighing import check_link_weights
from centime.store.link_rows import NO_LIMIT

Step = Callable[[float], None]


def check_state(opened: CrawlState, findings: Findings, step: Step) -> None:
    """Checks everything; `step` receives the number of further pages checked, three times for each page."""
    shard = opened.shard
    known = shard.pages
    in_order = _counts(opened, findings) and _rows(opened, findings, step)
    for part, what, count, law in (
        ("ledger", "pages: money is conserved to the last unit", known.count, shard.ledger.check if in_order else None),
        (
            "frontier",
            "pages are in their queues, best first",
            len(shard.placement.frontier),
            shard.placement.frontier.check,
        ),
        (
            "change rates",
            "pages have one place in the calendar",
            len(shard.refreshing.book),
            lambda: shard.refreshing.book.check(shard.value),
        ),
        (
            "requisites",
            "files are known, and so are the pages that need them",
            len(shard.requisites.every()),
            lambda: shard.requisites.check(known.count, known.origins.every()["host"]),
        ),
        (
            "refused links",
            "URLs are refused and not known",
            len(shard.refusals),
            lambda: shard.refusals.check(known.table),
        ),
        (
            "interest",
            "pages have the interest, links and evidence that rows and records show",
            known.count,
            partial(check_interest, shard) if in_order and shard.interest is not None else None,
        ),
        (
            "link weights",
            "pages share out what they pay by the kinds of their links",
            known.count,
            partial(check_link_weights, shard) if in_order and shard.link_kinds is not None else None,
        ),
        ("url table", "fingerprints lead to their pages, one to one", known.table.count, known.table.check),
        *_transfers(shard),
    ):
        try:
            if law is not None:
                law()
                findings.holds(part, what, count)
        except CentimeError as trouble:
            findings.caught(part, trouble)
    step(known.count)
    if in_order:  # the following checks look pages up by number
        _texts(opened, findings, step)
        _visits(opened, findings)
        _places(opened, findings)


def _transfers(shard: ShardState) -> list[tuple[str, str, int, Callable[[], None]]]:
    """The law of a partition's transfers, if the crawl is a partition."""
    transfers = shard.transfers
    if transfers is None:
        return []
    what = "proxies of pages of other partitions: the money sent and received is in the channels, to the last unit"
    return [("transfers", what, transfers.table.count, lambda: transfers.check(shard.pages.table.fingerprints))]


def _counts(opened: CrawlState, findings: Findings) -> bool:
    shard = opened.shard
    known, count = shard.pages, shard.pages.count
    before = len(findings.problems)
    for name, found in (
        ("pages with a text", known.texts.count),
        ("pages with an origin", known.origins.count),
        ("pages with an account", shard.ledger.pages),
        ("pages known to hosts", sum(host.known for host in shard.hosts.all)),
    ):
        findings.counted("counts", name, found, count)
    return len(findings.problems) == before


def _texts(opened: CrawlState, findings: Findings, step: Step) -> None:
    known, hosts = opened.shard.pages, opened.shard.hosts
    origins, fingerprints = known.origins.every(), known.table.fingerprints
    names = [host.name for host in hosts.all]
    path = known.texts.texts.path
    before = len(findings.problems)
    per_host = np.bincount(origins["host"], minlength=len(names))
    for pages in batches(known.count):
        try:
            urls = known.texts.get_many(pages)
        except ValueError as trouble:
            findings.wrong("url table", f"a URL of pages {pages[0]} to {pages[-1]} cannot be read: {trouble}", path)
            continue
        found = np.fromiter(map(fingerprint, urls), dtype=np.uint64, count=len(urls))
        for place in np.flatnonzero(found != fingerprints[pages]).tolist():
            findings.wrong(
                "url table", f"page {pages[place]}: the fingerprint of {urls[place]!r} is not the stored one", path
            )
        for page, url, host in zip(page_ids(pages), urls, host_ids(origins["host"][pages]), strict=True):
            if host >= len(names) or names[host] != host_of(url):
                findings.wrong("hosts", f"page {page}: {url!r} is stored under host {host}", known.origins.file.path)
        step(len(pages))
    findings.holds("url table", "texts have the stored fingerprints and belong to their hosts", known.count, before)
    for number in host_ids(np.flatnonzero(per_host[: len(names)] != [host.known for host in hosts.all])):
        findings.wrong(
            "counts", f"host {names[number]}: {hosts[number].known} pages are counted, but there are {per_host[number]}"
        )


def _rows(opened: CrawlState, findings: Findings, step: Step) -> bool:
    shard = opened.shard
    path = shard.pages.rows.file.path
    links, before = 0, len(findings.problems)
    rows = shard.pages.rows
    known, rows.known = rows.known, lambda: NO_LIMIT  # reading would stop at the first wrong row otherwise
    proxies = 0 if shard.transfers is None else shard.transfers.table.count
    for pages, lengths, targets in rows_of(shard, BATCH, remote=True):
        unknown = (targets >= shard.pages.count) & ((targets < PROXY) | (targets >= PROXY + proxies))
        wrong = np.flatnonzero((targets < 0) | unknown)
        for place in wrong.tolist():
            page = pages[np.searchsorted(np.cumsum(lengths), place, side="right")]
            findings.wrong(
                "rows", f"page {page} links to page {targets[place]}; known are 0 to {shard.pages.count - 1}", path
            )
        links += len(targets)
        step(len(pages))
    rows.known = known
    findings.holds("rows", "links lead to known pages", links, before)
    return len(findings.problems) == before


def _visits(opened: CrawlState, findings: Findings) -> None:
    shard = opened.shard
    found = last_visits(shard.pages, "page", "visits", "kind")
    visited = np.flatnonzero(found["visits"])
    path = shard.pages.records.file.path
    for page in visited[found["page"][visited] != visited].tolist():
        findings.wrong("records", f"the last record of page {page} belongs to page {found['page'][page]}", path)
    if not findings.problems:  # the pass over all records relies on them
        _presence(opened, findings, visited)
    recorded = sum(shard.outcomes.values()) - shard.outcomes[Outcome.LOST]
    findings.counted("records", "visits are recorded", int(found["visits"].sum(dtype=np.int64)), recorded)
    findings.counted("counts", "visits of all hosts", sum(host.visits for host in shard.hosts.all), recorded)
    findings.counted("counts", "bytes of all hosts", sum(host.wire_bytes for host in shard.hosts.all), shard.wire_bytes)
    findings.counted("counts", "pages that were visited", len(visited), shard.visited_count)
    findings.counted(
        "counts", "pages that were present", int(np.count_nonzero(are_present(found["kind"]))), shard.read_count
    )


def _presence(opened: CrawlState, findings: Findings, visited: Pages) -> None:
    """Checks that the last record of each page says what all its visits show: whether the page is there."""
    known = opened.shard.pages
    said, shown = last_visits(known, "presence")["presence"], presences(known)
    before = len(findings.problems)
    wrong = visited[(said[visited] != shown[visited]) & (said[visited] != Presence.UNRECORDED)]
    for page in wrong.tolist():
        recorded, seen = (Presence(int(column[page])).name.lower() for column in (said, shown))
        findings.wrong(
            "records", f"page {page} is recorded as {recorded}, but its visits show {seen}", known.records.file.path
        )
    findings.holds("records", "last visits say whether their pages are there", len(visited), before)


def _places(opened: CrawlState, findings: Findings) -> None:
    """Checks that no page is lost, and that none waits in two places."""
    shard = opened.shard
    count = shard.pages.count
    waiting = Waiting(shard)
    parts = {
        "frontier": waiting.pages,
        "leases": shard.placement.leases.held(),
        "retries": shard.placement.retries.state()[1]["pages"],
    }
    places, before = np.zeros(count, dtype=np.int64), len(findings.problems)
    for name, pages in parts.items():
        strange = pages[(pages < 0) | (pages >= count)]
        for page in strange.tolist():
            findings.wrong(name, f"page {page} is not known")
        np.add.at(places, pages[(pages >= 0) & (pages < count)], 1)
    for page in np.flatnonzero(places > 1).tolist():
        findings.wrong(
            "schedule", f"page {page} is in {' and '.join(name for name, pages in parts.items() if page in pages)}"
        )
    findings.holds(
        "schedule", "pages are in one of frontier, leases and retries", int(np.count_nonzero(places == 1)), before
    )
    origins = shard.pages.origins_of(waiting.pages)
    # pages of other levels are sorted by worth, whatever their class
    own_class = np.where(waiting.levels == DISCOVERY, origins["focus"], 0)
    for entry in np.flatnonzero((origins["host"] != waiting.hosts) | (own_class != waiting.classes)).tolist():
        findings.wrong("frontier", f"page {waiting.pages[entry]} waits under another host or focus class than its own")
    found = last_visits(shard.pages, "visits", "outcome", "kind")
    outside = places == 0
    never = outside & (found["visits"] == 0)
    open_ = outside & ~never & TRANSIENT[found["outcome"]] & (found["kind"] != PageKind.DEAD)
    lost, dropped = np.flatnonzero(never).tolist(), shard.bounds.dropped
    if dropped:
        findings.counted("schedule", "pages are in none of them and were never visited: dropped", len(lost), dropped)
    else:
        for page in lost:
            findings.wrong("schedule", f"page {page} was never visited and waits nowhere")
    for page in np.flatnonzero(open_).tolist():
        outcome = Outcome(int(found["outcome"][page])).name.lower()
        findings.wrong("schedule", f"page {page} ended with {outcome}, was not given up and waits nowhere")
    final = int(np.count_nonzero(outside & ~never & ~open_))
    findings.holds("schedule", "pages are in none of them, because their last visit was final", final, before)
