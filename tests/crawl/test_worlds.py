"""Disks after simulated faults: no silent loss, nothing certified that is different. `make faults` tries many more."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.faults.failing import REFUSED
from bench.faults.history import History, recorded
from bench.faults.worlds import POWER, worlds
from centime.files import replacement
from centime.files.appended import AppendedFile
from centime.store import journal
from centime.store.journal import Journal

Recorded = tuple[History, Path]


@pytest.fixture(scope="module")
def history() -> Iterator[Recorded]:
    with recorded() as made:
        yield made


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2))])
def test_no_fault_of_a_disk_changes_a_crawl_in_silence(history: Recorded, part: int) -> None:
    tallies = worlds(*history, range(100 * part, 100 * part + 100), 0, repair=0.2)
    assert [sentence for tally in tallies.values() for sentence in tally.wrong] == []
    assert sum(tally.said for tally in tallies.values()) > 5
    assert sum(tally.count for tally in tallies.values()) == 100
    assert all(tally.count == tally.right + tally.said for tally in tallies.values())


@pytest.mark.long
def test_a_call_that_the_system_refuses_costs_nothing_that_was_confirmed(history: Recorded) -> None:
    tally = worlds(*history, range(12), 1, kinds=[REFUSED])[REFUSED]
    assert tally.wrong == []
    assert tally.said > 6


# ---- mutants: without any of these, the worlds find a crawl that has changed in silence


def _no_sync_before_rename(patch: pytest.MonkeyPatch) -> None:
    renamed = replacement._renamed
    patch.setattr(
        replacement, "_renamed", lambda path, temporary, durable, *mode: renamed(path, temporary, False, *mode)
    )


def _no_sync_of_the_journal(patch: pytest.MonkeyPatch) -> None:
    def sync(self: Journal) -> None:
        self.flush()
        if self._mark is not None:
            self._mark.move(self.last_segment, self.next_index, self.chain)

    patch.setattr(Journal, "sync", sync)


def _no_mark(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(journal, "read_mark", lambda path: None)


def _no_checksums_of_blocks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AppendedFile, "damaged_blocks", lambda file, state: [])


@pytest.mark.long
@pytest.mark.parametrize(
    ("mutate", "kinds"),
    [
        (_no_sync_before_rename, [POWER]),
        (_no_sync_of_the_journal, [POWER]),
        (_no_mark, ["file cut", "file of another time", "file missing"]),
        (_no_checksums_of_blocks, ["flipped bits", "zeroed sectors", "write misdirected"]),
    ],
)
def test_the_worlds_find_mutants(
    mutate: Callable[[pytest.MonkeyPatch], None], kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    with recorded() as (history, room):
        for seed in range(20):
            tallies = worlds(history, room, range(10), seed, kinds=kinds, repair=0.0)
            if any(tally.wrong for tally in tallies.values()):
                return
    pytest.fail("nothing was found")
