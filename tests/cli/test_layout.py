"""Facts and tables in the terminal: they fit, and what identifies a row is whole."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from centime.cli.figure import label, shown
from centime.cli.layout import MOST_PADDED, fact_lines, table_lines

URLS = st.text("abcdefgh-/.", min_size=1, max_size=70).map(lambda text: f"https://{text}")
VALUES = st.none() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text("abc de", max_size=120)
ROWS = st.lists(st.sampled_from(["url", "host", "page"]), min_size=1, max_size=1).flatmap(
    lambda identity: st.lists(
        st.dictionaries(
            st.sampled_from(["known", "read", "wire_bytes", "delay_seconds", "why", "last_visit_of_the_page"]), VALUES
        ).flatmap(lambda row: URLS.map(lambda url: row | {identity[0]: url})),
        min_size=1,
        max_size=5,
    )
)


@given(ROWS, st.integers(60, 200))
def test_no_line_is_wider_than_the_terminal_and_every_identity_is_whole(
    rows: list[Mapping[str, object]], width: int
) -> None:
    lines = [line for line, _ in table_lines("rows", rows, width)]
    text = "\n".join(lines)
    for row in rows:
        (identity,) = (row[name] for name in ("url", "host", "page") if name in row)
        assert str(identity) in text
    for line in lines:
        assert cell_len(line) <= width or max(map(len, line.split())) + 2 >= len(line), "except one word too long"
    assert "…" not in text


@given(ROWS)
def test_a_table_with_room_has_a_line_for_each_row(rows: list[Mapping[str, object]]) -> None:
    assert len(list(table_lines("rows", rows, 10_000))) == 2 + len(rows)


def test_in_a_pipe_a_very_long_url_widens_its_own_line_alone() -> None:
    long = "https://a.example/" + "x" * 3_000
    urls = ["https://a.example/", "https://a.example/" + "y" * (MOST_PADDED - 18), long]
    lines = [
        line for line, _ in table_lines("urls", [{"url": url, "links": 7, "why": "length"} for url in urls], 10_000)
    ]
    assert [len(line) for line in lines[1:4]] == [
        MOST_PADDED + len("  links  why"),
        *[MOST_PADDED + len("  links  length")] * 2,
    ]
    assert lines[4] == f"{long}      7  length"


def lines_of(rows: list[dict[str, object]], width: int) -> list[str]:
    return [line for line, _ in table_lines("hosts", rows, width)]


def test_a_number_stays_with_its_unit_and_what_is_not_there_is_left_out() -> None:
    rows: list[dict[str, object]] = [
        {"host": f"http://{name}.example", "latency_seconds": 5.0, "trouble": trouble, "until_seconds": until}
        | {f"number_{letter}": 10**9 for letter in "abcd"}
        for name, trouble, until in (("a", "no answer after 5.0 s", None), ("b", "", 3.0))
    ]
    for width in range(30, 60):
        lines = lines_of(rows, width)
        assert not any(line.endswith(("5", "5.0", "3")) for line in lines), width
        records = " ".join(lines).partition("http://b.example")
        assert "until" not in records[0], width
        assert "trouble" not in records[2], width
        assert "until 3 s" in records[2], width


def test_an_empty_fact_is_left_out_and_parts_of_one_have_units_of_their_own() -> None:
    facts = {"refused": {}, "versions": {"pages": 2, "bytes": 2_000_000}, "ended": None}
    assert list(fact_lines(facts, 80)) == ["versions  pages 2, bytes 2 MB", "ended     -"]


def test_columns_that_are_empty_in_every_row_are_left_out() -> None:
    rows: list[dict[str, object]] = [
        {"host": "http://a.example", "trouble": "", "known": 0, "until": None},
        {"host": "http://b.example", "trouble": "", "known": 2, "until": None},
    ]
    assert lines_of(rows, 80) == [
        "hosts",
        "host              known",
        "http://a.example      0",
        "http://b.example      2",
    ]


def test_a_wide_table_breaks_its_headings_then_gives_the_identity_a_line_of_its_own() -> None:
    row: dict[str, object] = {"requests_of_pages": 12, "pages_that_failed": 3, "url": "https://museum.example/halls/"}
    assert lines_of([row], 60)[1:] == [
        "requests   pages",
        "      of    that",
        "   pages  failed  url",
        "      12       3  https://museum.example/halls/",
    ]
    assert lines_of([row], 40)[1:] == [
        "  requests   pages",
        "        of    that",
        "     pages  failed",
        "https://museum.example/halls/",
        "        12       3",
    ]


def test_a_table_that_cannot_be_narrow_becomes_names_and_values() -> None:
    row: dict[str, object] = {"url": "https://a.example/"} | {f"number_{place}": 10**9 for place in range(4)}
    assert lines_of([row], 40)[1:] == [
        "https://a.example/",
        "  number 0 1,000,000,000, number 1",
        "  1,000,000,000, number 2 1,000,000,000,",
        "  number 3 1,000,000,000",
    ]


def test_long_facts_continue_under_themselves() -> None:
    facts = {"why": "it changes about every ten days", "read": True}
    assert list(fact_lines(facts, 24)) == ["why   it changes about", "      every ten days", "read  yes"]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("latency_seconds", 0.00213, "2.13 ms"),
        ("latency_seconds", 7.41827, "7.42 s"),
        ("age_seconds", 3_000, "50 min"),
        ("age_seconds", 90_000.0, "25 h"),
        ("age_seconds", 864_000, "10 d"),
        ("wire_bytes", 809, "809 B"),
        ("wire_bytes", 414_833, "415 KB"),
        ("wire_bytes", 999_999, "1000 KB"),
        ("wire_bytes", 7_300_000_000, "7.3 GB"),
        ("error_percent", 12.3456, "12.35 %"),
        ("importance", 8.5224832, "8.522"),
        ("certified_error", 7.74404e-07, "7.744e-07"),
        ("known", 65_819_776, "65,819,776"),
        ("status", 404, "404"),
        ("rate", 12345.678, "12,346"),
        ("port", 41_863, "41863"),
        ("right", True, "yes"),
        ("trouble", None, "-"),
        ("kinds", {"html": 3, "wire_xml": 2}, "html 3, wire xml 2"),
        ("title", "a\x1b[2J", "a\\x1b[2J"),
    ],
)
def test_values_have_units_and_sensible_digits(name: str, value: object, text: str) -> None:
    assert shown(name, value) == text


def test_a_name_loses_its_unit_where_the_value_shows_it() -> None:
    assert label("latency_seconds", [0.1, None]) == "latency"
    assert label("seconds", [0.1]) == "seconds"
    assert label("seconds", ["1 read"]) == "seconds"
    assert label("wire_bytes", [1]) == "wire bytes"
    assert label("change_seconds", [1], {"change": 2}) == "change seconds"
