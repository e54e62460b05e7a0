"""The solver over slices: it streams links from disk or memory, holds the sums of one slice per thread, and iterates by
Gauss-Seidel between slices.

It solves y = dWy + b e, like `push`. For each page j it stores v_j = d y_j / k_j, its payment along a link (0 if it
dangles):

    y_i = (sum over links j->i, j != i, of v_j  +  b e_i) / (1 - d own_i / k_i)

After each iteration b N is what pages have not paid along links: the balance that power iteration keeps. It costs
nothing, and without it a graph that mixes fast takes as many iterations as one that does not (`push.py`). It must be
what they have not paid of y, not of N: where a page has little but links to itself, that would diverge.

The new v of a slice are used by the slices after it (Section 5.3 of the Xyleme paper). Slices are processed in groups,
one per thread. The values of a group are written when all its slices are done, so the result does not depend on which
thread was faster.

`Values` holds v in memory, as 32-bit or 64-bit numbers, or on disk, where each slice reads the values of its sources in
order; then neither links nor vectors need memory. Since y is v k / d by definition, 32 bits cost accuracy but never the
certificate, which is computed from the stored v.

e is 1 for each page, or the personalisation in a file (`bias_file.py`), which each slice reads in order too.

Guaranteed: `certify` computes one iteration of the whole graph from frozen values, x = Gh, and
|x - x*|_1 <= d/(1-d) |x - h|_1 (see `push.py`). The scores go to a file, 64 bits per page. Nothing in memory grows with
the pages, except `Values` if it is in memory.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, kernel
from centime.rank.certificate import UNIT, distance, operations
from centime.rank.crew import Crew
from centime.rank.scores import Vector
from centime.rank.sliced.slices import DEGREES, FARTHEST, OWN, Manifest, Words, read_numbers, read_units

Numbers = npt.NDArray[np.floating[Any]]
WINDOW_PAGES = 2 * (FARTHEST + 1)
EVERYONE_ALIKE: Vector = np.ones(1)


class Slices(Protocol):
    """Links in slices, in memory or on disk."""

    pages: int
    links: int
    bits: int
    slices: int

    def units(self, number: int, buffer: Words) -> Iterator[tuple[int, int, Words]]:
        """The words of a slice in pieces, each with the source before it and the source at its end."""
        ...

    def degrees(self, first: int, end: int) -> npt.NDArray[np.uint32]:
        """The out-degrees of pages `first` to `end - 1`."""
        ...

    def own(self, first: int, end: int) -> npt.NDArray[np.uint32]:
        """The numbers of self-links of pages `first` to `end - 1`."""
        ...


class DiskSlices:
    """The slices of a folder."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.pages, self.links, self.bits, self.slices = manifest.pages, manifest.links, manifest.bits, manifest.slices

    def units(self, number: int, buffer: Words) -> Iterator[tuple[int, int, Words]]:
        """The words of a slice in pieces, each with the source before it and the source at its end."""
        return read_units(self.folder, self.manifest, number, buffer)

    def degrees(self, first: int, end: int) -> npt.NDArray[np.uint32]:
        """The out-degrees of pages `first` to `end - 1`."""
        return read_numbers(self.folder / DEGREES, np.uint32, first, end)

    def own(self, first: int, end: int) -> npt.NDArray[np.uint32]:
        """The numbers of self-links of pages `first` to `end - 1`."""
        return read_numbers(self.folder / OWN, np.uint32, first, end)


class Values:
    """v of all pages: in memory (32 or 64 bits per page), or in a file (64 bits)."""

    def __init__(self, pages: int, kind: type[np.float32] | type[np.float64], path: Path | None = None) -> None:
        self.pages = pages
        self.kind = kind
        self._memory: Numbers = np.zeros(pages if path is None else 0, dtype=kind)
        self._path = path
        if path is not None:
            with path.open("ab") as file:
                file.truncate(8 * pages)

    def window(self, first: int) -> tuple[Numbers, int]:
        """A range of values that begins at page `first` or before, and the page of its first value."""
        if self._path is None:
            return self._memory, 0
        return self.part(first, min(self.pages, first + WINDOW_PAGES)), first

    def part(self, first: int, end: int) -> Numbers:
        """The values of pages `first` to `end - 1`."""
        return self._memory[first:end] if self._path is None else read_numbers(self._path, self.kind, first, end)

    def write(self, first: int, values: Vector) -> None:
        """Writes new values from page `first` on."""
        if self._path is None:
            self._memory[first : first + len(values)] = values
        else:
            with self._path.open("r+b", buffering=0) as file:
                file.seek(8 * first)
                file.write(values.astype(self.kind).tobytes())


