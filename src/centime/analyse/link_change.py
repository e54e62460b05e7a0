"""A proposed change of links: the rows of the changed pages, before and after.

    D = W' - W        0 except in the columns of the changed pages C

Theorem 5.3 uses delta_p = |D_p|_1 of a changed page. With h links before and h' after, of which n are new, r are
removed and u stay,

    delta_p = |1/h - 1/h'| u + n/h' + r/h,   1 if p had no links or has none left;   0 <= delta_p <= 2

Guaranteed: the graph is never copied; everything has the size of the changed rows.

Traps: the paper prints h' for h in two places of delta_p. Adding a link that exists makes two (Example 1.2), and
removing a link removes it once. In a weighted graph, a new link has weight 1 by default.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from centime.analyse.community import Names, read_lines
from centime.analyse.subgraph import Subgraph
from centime.analyse.transition import Pages, Transition, Vector, columns, sums
from centime.model.errors import BadInput, BadRow
from centime.model.graph import Graph

Link = tuple[int, int, float]
"""Source, target and weight."""
Row = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Change:
    """The pages whose links change, sorted, and their columns of W: row k of `before` and `after` is of pages[k]."""

    pages: Pages
    before: Transition
    after: Transition

    def differences(self) -> tuple[Pages, Pages, Vector]:
        """The entries of D: the index of the changed page in `pages`, the target, and the difference of the shares."""
        both = (self.before, self.after)
        rows = np.concatenate([np.repeat(np.arange(side.pages), np.diff(side.offsets)) for side in both])
        targets = np.concatenate([side.targets for side in both]).astype(np.int64)
        shares = np.concatenate([-self.before.weights, self.after.weights])
        width = int(targets.max(initial=0)) + 1
        key, place = np.unique(rows * width + targets, return_inverse=True)
        return key // width, key % width, sums(place, shares, len(key))

    def deltas(self) -> Vector:
        """delta_p of Theorem 5.3 for each changed page."""
        rows, _, shares = self.differences()
        return sums(rows, np.abs(shares), len(self.pages))

    def within(self, community: Subgraph) -> "Change":
        """The change in the subgraph of a community: with its page numbers, and only links that stay inside."""
        pages = np.searchsorted(community.pages, self.pages)
        return Change(pages, *(_inside(side, community.pages) for side in (self.before, self.after)))


def change(graph: Graph, names: Names, added: Iterable[Link], removed: Iterable[Link]) -> Change:
    """The change that removes links and then adds links; the weights of removed links do not matter."""
    rows: dict[int, Row] = {}
    for source, target, _ in removed:
        row = rows.setdefault(source, _row(graph, source))
        place = next((place for place, (page, _) in enumerate(row) if page == target), None)
        if place is None:
            raise BadRow(
                f"there is no link from {names[source]} to {names[target]} to remove, or fewer than are to be removed"
            )
        del row[place]
    for source, target, weight in added:
        rows.setdefault(source, _row(graph, source)).append((target, weight))
    pages = sorted(rows)
    before, after = _columns([_row(graph, page) for page in pages]), _columns([rows[page] for page in pages])
    return Change(np.array(pages, dtype=np.int64), before, after)


def read_links(path: Path, names: Names) -> list[Link]:
    """Reads the links of a small file: per line two page names and optionally a weight, separated by tabs, commas or
    blanks.
    """
    links = []
    for line, text in read_lines(path):
        fields = [field.strip() for field in text.split("\t")] if "\t" in text else text.replace(",", " ").split()
        if len(fields) not in (2, 3):
            raise BadInput(f"{path}, line {line}: expected two pages and, optionally, a weight")
        source, target = (names.find(field) for field in fields[:2])
        if source is None or target is None:
            raise BadInput(f"{path}, line {line}: the graph has no page {fields[0] if source is None else fields[1]}")
        links.append((source, target, _weight(fields[2], f"{path}, line {line}") if len(fields) == 3 else 1.0))
    return links


def _weight(text: str, where: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        raise BadInput(f"{where}: the weight {text!r} is not a number") from None
    if not (isfinite(weight) and weight >= 0):
        raise BadInput(f"{where}: a weight must be a finite number, zero or more, not {text}")
    return weight


def _row(graph: Graph, page: int) -> Row:
    place = slice(graph.offsets[page], graph.offsets[page + 1])
    targets = graph.targets[place].tolist()
    return list(
        zip(targets, [1.0] * len(targets) if graph.weights is None else graph.weights[place].tolist(), strict=True)
    )


def _columns(rows: list[Row]) -> Transition:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    targets = np.array([target for row in rows for target, _ in row], dtype=np.int32)
    return columns(offsets, targets, np.array([weight for row in rows for _, weight in row], dtype=np.float64))


def _inside(rows: Transition, pages: Pages) -> Transition:
    place = np.minimum(np.searchsorted(pages, rows.targets), len(pages) - 1)
    stays = pages[place] == rows.targets
    offsets = np.concatenate([[0], np.cumsum(stays)])[rows.offsets]
    return Transition(offsets, place[stays].astype(np.int32), rows.weights[stays], rows.share)
