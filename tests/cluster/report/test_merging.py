"""Reports of partitions become one: counts add up, shares are weighted, rows are sorted and numbered again."""

from typing import Any

from centime.cluster.report.merging import merged_facts, merged_rows


def test_counts_add_up_also_in_groups_and_what_only_one_partition_has_stays() -> None:
    first = {"known": 30, "outcomes": {"read": 3}, "folder": "a", "most_pages": None, "versions": {"pages": 1}}
    second = {"known": 10, "outcomes": {"read": 1, "gone": 2}, "folder": "b", "most_pages": 5, "filling": True}
    merged = merged_facts([first, second])
    assert merged["known"] == 40
    assert merged["outcomes"] == {"read": 4, "gone": 2}
    assert merged["folder"] == "a"
    assert merged["most_pages"] == 5
    assert merged["versions"] == {"pages": 1}
    assert merged["filling"] is True


def test_a_share_is_the_mean_over_all_pages_and_trouble_is_told() -> None:
    parts: list[dict[str, Any]] = [
        {"known": 30, "fresh_percent_of_importance": 100.0, "admitted": "all URLs", "damaged_snapshots": ["x"]},
        {"known": 10, "fresh_percent_of_importance": 20.0, "admitted": "no URLs", "damaged_snapshots": ["y", "x"]},
        {"known": 0, "fresh_percent_of_importance": None, "admitted": "important URLs", "damaged_snapshots": []},
    ]
    merged = merged_facts(parts)
    assert merged["fresh_percent_of_importance"] == 80.0
    assert merged["admitted"] == "no URLs"
    assert merged["damaged_snapshots"] == ["x", "y"]


def test_nothing_to_merge_is_nothing() -> None:
    assert merged_facts([]) == {}
    assert merged_rows([], "importance", 5) == []


def test_rows_are_sorted_again_and_numbered_again() -> None:
    parts: list[list[dict[str, Any]]] = [
        [{"rank": 1, "importance": 5.0}, {"rank": 2, "importance": 1.0}],
        [{"rank": 1, "importance": 3.0}, {"rank": 2, "importance": None}],
    ]
    assert merged_rows(parts, "importance", 3) == [
        {"rank": 1, "importance": 5.0},
        {"rank": 2, "importance": 3.0},
        {"rank": 3, "importance": 1.0},
    ]
    assert merged_rows([[{"known": 1}], [{"known": 2}]], "known", 9) == [{"known": 2}, {"known": 1}]
