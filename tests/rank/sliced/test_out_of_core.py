"""Ranking under a memory cap: correct with every plan, within the enforced cap, resumed after a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest

from centime.model.errors import BadGraph, BadInput, BadSetting
from centime.model.graph import Graph, graph_from_links
from centime.rank.pagerank import pagerank
from centime.rank.sliced import out_of_core
from centime.rank.sliced.out_of_core import FiledScores, plan, rank_out_of_core
from tests.forked_program import forked

MEGABYTE = 1 << 20


def random_graph(pages: int, links: int, seed: int) -> Graph:
    chance = np.random.default_rng(seed)
    targets = (chance.power(3, links) * pages).astype(np.int64)
    return graph_from_links(pages, chance.integers(0, pages, links), targets)


def file_of(graph: Graph, path: Path, *, shuffled: bool = False) -> Path:
    sources = np.repeat(np.arange(graph.pages), graph.out_degree)
    order = np.random.default_rng(1).permutation(graph.links) if shuffled else np.arange(graph.links)
    pairs = zip(sources[order].tolist(), graph.targets[order].tolist(), strict=True)
    path.write_text(f"{graph.pages - 1} 0\n" + "".join(f"{source} {target}\n" for source, target in pairs))
    return path


def with_last_link(graph: Graph) -> Graph:
    sources = np.append(graph.pages - 1, np.repeat(np.arange(graph.pages), graph.out_degree))
    return graph_from_links(graph.pages, sources, np.append(0, graph.targets))


def holds(found: FiledScores, graph: Graph, error: float) -> None:
    exact = pagerank(graph, error=1e-13).scores
    scores = found.part(0, found.pages)
    assert found.certified_error <= error
    assert np.abs(scores - exact).sum() / graph.pages <= found.certified_error + 1e-12
    assert (found.pages, found.links) == (graph.pages, graph.links)
    assert found.dangling == int((graph.out_degree == 0).sum())
    assert [page for page, _ in found.top(5)] == np.lexsort((np.arange(graph.pages), -scores))[:5].tolist()


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_scores_are_those_of_ranking_in_memory_whatever_the_order_of_links(
    shuffled: bool, threads: int, tmp_path: Path
) -> None:
    graph = random_graph(500, 4000, seed=2)
    path = file_of(graph, tmp_path / "graph.txt", shuffled=shuffled)
    found = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, error=1e-9, threads=threads)
    holds(found, with_last_link(graph), 1e-9)


@pytest.mark.parametrize(("wide", "narrow"), [(True, True), (False, True), (False, False)])
def test_values_in_memory_of_either_width_and_on_disk_lead_to_the_same(
    wide: bool, narrow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(700, 3000, seed=3)
    monkeypatch.setattr(out_of_core, "plan", lambda pages, memory, threads: out_of_core.Plan(6, 1 << 12, wide, narrow))
    found = rank_out_of_core(file_of(graph, tmp_path / "graph.txt"), tmp_path / "work", 8 * MEGABYTE, error=1e-9)
    holds(found, with_last_link(graph), 1e-9)
    assert (tmp_path / "work" / "values").exists() == (not wide)


@pytest.mark.parametrize("wide", [True, False])
def test_a_change_that_shrinks_slowly_is_not_taken_for_rounding(
    wide: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two rings against the order of pages, with one link between them: each iteration shrinks the change by 0.98.
    ring = np.arange(40)
    sources, targets = np.concatenate([ring, 40 + ring, [0]]), np.concatenate([ring - 1, 39 + ring, [40]])
    targets[[0, 40]] = 39, 79
    graph = graph_from_links(80, sources, targets)
    monkeypatch.setattr(out_of_core, "plan", lambda pages, memory, threads: out_of_core.Plan(6, 1 << 12, wide, True))
    path = file_of(graph, tmp_path / "graph.txt")
    found = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, damping=0.98, error=1e-9, threads=1)
    assert found.certified_error <= 1e-9
    exact = pagerank(with_last_link(graph), damping=0.98, error=1e-12).scores
    assert np.abs(found.part(0, 80) - exact).sum() / 80 <= found.certified_error + 1e-12


def test_a_graph_that_mixes_takes_few_iterations_near_a_damping_of_1(tmp_path: Path) -> None:
    graph = random_graph(500, 4000, seed=2)
    path = file_of(graph, tmp_path / "graph.txt")
    found = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, damping=0.99, error=1e-6)
    assert found.certified_error <= 1e-6
    exact = pagerank(with_last_link(graph), damping=0.99, error=1e-12).scores
    assert np.abs(found.part(0, found.pages) - exact).sum() / found.pages <= found.certified_error
    in_memory = pagerank(with_last_link(graph), damping=0.99, error=1e-6, method="sliced")
    assert max(found.iterations, in_memory.iterations) <= 40  # 1 000 without the balance of what is not paid


def test_an_error_of_a_millionth_needs_only_narrow_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(700, 3000, seed=3)
    monkeypatch.setattr(out_of_core, "plan", lambda pages, memory, threads: out_of_core.Plan(8, 1 << 12, False, True))
    found = rank_out_of_core(file_of(graph, tmp_path / "graph.txt"), tmp_path / "work", 8 * MEGABYTE, error=1e-6)
    holds(found, with_last_link(graph), 1e-6)
    assert not (tmp_path / "work" / "values").exists()


def test_the_plan_fits_the_cap() -> None:
    for pages in (10, 10**5, 10**7, 10**8, 2 * 10**9):
        for memory in (8, 64, 400, 2000):
            for threads in (1, 2, 8):
                found = plan(pages, memory * MEGABYTE, threads)
                values = 8 * pages if found.wide_in_memory else 4 * pages if found.narrow_in_memory else 0
                used = values + threads * ((out_of_core.SLICE_BYTES << found.bits) + 4 * found.buffer_words)
                assert used <= memory * MEGABYTE
    assert plan(10**7, 400 * MEGABYTE, 2).wide_in_memory
    assert plan(10**7, 64 * MEGABYTE, 2).narrow_in_memory
    assert not plan(10**9, 400 * MEGABYTE, 2).narrow_in_memory


def test_progress_is_reported(tmp_path: Path) -> None:
    reported: dict[str, float] = {}

    def step(what: str, share: float, error: float = 0.0) -> None:
        reported[what] = reported.get(what, 0.0) + share

    rank_out_of_core(
        file_of(random_graph(50, 200, 0), tmp_path / "graph.txt"),
        tmp_path / "work",
        8 * MEGABYTE,
        error=1e-3,
        step=step,
    )
    assert reported["reading links"] == pytest.approx(1.0)
    assert reported["iteration 1"] == pytest.approx(1.0)


def test_finished_slices_are_not_made_again_unless_the_file_or_the_cap_changes(tmp_path: Path) -> None:
    path = file_of(random_graph(50, 200, 0), tmp_path / "graph.txt")

    def made() -> int:
        return (tmp_path / "work" / "manifest.json").stat().st_mtime_ns

    rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE)
    before = made()
    again = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, damping=0.5)
    assert made() == before
    assert again.part(0, 50).sum() == pytest.approx(50)
    rank_out_of_core(path, tmp_path / "work", 16 * MEGABYTE)
    assert made() != before


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    path = file_of(random_graph(50, 200, 0), tmp_path / "graph.txt")
    for settings, sentence in (({"damping": 1.0}, "damping"), ({"error": 0.0}, "error"), ({"threads": 999}, "threads")):
        with pytest.raises(BadSetting, match=sentence):
            rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, **settings)
    with pytest.raises(BadSetting, match="at least 8 MB"):
        rank_out_of_core(path, tmp_path / "work", MEGABYTE)
    (tmp_path / "weighted.txt").write_text("0 1 0.5\n1 0 2\n")
    with pytest.raises(BadInput, match="weights"):
        rank_out_of_core(tmp_path / "weighted.txt", tmp_path / "work", 8 * MEGABYTE)
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises((BadGraph, BadInput)):
        rank_out_of_core(tmp_path / "empty.txt", tmp_path / "work", 8 * MEGABYTE)


@pytest.mark.long
@pytest.mark.compiled
def test_a_killed_ranking_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out_of_core, "SAVED_EVERY_SECONDS", -1.0)
    graph = random_graph(2000, 20_000, seed=5)
    path = file_of(graph, tmp_path / "graph.txt")

    def run(until: str) -> tuple[str, int | None]:
        """What a process says of its ranking, which is killed at a step, and its exit code."""

        def step(what: str, share: float, error: float = 0.0) -> None:
            if what == until:
                os.kill(os.getpid(), signal.SIGKILL)

        def rank(lines: TextIO) -> None:
            found = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, error=1e-9, step=step)
            print(found.iterations, file=lines)

        with forked(rank) as child:
            said = child.said.read()
        return said, child.code

    rank_out_of_core(path, tmp_path / "warm", 8 * MEGABYTE)  # kernels are compiled before any process is forked
    assert run("reading links") == ("", -signal.SIGKILL)
    assert not (tmp_path / "work" / "manifest.json").exists()
    for until in ("iteration 3", "iteration 8", "iteration 9"):
        assert run(until) == ("", -signal.SIGKILL)
    saved = out_of_core._saved(tmp_path / "work", {"damping": 0.85, "bias": None})
    assert saved is not None
    assert saved[0] == 8
    whole = rank_out_of_core(path, tmp_path / "undisturbed", 8 * MEGABYTE, error=1e-9)
    assert run("nothing") == (f"{whole.iterations}\n", 0)
    assert (tmp_path / "work" / "scores").read_bytes() == (tmp_path / "undisturbed" / "scores").read_bytes()


CAPPED = """
import resource, sys
from pathlib import Path
from centime.rank.sliced.out_of_core import rank_out_of_core
rank_out_of_core(Path(sys.argv[1]), Path(sys.argv[3]) / "first", 8 << 20, error=1e-4)  # loads and compiles everything
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
cap = int(sys.argv[4])
stack = 8 << 20  # of the one thread that is added
limit = int(status["VmData"].split()[0]) * 1024 + cap + stack
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
found = rank_out_of_core(Path(sys.argv[2]), Path(sys.argv[3]) / "second", cap, error=1e-4, threads=2)
print(found.certified_error)
"""


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.parametrize("cap", [8 * MEGABYTE, 24 * MEGABYTE])
def test_the_system_enforces_the_cap_and_the_ranking_stays_within(cap: int, tmp_path: Path) -> None:
    small = file_of(random_graph(50, 200, 0), tmp_path / "small.txt")
    graph = random_graph(3_000_000, 1_500_000, seed=1)  # one vector takes 24 MB, all links another 6
    large = file_of(graph, tmp_path / "large.txt")
    command = [sys.executable, "-c", CAPPED, str(small), str(large), str(tmp_path), str(cap)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 1e-4


@pytest.mark.parametrize("vector", ["importance", "interest"])
@pytest.mark.parametrize("normalisation", ["mean", "sum", "plain"])
def test_bias_interest_and_scales_are_those_of_ranking_in_memory(
    vector: str, normalisation: Any, tmp_path: Path
) -> None:
    graph = random_graph(300, 1200, seed=4)
    path = file_of(graph, tmp_path / "graph.txt")
    chosen = [3, 70, 71, 299]
    (tmp_path / "bias.txt").write_text("".join(f"{page}\t{page % 7 + 1}\n" for page in chosen))
    whole = with_last_link(graph)
    wanted = np.zeros(300)
    wanted[chosen] = [page % 7 + 1 for page in chosen]
    options: dict[str, Any] = {
        "bias": tmp_path / "bias.txt",
        "vector": vector,
        "normalisation": normalisation,
        "error": 1e-9,
    }
    found = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, **options)
    solved = whole if vector == "importance" else whole.transpose()
    exact = pagerank(solved, personalisation=wanted, normalisation=normalisation, error=1e-13).scores
    distance = np.abs(found.part(0, 300) - exact).sum() / (1 if normalisation == "sum" else 300)
    assert found.certified_error <= 1e-9
    assert distance <= found.certified_error + 1e-12
    assert found.dangling == int((whole.out_degree == 0).sum())
    again = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, **options)
    assert np.array_equal(again.part(0, 300), found.part(0, 300))


def test_another_bias_does_not_go_on_from_the_values_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out_of_core, "SAVED_EVERY_SECONDS", 0.0)
    path = file_of(random_graph(300, 1200, seed=4), tmp_path / "graph.txt")
    first = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE)
    for number, page in enumerate((5, 6)):
        (tmp_path / "bias.txt").write_text(f"{page}\n")
        found = rank_out_of_core(path, tmp_path / "work", 8 * MEGABYTE, bias=tmp_path / "bias.txt")
        assert found.iterations > first.iterations / 4, number
        assert found.top(1)[0][0] == page


def test_names_are_there_when_ranking_goes_on(tmp_path: Path) -> None:
    (tmp_path / "graph.txt").write_text("a b\nb c\nc a\na c\n")
    for _ in range(2):
        found = rank_out_of_core(tmp_path / "graph.txt", tmp_path / "work", 8 * MEGABYTE)
        assert list(found.names or []) == ["a", "b", "c"]


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    path = file_of(random_graph(30, 100, seed=4), tmp_path / "graph.txt")
    with pytest.raises(
        BadInput, match=r"the folder has other files, such as graph\.txt; give a folder that is empty or new"
    ):
        rank_out_of_core(path, tmp_path, 8 * MEGABYTE)
    with pytest.raises(BadInput, match="this is not a folder"):
        rank_out_of_core(path, path, 8 * MEGABYTE)
    assert list(tmp_path.iterdir()) == [path]