class SliceSolver:
    """The state of one computation."""

    def __init__(
        self,
        slices: Slices,
        values: Values,
        damping: float,
        crew: Crew,
        buffer_words: int,
        emphasis: Path | None = None,
    ) -> None:
        self.slices = slices
        self.emphasis = emphasis
        self.values = values
        self.damping = damping
        self.crew = crew
        self.iterations = 0
        self.moved = np.inf  # sum of |y - y'| over the pages with links, in the last iteration
        self.total = 0.0  # sum of y
        self.base = 1.0 - damping  # b
        self.kept = 0.0  # the total score of pages without links, set by `certify`
        self.unreached = 0  # pages that no link leads to, set by `certify`
        width = (1 << slices.bits) + 1
        self._sums = [
            np.zeros(min(width, slices.pages + 1) if slices.slices == 1 else width) for _ in range(crew.parts)
        ]
        self._buffers = [np.empty(buffer_words, dtype=np.uint32) for _ in range(crew.parts)]

    def begin(self) -> None:
        """Starts with y = e, so that the score of pages that e does not reach stays exactly 0."""
        carried = 0.0
        for number in range(self.slices.slices):
            first, end = self._span(number)
            degrees, leaning = self.slices.degrees(first, end), self._leaning(first, end)
            carried += float(((degrees > 0) * leaning).sum())
            self.values.write(first, _shares(degrees, self.damping) * leaning)
        self.base = 1.0 - self.damping * carried / self.slices.pages

    def iterate(self, step: Callable[[float], None] | None = None) -> None:
        """Computes each slice once, from the newest values."""
        moved = total = carried = 0.0
        for group in range(0, self.slices.slices, self.crew.parts):
            numbers = range(group, min(group + self.crew.parts, self.slices.slices))

            def work(part: int, numbers: range = numbers) -> tuple[Vector, float, float, float]:
                return self._relax(numbers[part], part) if part < len(numbers) else (np.empty(0), 0.0, 0.0, 0.0)

            for number, (values, change, amount, linked) in zip(numbers, self.crew.do(work), strict=False):
                self.values.write(self._span(number)[0], values)
                moved += change
                total += amount
                carried += linked
            if step is not None:
                step(len(numbers) / self.slices.slices)
        self.moved, self.total = moved, total
        self.base = (total - self.damping * carried) / self.slices.pages
        self.iterations += 1

    def certify(self, scores: Path) -> tuple[float, float]:
        """Writes x = Gh, adding up to N, to a file; returns |x - h|_1 and a bound on the rounding error of x."""
        surplus = whole = rounded = self.kept = 0.0
        self.unreached = 0
        with scores.open("wb", buffering=0) as file:
            for number in range(self.slices.slices):
                first, end = self._span(number)
                degrees, old, new = self._frozen(number)
                terms = self._terms(number)
                rounded += float(terms @ new)
                self.unreached += int(((terms == 1) & (self.slices.own(first, end) == 0)).sum())
                surplus += float((new - old)[degrees > 0].sum())
                whole += float(np.where(degrees > 0, old, new).sum())
                file.write(new.tobytes())
        level, scale = surplus / self.slices.pages, self.slices.pages / whole
        apart = 0.0
        with scores.open("r+b", buffering=0) as file:
            for number in range(self.slices.slices):
                first, end = self._span(number)
                new = read_numbers(scores, np.float64, first, end)
                degrees = self.slices.degrees(first, end)
                old = np.where(degrees > 0, self.values.part(first, end) * (degrees / self.damping), new)
                exact = (new - level * self._leaning(first, end)) * scale
                self.kept += float(exact[degrees == 0].sum())
                apart += float(distance(exact, old * scale))
                file.seek(8 * first)
                file.write(exact.tobytes())
        return apart, UNIT * (rounded * scale + operations(self.slices.pages) * self.slices.pages)

    def scores(self) -> tuple[Vector, float]:
        """x = Gh in memory, adding up to N, and |x - h|_1."""
        new, old = np.empty(self.slices.pages), np.empty(self.slices.pages)
        for number in range(self.slices.slices):
            first, end = self._span(number)
            degrees, before, after = self._frozen(number)
            new[first:end] = after
            old[first:end] = np.where(degrees > 0, before, after)
        level, scale = float((new - old).sum()) / len(new), len(new) / float(old.sum())
        new -= level
        new *= scale
        old *= scale
        return new, float(distance(new, old))

    def _relax(self, number: int, part: int) -> tuple[Vector, float, float, float]:
        first, end = self._span(number)
        sums = self._brought(number, part)
        degrees, own = self.slices.degrees(first, end), self.slices.own(first, end)
        values = np.empty(end - first)
        old, default = self.values.part(first, end).astype(np.float64), self.base * self._leaning(first, end)
        moved, total, carried = _settle(sums, degrees, own, old, self.damping, default, values)
        return values, float(moved), float(total), float(carried)

    def _frozen(self, number: int) -> tuple[npt.NDArray[np.uint32], Vector, Vector]:
        """Out-degrees, y, and dWy + b of a slice, from the current values."""
        first, end = self._span(number)
        sums = self._brought(number, 0)
        degrees, own = self.slices.degrees(first, end), self.slices.own(first, end)
        values = self.values.part(first, end).astype(np.float64)
        new = sums[: end - first] + own * values + self.base * self._leaning(first, end)
        return degrees, values * (degrees / self.damping), new

    def _brought(self, number: int, part: int) -> Vector:
        """The money that links of other pages bring to each page of a slice."""
        sums = self._sums[part]
        sums[:] = 0.0
        for before, _, words in self.slices.units(number, self._buffers[part]):
            source: Whole = before
            done: Whole = 0
            while done < len(words):
                values, base = self.values.window(int(source))
                done, source = _bring(words, done, source, values, base, sums, self.slices.bits)
        return sums

    def _terms(self, number: int) -> npt.NDArray[np.int64]:
        """The number of terms in the sum of each page of a slice."""
        first, end = self._span(number)
        terms = np.zeros(len(self._sums[0]), dtype=np.int64)
        for _, _, words in self.slices.units(number, self._buffers[0]):
            _count(words, terms, self.slices.bits)
        return terms[: end - first] + 1

    def _leaning(self, first: int, end: int) -> Vector:
        """e of pages `first` to `end - 1`; a single 1 for all of them if there is no personalisation."""
        return EVERYONE_ALIKE if self.emphasis is None else read_numbers(self.emphasis, np.float64, first, end)

    def _span(self, number: int) -> tuple[int, int]:
        width = 1 << self.slices.bits
        return number * width, min(self.slices.pages, (number + 1) * width)


