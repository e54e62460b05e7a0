"""Where partitions and their copies are: spread evenly, never both at one node, and written before it counts."""

from hypothesis import given
from hypothesis import strategies as st

from centime.cluster.placement import NOWHERE, FixedPlacement, Placement

NODES = ["a", "b", "c", "d"]


def placement(homes: list[str]) -> Placement:
    return Placement(homes, [NOWHERE] * len(homes), lambda homes, copies: None)


@given(st.lists(st.sampled_from(NODES), min_size=1, max_size=20), st.sets(st.sampled_from(NODES), max_size=3))
def test_moves_end_with_as_many_partitions_at_each_node_that_stays_and_none_elsewhere(
    homes: list[str], leaving: set[str]
) -> None:
    staying = [node for node in NODES if node not in leaving]
    places, moves = placement(homes), 0
    while (move := places.next_move(staying, leaving)) is not None:
        places.copied(*move)
        assert places.promoted(move[0]) != move[1]
        moves += 1
        assert moves <= len(homes)
    counts = [places.homes.count(node) for node in staying]
    assert sum(counts) == len(homes)
    assert max(counts) - min(counts) <= 1


@given(st.lists(st.sampled_from(NODES), min_size=1, max_size=20), st.lists(st.sampled_from(NODES), max_size=9))
def test_a_copy_is_never_at_the_home_of_its_partition(homes: list[str], coming: list[str]) -> None:
    places = placement(homes)
    for partition, home in enumerate(homes):
        assert places.copy_for(partition, NODES, coming) not in (home, NOWHERE)
        assert places.copy_for(partition, [home], coming) == NOWHERE


def test_what_counts_is_written_at_once() -> None:
    written: list[tuple[list[str], list[str]]] = []
    places = Placement(["a", "b"], ["", ""], lambda homes, copies: written.append((list(homes), list(copies))))
    assert places.copied(0, "b") == NOWHERE
    assert written.pop() == (["a", "b"], ["b", ""])
    assert places.promoted(0) == "a"
    assert written == [(["b", "b"], ["", ""])]


def test_nodes_of_one_machine_have_fixed_places() -> None:
    places = FixedPlacement(5, 2, replicas=1)
    assert places.homes == ["0", "1", "0", "1", "0"]
    assert places.copies == ["1", "0", "1", "0", "1"]
    assert places.promoted(0) == NOWHERE
    assert places.homes[0] == "0"
    assert places.next_move(["0"], ["1"]) is None
