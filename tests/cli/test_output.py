import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.cli.figure import label, shown
from centime.cli.output import plain, show

numbers = st.integers() | st.floats(allow_nan=True, allow_infinity=True)
reports = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | numbers | st.text(),
        lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
        max_leaves=8,
    ),
    max_size=4,
)


@given(reports)
def test_every_report_has_a_json_form_that_reads_back_as_itself_with_nothing_for_numbers_that_are_not_finite(
    report: Mapping[str, object],
) -> None:
    simple = plain(report)
    assert json.loads(json.dumps(simple, allow_nan=False)) == simple


def test_json_is_one_line_and_knows_arrays_paths_and_missing_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    show({"ranks": np.array([1.5, np.nan]), "pages": np.int64(2), "file": Path("a.png"), "pair": (1, 2)}, as_json=True)
    assert capsys.readouterr().out == '{"ranks": [1.5, null], "pages": 2, "file": "a.png", "pair": [1, 2]}\n'


def test_people_see_a_line_per_fact_and_a_table_per_list(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"page": "a [b]", "importance": 1.23456789}, {"page": "longer", "importance": None}]
    show({"error_percent": 0.5, "orders": ["greedy", "cycle"], "most_important": rows}, as_json=False)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "error   0.5 %",
        "orders  greedy, cycle",
        "",
        "most important",
        "page    importance",
        "a [b]        1.235",
        "longer           -",
    ]


def test_a_table_in_a_pipe_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    show({"pages": [{"page": "x" * 500}]}, as_json=False)
    assert "x" * 500 in capsys.readouterr().out


def test_the_level_of_an_interval_is_not_the_unit_of_its_ends() -> None:
    assert shown("changes_per_day_90_percent", [0.0623, 15.02]) == "0.0623, 15.02"
    assert shown("changes_per_day_90_percent", [324.0, None]) == "at least 324"
    assert shown("changes_per_day_90_percent", [0.0, None]) == "unknown"
    assert shown("latency_seconds_90_percent", [0.002, 3.0]) == "2 ms, 3 s"
    assert label("changes_per_day_90_percent", [1.0]) == "changes per day 90 percent"
    assert label("error_percent", [1.0]) == "error"
    assert shown("error_percent", 15.02) == "15.02 %"