def _shares(degrees: npt.NDArray[np.uint32], damping: float) -> Vector:
    return np.where(degrees > 0, damping / np.maximum(degrees, 1), 0.0)


@kernel
def _bring(
    words: Words, done: Whole, source: Whole, values: Numbers, base: Whole, sums: Vector, bits: Whole
) -> tuple[Whole, Whole]:
    """Adds the payments of the sources of words to the sums, as far as `values` reaches.

    Returns the number of words done and the current source.
    """
    shift = np.uint32(bits + 1)
    mask = np.uint32((1 << (bits + 1)) - 1)
    at = np.uintp(source - base)
    end = np.uintp(len(values))
    for k in range(done, len(words)):
        word = words[k]
        next_ = at + np.uintp(word >> shift)
        if next_ >= end:
            return k, np.int64(at) + base
        at = next_
        sums[np.uintp(word & mask)] += values[at]
    return len(words), np.int64(at) + base


@kernel
def _count(words: Words, terms: npt.NDArray[np.int64], bits: Whole) -> None:
    """Counts the words of each target."""
    mask = np.uint32((1 << (bits + 1)) - 1)
    for k in range(len(words)):
        terms[np.uintp(words[k] & mask)] += 1


@kernel
def _settle(
    sums: Vector,
    degrees: npt.NDArray[np.uint32],
    own: npt.NDArray[np.uint32],
    old: Vector,
    damping: float,
    default: Vector,
    values: Vector,
) -> tuple[float, float, float]:
    """Computes the new values of a slice; returns the sum of |y - y'| over pages with links, that of y, and that of y
    over pages with links.

    A `default` of length 1 applies to all pages.
    """
    moved = 0.0
    total = 0.0
    carried = 0.0
    alike = len(default) == 1
    for page in range(len(values)):
        given = default[0 if alike else page]
        if degrees[page] > 0:
            y = (sums[page] + given) / (1.0 - damping * own[page] / degrees[page])
            moved += abs(y - old[page] * degrees[page] / damping)
            values[page] = damping * y / degrees[page]
            total += y
            carried += y
        else:
            values[page] = 0.0
            total += sums[page] + given
    return moved, total, carried
