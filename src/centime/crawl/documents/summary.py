"""Statistics of the XML that a crawl has found, as proposed in the Xyleme paper."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from centime.crawl.documents.catalog import Entry
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.visits import KINDS, are_present, last_visits
from centime.model.outcome import PageKind

MOST_LISTED = 20  # DTDs, roots and namespaces


def summary(crawls: Sequence[CrawlState], entries: Iterable[Entry]) -> dict[str, Any]:
    """Of a crawl, or of all its partitions: shares, states, sizes, and documents by DTD, root and namespace."""
    states: Counter[str] = Counter()
    dtds: Counter[str] = Counter()
    roots: Counter[str] = Counter()
    namespaces: Counter[str] = Counter()
    sizes: list[int] = []
    elements: list[int] = []
    depths: list[int] = []
    for entry in entries:
        facts = entry.facts
        states[entry.state.value] += 1
        sizes.append(entry.bytes)
        if facts:
            dtds[facts["public_id"] or facts["system_id"] or ("internal" if facts["doctype"] else "none")] += 1
            roots[facts["root"]] += 1
            namespaces.update(facts["namespaces"] or ["none"])
            elements.append(facts["elements"])
            depths.append(facts["depth"])
    return {
        **_share(crawls),
        "stored": states.total(),
        "states": dict(states.most_common()),
        "bytes": _spread(sizes),
        "elements": _spread(elements),
        "depth": _spread(depths),
        "dtds": dict(dtds.most_common(MOST_LISTED)),
        "roots": dict(roots.most_common(MOST_LISTED)),
        "namespaces": dict(namespaces.most_common(MOST_LISTED)),
        "changes_per_visit": _changes(crawls),
    }


def _share(states: Sequence[CrawlState]) -> dict[str, Any]:
    kinds = np.concatenate([last_visits(state.shard.pages, "kind")["kind"] for state in states])
    present = int(np.count_nonzero(are_present(kinds)))
    documents = int(np.count_nonzero(kinds == PageKind.XML))
    return {"pages": present, "documents": documents, "share_percent": 100 * documents / max(1, present)}


def _spread(values: list[int]) -> dict[str, float] | None:
    """Least, median, mean and greatest of some values."""
    if not values:
        return None
    return {
        "least": min(values),
        "median": float(np.median(values)),
        "mean": float(np.mean(values)),
        "greatest": max(values),
    }


def _changes(states: Sequence[CrawlState]) -> dict[str, float]:
    """Changes seen per visit after the first, by kind of page."""
    fields = ("kind", "visits", "changes")
    each = [last_visits(state.shard.pages, *fields) for state in states]
    found = {name: np.concatenate([one[name] for one in each]) for name in fields}
    made = {}
    for kind in (PageKind.HTML, PageKind.XML, PageKind.DTD, PageKind.OTHER):
        chosen = found["kind"] == kind
        again = int(found["visits"][chosen].astype(np.int64).sum()) - int(np.count_nonzero(chosen))
        if again > 0:
            made[KINDS[kind]] = int(found["changes"][chosen].astype(np.int64).sum()) / again
    return made
