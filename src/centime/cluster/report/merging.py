"""Merges the reports of all partitions into one; no other module knows how.

    counts          are added, also inside groups (`outcomes`, `kinds` ...)
    shares          are means, weighted by the known pages
    rows            are sorted again and numbered again
    what is shared  is that of the first partition: settings, the ledger, subscriptions

The certified error is not a sum: it is that of the certificate (`ledger/certificate.py`).
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

Facts = dict[str, Any]
Rows = list[dict[str, Any]]

SHARED = frozenset({"folder", "ledger", "settings", "subscriptions", "rhythms_known", "by", "indexed"})
SHARES = frozenset(
    {
        "fresh_percent_of_importance",
        "fresh_share",
        "certified_error",
        "worth_needed",
        "changes_per_page_and_day",
        "rows_garbage_percent",
        "largest_error",
    }
)


def merged_facts(all_facts: Sequence[Facts]) -> Facts:
    """The facts of all partitions together; those of the first say which there are."""
    if not all_facts:
        return {}
    weights = [float(facts.get("known", 0)) for facts in all_facts]
    names = dict.fromkeys(name for facts in all_facts for name in facts)
    return {name: _merged(name, [facts[name] for facts in all_facts if name in facts], weights) for name in names}


def figures_together(parts: Sequence[Rows], span: float) -> Rows:
    """Figures over time of all partitions (`store/figures.py`), those of one step together: counts are added, from a
    partition without a figure in a step its last one; shares are means over known pages. Each has the certified error
    of all together as last known: the largest counts, and none if one partition knows none.
    """
    times = sorted({row["time"] // span for rows in parts for row in rows})
    made: Rows = []
    last: list[Facts | None] = [None] * len(parts)
    by_time = [{row["time"] // span: row for row in rows} for rows in parts]
    for step in times:
        last = [rows.get(step, before) for rows, before in zip(by_time, last, strict=True)]
        found = [row for row in last if row is not None]
        newest = max(row["time"] for row in found)
        errors = [row["certified_error"] for row in found]
        certified = None if None in errors or len(found) < len(parts) else max(errors)
        made.append(merged_facts(found) | {"time": newest, "span_seconds": span, "certified_error": certified})
    return made


def merged_rows(parts: Iterable[Rows], key: str, count: int) -> Rows:
    """The first `count` rows of all partitions, those with the largest value of `key` first, numbered again."""
    return _numbered(islice(heapq.merge(*parts, key=lambda row: _order(row[key]), reverse=True), count))


def _numbered(rows: Iterable[dict[str, Any]]) -> Rows:
    return [row | {"rank": rank} if "rank" in row else row for rank, row in enumerate(rows, 1)]


def _order(value: Any) -> tuple[bool, Any]:
    """None comes after everything."""
    return value is not None, value


def _merged(name: str, values: list[Any], weights: list[float]) -> Any:
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    if name in SHARED:
        return first
    if name in SHARES:
        return _mean(values, weights)
    if isinstance(first, bool):
        return any(known)
    if isinstance(first, int | float):
        return sum(known)
    if isinstance(first, Mapping):
        return _merged_groups(known)
    if isinstance(first, list):
        return list({str(one): one for some in known for one in some}.values())
    return _most_telling(name, known)


def _merged_groups(groups: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Groups of counts, or of further groups."""
    names = dict.fromkeys(name for group in groups for name in group)
    return {name: _merged(name, [group[name] for group in groups if name in group], []) for name in names}


def _mean(values: list[Any], weights: list[float]) -> float | None:
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    total = sum(weight for _, weight in pairs)
    return float(sum(value * weight for value, weight in pairs) / total if total else pairs[0][0])


def _most_telling(name: str, words: list[str]) -> str:
    """Of words, the one that reports trouble: that of the partition that admits least; otherwise the first in order."""
    if name == "admitted":
        return max(words, key=lambda word: (not word.startswith("all"), word.startswith("no")))
    return min(words)
