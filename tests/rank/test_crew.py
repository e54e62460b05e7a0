import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.errors import BadSetting
from centime.model.graph import graph_from_links
from centime.rank.crew import MOST_THREADS, Crew, crew_for, cut_evenly
from centime.rank.pagerank import Method, pagerank


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_every_part_is_done_once_and_answers_come_in_order(parts: int) -> None:
    with Crew(parts) as crew:
        for _ in range(3):
            assert crew.do(lambda part: part * part) == [part * part for part in range(parts)]


def test_parts_work_side_by_side_and_one_part_is_the_caller_alone() -> None:
    meeting = threading.Barrier(3, timeout=30)
    with Crew(3) as crew:
        crew.do(lambda part: meeting.wait())
    with Crew(1) as alone:
        assert alone.do(lambda part: threading.current_thread()) == [threading.current_thread()]


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_in_a_part_reaches_the_caller(failing: int) -> None:
    def work(part: int) -> None:
        if part == failing:
            raise ValueError(f"part {part}")

    with Crew(2) as crew, pytest.raises(ValueError, match=f"part {failing}"):
        crew.do(work)


@given(st.lists(st.integers(0, 20), max_size=50), st.integers(1, 8))
def test_cuts_cover_all_pages_with_about_as_much_work_each(degrees: list[int], parts: int) -> None:
    offsets = np.cumsum([0, *degrees])
    cuts = cut_evenly(offsets, parts)
    assert (cuts[0], cuts[-1], len(cuts)) == (0, len(degrees), parts + 1)
    assert (np.diff(cuts) >= 0).all()
    work = [int(offsets[end] - offsets[first] + end - first) for first, end in pairwise(cuts.tolist())]
    assert max(work) <= sum(work) / parts + 21 * 2


def test_small_work_gets_one_thread_unless_asked_otherwise() -> None:
    assert crew_for(10, None).parts == 1
    with crew_for(10**9, None) as crew:
        assert 1 <= crew.parts <= 8
    with crew_for(10, 3) as crew:
        assert crew.parts == 3
    for wrong in (0, -1, MOST_THREADS + 1):
        with pytest.raises(BadSetting, match=f"must be from 1 to 256, not {wrong}"):
            crew_for(10, wrong)


def test_more_threads_than_cores_and_pages_give_the_same_scores() -> None:
    graph = graph_from_links(5, [0, 1, 2, 2, 4], [1, 2, 0, 3, 4])
    alone = pagerank(graph, threads=1)
    methods: tuple[Method, ...] = ("push", "jacobi")
    for method in methods:
        many = pagerank(graph, threads=40, method=method)
        assert np.abs(many.scores - alone.scores).sum() / 5 <= many.certified_error + alone.certified_error
