"""Simulated clusters: no fault moves a unit of money, repeats a batch or asks a host too soon; a broken protocol is
noticed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cluster.laws import Broken
from bench.cluster.mutants import MUTANTS, caught
from bench.cluster.world import ENDING, FAULTS, World
from bench.cluster.worlds import folder_of, room_for_worlds, worlds

WORLDS = 500
PARTS = 5  # tests of as many worlds each
MUTANT_TURNS = 30
MOST_MUTANT_WORLDS = 160


@pytest.fixture(scope="module")
def room() -> Iterator[Path]:
    """A folder for worlds."""
    with room_for_worlds() as made:
        yield made


@pytest.mark.compiled
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, PARTS))])
def test_no_fault_moves_a_unit_repeats_a_batch_or_asks_a_host_too_soon(part: int, room: Path) -> None:
    each = WORLDS // PARTS
    counts = worlds(room, range(part * each, (part + 1) * each))
    assert counts["worlds"] == each
    assert counts["crashes"] >= each // 2
    assert counts["batches"] >= each // 2
    assert {fault for fault in FAULTS if not counts[fault]} == set()
    assert min(counts["no room"], counts["fenced"]) > 0
    assert counts["certificates"] >= each // 2


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.parametrize("name", MUTANTS)
def test_a_protocol_without_one_of_its_rules_is_noticed(name: str, room: Path) -> None:
    for seed in range(MOST_MUTANT_WORLDS):
        with folder_of(room, seed) as folder:
            if caught(name, seed, folder, MUTANT_TURNS):
                return
    raise AssertionError(f"{MOST_MUTANT_WORLDS} worlds did not notice a cluster that {name}")


@pytest.mark.compiled
def test_a_world_is_the_same_each_time(room: Path) -> None:
    facts = []
    for _ in range(2):
        with folder_of(room, 7) as folder:
            world = World(7, folder)
            world.run(6)
            facts.append(world.facts)
    assert facts[0] == facts[1]


@pytest.mark.compiled
def test_without_faults_nothing_is_opened_twice(room: Path) -> None:
    with folder_of(room, 3) as folder:
        world = World(3, folder, faults=0.0)
        world.run(10)
        assert not {fault for fault in [*ENDING, "crashes"] if world.facts[fault]}
        assert world.facts["batches"] > 2


@pytest.mark.compiled
def test_a_unit_too_much_is_noticed(room: Path) -> None:
    with folder_of(room, 4) as folder:
        world = World(4, folder, faults=0.0)

        def heal() -> None:
            world.nodes[0].shard.ledger._accounts.books.money[0, 1] += 1  # type: ignore[attr-defined]
            World._heal(world)

        world._heal = heal  # type: ignore[method-assign]
        with pytest.raises(Broken, match="money"):
            world.run(5)
