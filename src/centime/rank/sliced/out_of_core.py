"""Ranking beyond memory: ranks a graph of any size under a memory cap, and can be resumed.

    read the file -> slices on disk (`dealing`, `slices`) -> iterate (`solver`) -> certified scores in a file

The cap applies to what ranking needs in addition to the interpreter and its libraries. The plan covers, for each
thread, the sums and numbers of one slice and a buffer of links; and the values of all pages, as 64-bit numbers if they
fit, else as 32-bit numbers, else on disk. With 32 bits the error does not fall below about 1e-7; for a smaller error,
the last iterations use 64-bit values on disk.

A folder holds all intermediate files. The process can be killed at any time: finished slices are not built again, and
the values are saved every few seconds, so a resumed ranking repeats at most a few seconds of work. The folder
identifies its graph file by name, size, time and settings, and is built again for another file.

Supported: importance or interest (the importance of the reversed links), personalised or not, in any of the three
scales. Weights are refused: they would need 8 bytes per link instead of 4.
"""

import json
import re
import shutil
import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypedDict

import numpy as np
import numpy.typing as npt

from centime.files.replacement import replace_file
from centime.graphs.files import open_links
from centime.graphs.link_blocks import LinkFile
from centime.graphs.names import PageNames
from centime.graphs.packed import opened
from centime.model.errors import BadInput, BadSetting
from centime.rank.certificate import certified_error
from centime.rank.crew import Crew, crew_for
from centime.rank.pagerank import LEAST_DAMPING, Normalisation, check_settings
from centime.rank.sliced.bias_file import write_bias
from centime.rank.sliced.dealing import Turned, deal_file
from centime.rank.sliced.slices import Manifest, read_manifest, read_numbers, saved_names
from centime.rank.sliced.solver import DiskSlices, SliceSolver, Values

LEAST_MEMORY = 8_000_000
SLICE_BYTES = 49  # per page of the slice that a thread works on
WIDEST, NARROWEST = 20, 10
SAVED_EVERY_SECONDS = 10.0
VALUES, STATE, SCORES, EMPHASIS = "values", "state.json", "scores", "emphasis"
OURS = re.compile(
    r"\.?(manifest|state)\.json|(manifest|state)\.json\.new|slice-\d+\.links|(pages|names)\.\w+|saved-[01]|values|scores|emphasis|heaps"
)
"""The names of the files of a ranking in its folder."""
LOST_AFTER = 5  # iterations in which the change hardly shrinks: the precision of the numbers is exhausted
COARSE = 1e-6


class Step(Protocol):
    """A progress callback."""

    def __call__(self, what: str, share: float, error: float = 0.0) -> None:
        """Receives the current activity, the share of it done since the last call, and the error (0: unknown)."""
        ...


@dataclass(frozen=True, slots=True)
class FiledScores:
    """Scores in a file, with a bound on their error; they add up to N in the file and are scaled when read."""

    path: Path
    scale: float
    pages: int
    links: int
    dangling: int
    iterations: int
    certified_error: float
    read_seconds: float
    solve_seconds: float
    names: PageNames | None
    first: int
    """The number of the first page in the graph file."""

    def part(self, first: int, end: int) -> npt.NDArray[np.float64]:
        """The scores of pages `first` to `end - 1`."""
        scores: npt.NDArray[np.float64] = read_numbers(self.path, np.float64, first, end)
        return scores if self.scale == 1.0 else scores * self.scale

    def top(self, count: int = 20, at_once: int = 1 << 18) -> list[tuple[int, float]]:
        """The `count` pages with the highest scores, best first; reads `at_once` scores at a time."""
        best: list[tuple[float, int]] = []
        for first in range(0, self.pages, at_once):
            scores = self.part(first, min(first + at_once, self.pages))
            edge = np.partition(scores, max(0, len(scores) - count))[max(0, len(scores) - count)]
            some = np.flatnonzero(scores >= edge)[: 4 * count]
            best = sorted([*best, *((-float(scores[k]), first + int(k)) for k in some)])[:count]
        return [(page, -score) for score, page in best]


class Problem(TypedDict):
    """The problem that saved values belong to; they are not used for another."""

    damping: float
    bias: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """How the memory under a cap is used."""

    bits: int
    buffer_words: int
    wide_in_memory: bool
    narrow_in_memory: bool


