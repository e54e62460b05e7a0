"""Disks after simulated faults: no silent loss, nothing certified that is different. `make faults` tries many more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.faults.worlds import History, recorded, refusals, worlds

Recorded = tuple[History, Path]


@pytest.fixture(scope="module")
def history() -> Iterator[Recorded]:
    with recorded() as made:
        yield made


@pytest.mark.parametrize("seed", range(3))
def test_no_fault_of_a_disk_changes_a_crawl_in_silence(history: Recorded, seed: int) -> None:
    tallies = worlds(*history, 100, seed)
    assert [sentence for tally in tallies.values() for sentence in tally.wrong] == []
    assert sum(tally.said for tally in tallies.values()) > 5
    assert sum(tally.count for tally in tallies.values()) == 100


def test_a_call_that_the_system_refuses_costs_nothing_that_was_confirmed(tmp_path: Path) -> None:
    tally = refusals(tmp_path, 12, 1)
    assert tally.wrong == []
    assert tally.said > 6
