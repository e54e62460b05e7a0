"""A ledger whose pages have names of your choice: the exact ledger for notebooks and small programs.

Names are hashable values (URLs, titles, numbers). A page becomes known when its name is first used; page numbers follow
that order.

>>> from centime import Ledger
>>> ledger = Ledger()
>>> ledger.visit("home", ["news", "about"])
>>> ledger.visit("news", ["home"])
>>> ledger.visit("about", ["home", "news"])
>>> done = ledger.settle(error=1e-9)
>>> for page in ledger.top(3):
...     print(f"{page.name:6} {page.importance:.3f}")
home   1.298
news   1.000
about  0.702
"""

from collections import ChainMap
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from centime.graphs.foreign import as_graph
from centime.ledger.exact import ExactLedger
from centime.ledger.file import read_state, write_state
from centime.ledger.memory_rows import WebRows, row_batch
from centime.ledger.protocol import Settlement
from centime.model.errors import BadInput, BadRow, DamagedFile, UnknownPage
from centime.model.row_batch import RowBatch


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page with its importance, whose error is at most `error`."""

    name: Hashable
    importance: float
    error: float


class Ledger:
    """Importance of named pages, exact for the links known now, with a certified error."""

    def __init__(self, *, damping: float = 0.85) -> None:
        self.numbers = ExactLedger(damping=damping)
        self._number: dict[Hashable, int] = {}
        self._names: list[Hashable] = []
        self._classes: dict[float, int] = {1.0: 0}

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        best = ", ".join(f"{page.name!r} {page.importance:.4g}" for page in self.top(3))
        return f"<Ledger of {len(self)} pages, mean error at most {self.error():.1e}, best {best or 'none'}>"

    def __contains__(self, name: Hashable) -> bool:
        return name in self._number

    def visit(self, name: Hashable, links: Iterable[Hashable] | Mapping[Hashable, float] = ()) -> None:
        """Records that a page was read, with these links or a weight for each link; the page pays what it owes."""
        if isinstance(links, str | bytes):
            raise BadRow(f"the links of {name!r} must be a list of names, not a single string")
        targets = list(links)
        weights = [float(links[target]) for target in targets] if isinstance(links, Mapping) else None
        new = [one for one in dict.fromkeys([name, *targets]) if one not in self._number]
        joining = {one: len(self) + k for k, one in enumerate(new)}
        number = ChainMap(self._number, joining)
        # Everything that can be refused is refused before the first page joins.
        row = row_batch([number[target] for target in targets], weights, len(self) + len(new))
        self.numbers.join(len(new))
        self._number.update(joining)
        self._names.extend(new)
        self.numbers.visit_many(self._number[name], row)

    def visit_all(
        self, graph: object, *, source: str | None = None, target: str | None = None, weight: str | None = "weight"
    ) -> None:
        """Records a visit to every page of a graph: a data frame, pairs, or any other graph that `centime.pagerank`
        takes.

        Names are text or whole numbers, as in `pagerank`; a page that is only linked to is read too, without links.
        """
        named = as_graph(graph, weight, source=source, target=target)
        labels = [named.label(page) for page in range(named.graph.pages)]
        new = [label for label in labels if label not in self._number]
        self.numbers.join(len(new))
        self._number.update((label, len(self) + k) for k, label in enumerate(new))
        self._names.extend(new)
        pages = np.array([self._number[label] for label in labels], dtype=np.int64)
        rows = WebRows(named.graph)
        links = pages.astype(np.int32)[named.graph.targets]
        self.numbers.visit_many(pages, RowBatch(rows.starts, rows.lengths, links, rows.weights))

    def forget(self, name: Hashable) -> None:
        """Records that a page is gone: it stays known, without links."""
        self.numbers.forget(self._find(name))

    def redirect(self, name: Hashable, target: Hashable) -> None:
        """Records that a page redirects to another."""
        self.visit(name, [target])

    def focus(self, names: Iterable[Hashable], weight: float) -> None:
        """Makes the virtual page give these pages `weight` times as much as others; a weight is a multiple of 1/16."""
        pages = [self._find(name) for name in names]
        focus = self._classes.get(weight, len(self._classes))
        self.numbers.set_focus(focus, weight)
        self._classes[weight] = focus
        self.numbers.focus(pages, focus)

    def settle(
        self,
        *,
        error: float | None = None,
        threshold: float | None = None,
        payments: int | None = None,
        seconds: float | None = None,
    ) -> Settlement:
        """Pays debts along known links until the certified error is at most `error`, or a budget is used up."""
        return self.numbers.settle(error=error, threshold=threshold, payments=payments, seconds=seconds)

    def importance(self, name: Hashable) -> float:
        """The importance of a page; the mean over all pages is 1."""
        return float(self.numbers.importance([self._find(name)])[0])

    def top(self, count: int = 10) -> list[RankedPage]:
        """The most important pages, in descending order of importance."""
        best = self.numbers.top(count)
        error = self.numbers.largest_error()
        return [
            RankedPage(self._names[page], float(x), error)
            for page, x in zip(best, self.numbers.importance(best), strict=True)
        ]

    def error(self) -> float:
        """The certified error: the mean over all pages of the error of their importance is at most this."""
        return self.numbers.error()

    def check(self) -> None:
        """Computes everything again; raises LedgerImbalance if a single unit of money differs."""
        self.numbers.check()

    def statistics(self) -> dict[str, int | float | str]:
        """Figures about the ledger."""
        return self.numbers.statistics()

    def save(self, path: str | Path) -> None:
        """Writes the ledger with its names, which must be strings or integers, to one file."""
        for name in self._names:
            if type(name) not in (str, int):
                raise BadInput(f"cannot save a page named {name!r}: only names that are strings or integers are saved")
        facts, arrays = self.numbers.state()
        named = {"names": self._names, "classes": list(self._classes.items()), "ledger": facts}
        write_state(Path(path), "named", named, arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Ledger":
        """The ledger of a file that `save` wrote; it continues exactly as the saved one."""
        kind, facts, arrays = read_state(Path(path))
        if kind != "named":
            raise DamagedFile(f"{path}: contains a {kind!r} ledger without names; centime.ledger.file.load reads it")
        ledger = cls()
        ledger.numbers = ExactLedger.from_state(facts["ledger"], arrays)
        ledger._names = facts["names"]
        ledger._number = {name: number for number, name in enumerate(ledger._names)}
        ledger._classes = dict(facts["classes"])
        return ledger

    def _find(self, name: Hashable) -> int:
        if name not in self._number:
            raise UnknownPage(f"no page is named {name!r}")
        return self._number[name]
