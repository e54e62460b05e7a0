"""Marks that people gave to sites, and how far the judges agree: the experiment of Section 4.3 of the paper.

Each judge marks a site from 1 (leave it) to 4 (keep it). With m_js the mark of judge j for site s,

    reference_s  =  the mean of the marks of s, rounded to a whole mark; a half is rounded up
    score_j      =  the share of the sites that j marked whose m_js equals reference_s

A judge's own mark is part of the reference, which flatters the judge, the more so the fewer judges there are. So
`others` is the same share against the reference of the other judges alone.

    alpha  =  1 - D_o / D_e      Krippendorff's alpha for marks on a scale of equal steps: D_o is the mean squared
                                 difference of two marks of one site, D_e that of any two marks

1 means full agreement, 0 the agreement by chance.

A file of marks is CSV with a head, separated by commas, semicolons or tabs: `site,judge,mark`, a row for each mark; or
`site` and a column for each judge, a row for each site. A site is a host name or any URL of it. An empty cell is no
mark.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from centime.model.errors import BadInput

WORST, BEST = 1, 4
SCALE = tuple(range(WORST, BEST + 1))
LARGEST_FILE = 64 << 20
NOT_MARKED = 0

Table = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """How often a judge agrees with the reference; None where nothing can be compared."""

    judge: str
    marked: int
    score: float | None
    others: float | None  # against the reference of the other judges


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of some sites: a row for each site and a column for each judge, 0 where there is no mark."""

    sites: tuple[str, ...]
    judges: tuple[str, ...]
    table: Table

    def of_sites(self, wanted: Sequence[int]) -> "Marks":
        """The marks of some of the sites, by their places."""
        return Marks(tuple(self.sites[place] for place in wanted), self.judges, self.table[list(wanted)])

    def means(self) -> npt.NDArray[np.float64]:
        """The mean mark of each site."""
        means: npt.NDArray[np.float64] = self.table.sum(axis=1) / self._counts()
        return means

    def reference(self) -> Table:
        """The rounded mean mark of each site."""
        return rounded(self.table.sum(axis=1), self._counts())

    def scores(self) -> list[JudgeScore]:
        """The score of each judge."""
        made = []
        sums, counts, reference = self.table.sum(axis=1), self._counts(), self.reference()
        for number, judge in enumerate(self.judges):
            mine = self.table[:, number]
            marked = mine != NOT_MARKED
            shared = marked & (counts > 1)
            others = rounded(sums[shared] - mine[shared], counts[shared] - 1)
            made.append(
                JudgeScore(
                    judge,
                    int(marked.sum()),
                    _share(mine[marked] == reference[marked]),
                    _share(mine[shared] == others),
                )
            )
        return made

    def spreads(self) -> Table:
        """The difference of the highest and the lowest mark of each site."""
        lowest = np.where(self.table == NOT_MARKED, BEST + 1, self.table).min(axis=1)
        spreads: Table = self.table.max(axis=1) - lowest
        return spreads

    def alpha(self) -> float | None:
        """Krippendorff's alpha; None if no site has two marks, or all marks are the same."""
        counts = self._counts()
        pairable = self.table[counts > 1]
        marks = pairable[pairable != NOT_MARKED].astype(np.float64)
        if not len(marks) or (marks == marks[0]).all():
            return None
        observed = 0.0
        for row in pairable:
            given = row[row != NOT_MARKED].astype(np.float64)
            observed += _squares(given) / (len(given) - 1)
        return 1.0 - observed / (_squares(marks) / (len(marks) - 1))

    def _counts(self) -> Table:
        counts: Table = np.count_nonzero(self.table, axis=1)
        return counts


def rounded(sums: Table, counts: Table) -> Table:
    """The means of whole marks, each rounded to a whole mark, a half up."""
    nearest: Table = (2 * sums + counts) // (2 * counts)
    return nearest


def read_marks(path: Path, site_of: Callable[[list[str]], list[str]]) -> Marks:
    """The marks in a file; `site_of` gives the names of the sites that the file names. BadInput says what is wrong, and
    in which line.
    """
    given = list(_given(path))
    if not given:
        raise BadInput(f"{path}: there is no mark in this file")
    names = site_of([site for _, site, _, _ in given])
    sites = {name: place for place, name in enumerate(dict.fromkeys(names))}
    judges = {judge: place for place, judge in enumerate(dict.fromkeys(judge for _, _, judge, _ in given))}
    table = np.zeros((len(sites), len(judges)), dtype=np.int64)
    for (line, _, judge, mark), name in zip(given, names, strict=True):
        place = sites[name], judges[judge]
        if table[place] not in (NOT_MARKED, mark):
            raise BadInput(f"{path}, line {line}: {judge} marks {name} {mark}, and {table[place]} in another line")
        table[place] = mark
    return Marks(tuple(sites), tuple(judges), table)


def _given(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Every mark of a file: its line, site and judge, and the mark."""
    lines = _lines(path)
    head = [name.strip() for name in next(lines, (0, []))[1]]
    lowered = [name.lower() for name in head]
    if not lowered or lowered[0] != "site":
        raise BadInput(f"{path}: the first line must name the columns: site,judge,mark, or site and the judges")
    is_long = lowered == ["site", "judge", "mark"]
    judges = [] if is_long else head[1:]
    if not is_long and (not judges or "" in judges or len(set(judges)) < len(judges)):
        raise BadInput(f"{path}: each column after `site` needs the name of a judge, each its own")
    for line, row in lines:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != len(head):
            raise BadInput(f"{path}, line {line}: there are {len(cells)} columns instead of {len(head)}")
        if not cells[0]:
            raise BadInput(f"{path}, line {line}: the name of the site is missing")
        pairs = [(cells[1], cells[2])] if is_long else list(zip(judges, cells[1:], strict=True))
        for judge, mark in pairs:
            if not mark:
                continue
            if not judge:
                raise BadInput(f"{path}, line {line}: the name of the judge is missing")
            if mark not in map(str, SCALE):
                raise BadInput(f"{path}, line {line}: a mark is 1, 2, 3 or 4, not {mark!r}")
            yield line, cells[0], judge, int(mark)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"{path}: a file of marks has at most {LARGEST_FILE >> 20} MB")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise BadInput(f"{path}: the file cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError as problem:
        raise BadInput(f"{path}: this is not text in UTF-8 (byte {problem.start})") from problem
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=first.count))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as problem:
        raise BadInput(f"{path}, line {reader.line_num}: this is not CSV ({problem})") from problem


def _share(same: npt.NDArray[np.bool_]) -> float | None:
    return float(same.mean()) if len(same) else None


def _squares(values: npt.NDArray[np.float64]) -> float:
    """The sum of the squared differences of all pairs, each counted twice."""
    return float(2 * (len(values) * (values**2).sum() - values.sum() ** 2))