def plan(pages: int, memory: int, threads: int) -> Plan:
    """The widest slices that leave memory for the values, if the values fit at all."""
    buffer = max(1 << 16, min(4 << 20, memory // 16 // threads))
    left = memory * 9 // 10 - threads * buffer  # a tenth is for allocators and short-lived arrays
    for bytes_a_page in (8, 4, 0):
        room = left - bytes_a_page * pages
        bits = max((b for b in range(NARROWEST, WIDEST + 1) if threads * SLICE_BYTES << b <= room), default=0)
        if bits >= (16 if bytes_a_page else NARROWEST) or (bits and (1 << bits) >= pages):
            return Plan(bits, buffer // 4, bytes_a_page == 8, bytes_a_page >= 4)
    return Plan(NARROWEST, buffer // 4, False, False)


def _silent(what: str, share: float, error: float = 0.0) -> None:
    """Ignores progress."""


def rank_out_of_core(
    graph: Path,
    folder: Path,
    memory_bytes: int,
    *,
    vector: Literal["importance", "interest"] = "importance",
    bias: Path | None = None,
    normalisation: Normalisation = "mean",
    damping: float = 0.85,
    error: float = 1e-8,
    threads: int | None = None,
    step: Step = _silent,
) -> FiledScores:
    """Computes importance or interest of a graph file under a memory cap, with intermediate files in a folder."""
    file = open_links(graph)
    if bias is not None:
        with opened(bias):  # reports a missing file before the large graph is read
            pass
    status = graph.stat()
    identity = {"file": graph.name, "bytes": status.st_size, "changed": status.st_mtime_ns, "vector": vector}
    turned = vector == "interest"
    links: LinkFile = Turned(file) if turned else file
    options: Solving = {"damping": damping, "error": error, "threads": threads, "step": step}
    return rank_links(
        links, identity, folder, memory_bytes, turned=turned, bias=bias, normalisation=normalisation, **options
    )


class Solving(TypedDict, total=False):
    """The settings that do not depend on the vector."""

    damping: float
    error: float
    threads: int | None
    step: Step


def rank_links(
    file: LinkFile,
    identity: dict[str, object],
    folder: Path,
    memory_bytes: int,
    *,
    turned: bool = False,
    bias: Path | None = None,
    normalisation: Normalisation = "mean",
    damping: float = 0.85,
    error: float = 1e-8,
    threads: int | None = None,
    step: Step = _silent,
) -> FiledScores:
    """Ranks any links under a memory cap; `identity` identifies them, so that slices of other links are not reused."""
    check_settings(damping, error, "auto", normalisation, None, None)
    if damping < LEAST_DAMPING:
        raise BadSetting(f"damping must be at least {LEAST_DAMPING} and below 1 with a memory cap, not {damping}")
    if memory_bytes < LEAST_MEMORY:
        raise BadSetting(
            f"ranking needs at least {LEAST_MEMORY // 10**6} MB of memory, not {memory_bytes / 1e6:.3g} MB"
        )
    started = time.perf_counter()
    identity = {**identity, "memory": memory_bytes}
    with crew_for(1 << 30, threads) as crew:
        manifest = _slices(folder, identity)
        if manifest is None:
            _clear(folder)
            bits = partial(_bits, memory=memory_bytes, threads=crew.parts)
            manifest = deal_file(file, folder, bits, memory_bytes, identity, partial(step, "reading links"))
        names = saved_names(folder)
        problem: Problem = {"damping": damping, "bias": None}
        if bias is not None:
            problem["bias"] = write_bias(folder / EMPHASIS, bias, names, manifest.first, manifest.pages)
        read = time.perf_counter() - started
        planned = plan(manifest.pages, memory_bytes, crew.parts)
        # Scaling to Eq. 2 can multiply the error by 1 / (1 - damping).
        aim = error * (1 - damping) if normalisation == "plain" else error
        solver, found = _solve(DiskSlices(folder, manifest), planned, problem, aim, crew, step)
    scale = {"mean": 1.0, "sum": 1.0 / manifest.pages}.get(normalisation, 0.0)
    if normalisation == "plain":
        unlinked = (1 - damping) * manifest.pages + damping * solver.kept  # V of `pagerank`
        scale = (1 - damping) * manifest.pages / unlinked
        found *= scale / (1 - damping)
    return FiledScores(
        folder / SCORES,
        scale,
        manifest.pages,
        manifest.links,
        solver.unreached if turned else manifest.dangling,
        solver.iterations,
        found,
        read,
        time.perf_counter() - started - read,
        names,
        manifest.first,
    )


def _bits(pages: int, memory: int, threads: int) -> int:
    return plan(pages, memory, threads).bits


def _slices(folder: Path, identity: dict[str, object]) -> Manifest | None:
    manifest = read_manifest(folder)
    return manifest if manifest is not None and manifest.graph == identity else None


def _clear(folder: Path) -> None:
    """Creates the folder, or empties it if it has only files of a ranking."""
    if folder.exists():
        if not folder.is_dir():
            raise BadInput(f"{folder}: this is not a folder")
        strange = next((path for path in sorted(folder.iterdir()) if not OURS.fullmatch(path.name)), None)
        if strange is not None:
            raise BadInput(
                f"{folder}: the folder has other files, such as {strange.name}; give a folder that is empty or new"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def _solve(
    slices: DiskSlices, planned: Plan, problem: Problem, error: float, crew: Crew, step: Step
) -> tuple[SliceSolver, float]:
    """Iterates until the error is certified, with 32-bit values first if only those fit in memory."""
    folder, pages = slices.folder, slices.pages
    emphasis = None if problem["bias"] is None else folder / EMPHASIS
    kinds: list[tuple[type[np.float32] | type[np.float64], Path | None]] = [
        (np.float64, None if planned.wide_in_memory else folder / VALUES)
    ]
    if planned.narrow_in_memory and not planned.wide_in_memory:
        kinds.insert(0, (np.float32, None))
    iterations, certified = 0, np.inf
    resumed = _saved(folder, problem)
    for kind, path in kinds:
        values = Values(pages, kind, path)
        solver = SliceSolver(slices, values, problem["damping"], crew, planned.buffer_words, emphasis)
        solver.iterations = iterations
        if resumed is not None:
            iterations, solver.base = resumed
            solver.iterations = iterations
            _load(folder, values)
        else:
            solver.begin()
        aim = error if kind is np.float64 else max(error, COARSE / 10)
        certified = _iterate(solver, folder, problem, aim, step)
        iterations = solver.iterations
        resumed = iterations, solver.base
        if certified <= error:
            break
        _save(folder, solver, problem)
    return solver, certified


def _iterate(solver: SliceSolver, folder: Path, problem: Problem, error: float, step: Step) -> float:
    factor, pages = solver.damping / (1 - solver.damping), solver.slices.pages
    saved = time.monotonic()
    # In exact arithmetic a change soon shrinks by the damping or more; half as much as that counts as hardly.
    hardly = ((1 + solver.damping) / 2) ** LOST_AFTER
    aim, last = error, np.inf
    earlier: deque[float] = deque([np.inf] * LOST_AFTER, maxlen=LOST_AFTER)
    while True:
        so_far = factor * last / max(solver.total, 1.0)
        solver.iterate(partial(step, f"iteration {solver.iterations + 1}", error=so_far))
        estimate = factor * solver.moved / solver.total
        stuck = solver.moved > hardly * earlier[0] and estimate < 10 * COARSE
        earlier.append(solver.moved)
        if estimate <= aim or stuck:
            certified = certified_error(solver.damping, *solver.certify(folder / SCORES), pages)
            if certified <= error or stuck:
                return certified
            aim = estimate / 2
        last = solver.moved
        if time.monotonic() - saved > SAVED_EVERY_SECONDS:
            _save(folder, solver, problem)
            saved = time.monotonic()


def _save(folder: Path, solver: SliceSolver, problem: Problem) -> None:
    """Saves the values as 64-bit numbers, and then the state that refers to them."""
    name = f"saved-{solver.iterations % 2}"
    with (folder / name).open("wb", buffering=0) as file:
        for number in range(solver.slices.slices):
            width = 1 << solver.slices.bits
            first, end = number * width, min(solver.slices.pages, (number + 1) * width)
            file.write(solver.values.part(first, end).astype(np.float64).tobytes())
    state = {"iterations": solver.iterations, "values": name, "base": solver.base, **problem}
    replace_file(folder / STATE, json.dumps(state).encode(), durable=False)


def _saved(folder: Path, problem: Problem) -> tuple[int, float] | None:
    """The number of iterations of the saved values, and b; None if there are none for this damping and bias."""
    path = folder / STATE
    if not path.exists():
        return None
    state = json.loads(path.read_text())
    if any(state.get(name) != value for name, value in problem.items()):
        return None
    return int(state["iterations"]), float(state.get("base", 1.0 - problem["damping"]))


def _load(folder: Path, values: Values) -> None:
    name = json.loads((folder / STATE).read_text())["values"]
    for first in range(0, values.pages, 1 << 18):
        end = min(values.pages, first + (1 << 18))
        values.write(first, read_numbers(folder / name, np.float64, first, end))
