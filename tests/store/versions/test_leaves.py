"""The leaves of a file have what SQLite reads from it."""

import random
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.store.versions.database import FILE, PAGE_BYTES, open_to_write
from centime.store.versions.leaf import BRANCH, INDEX_BRANCH, INDEX_LEAF, LEAF, fills, values_of
from centime.store.versions.leaves import leaves_of
from centime.store.versions.stored import document_id
from centime.store.versions.walk import Page, Row

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
REALS = st.floats(allow_nan=False) | st.integers(0, 1 << 40).map(float)
SIZES = st.integers(0, 300) | st.sampled_from([PAGE_BYTES - 36, PAGE_BYTES - 35, PAGE_BYTES, 3 * PAGE_BYTES, 100_000])


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS, REALS, st.none() | REALS, NUMBERS, SIZES), max_size=60))
def test_the_rows_of_the_leaves_are_those_that_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, float, float | None, int, int]]
) -> None:
    folder, draw = tmp_path_factory.mktemp("written"), random.Random(1)
    versions = {
        (document, number): Row(document, number, time, before, b"d" * 16, size, steps, "é", 200, draw.randbytes(size))
        for document, number, time, before, steps, size in rows
    }
    urls = [f"http://a.example/{'long/' * (size // 5)}{number}" for number, (*_, size) in enumerate(rows)]
    pages = {document_id(url): Page(document_id(url), url, 1, b"d" * 16, 7.0) for url in urls}
    with closing(open_to_write(folder)) as database:
        database.executemany("INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", versions.values())
        database.executemany("INSERT INTO document VALUES (?, ?, ?, ?, ?)", pages.values())
    with leaves_of(folder / FILE) as leaves:
        assert leaves.unread == 0
        assert leaves.pages == pages
        found = list(leaves.rows(leaves.versions.values()))
    assert {(row.document, row.number): row for row in found} == versions
    assert len(found) == len(versions)


def test_a_page_is_filled_by_the_cells_of_its_own_kind_only(tmp_path: Path) -> None:
    with closing(open_to_write(tmp_path)) as database:
        for number in range(2_000):
            row = Row(number, 1, 7.0, None, b"d" * 16, 90, 0, "", 200, b"f" * 90)
            database.execute("INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    content = (tmp_path / FILE).read_bytes()
    kinds = (INDEX_BRANCH, BRANCH, INDEX_LEAF, LEAF)
    seen = set()
    for begin in range(2 * PAGE_BYTES, len(content), PAGE_BYTES):
        page = content[begin : begin + PAGE_BYTES]
        if page[3:5] != bytes(2):
            assert [kind for kind in kinds if fills(page, kind)] == [page[0]]
            seen.add(page[0])
    assert seen == set(kinds)


@pytest.mark.parametrize("number", range(20))
def test_whatever_a_file_has_reading_its_leaves_ends(tmp_path: Path, number: int) -> None:
    draw = random.Random(number)
    pages = [draw.choice([bytes(1), b"\x05", b"\x0a", b"\x0d"]) + draw.randbytes(PAGE_BYTES - 1) for _ in range(9)]
    (tmp_path / FILE).write_bytes(b"".join(pages)[: draw.randint(0, 9 * PAGE_BYTES)])
    with leaves_of(tmp_path / FILE) as leaves:
        assert leaves.pages == {}
        list(leaves.rows(leaves.versions.values()))


def test_rows_of_free_pages_are_not_found(tmp_path: Path) -> None:
    with closing(open_to_write(tmp_path)) as database:
        for number in range(200):
            row = Row(number, 1, 7.0, None, b"d" * 16, 90, 0, "", 200, b"f" * 900)
            database.execute("INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        database.execute("DELETE FROM version WHERE document < 150")
        assert database.execute("PRAGMA freelist_count").fetchone()[0] > 10
    with leaves_of(tmp_path / FILE) as leaves, closing(sqlite3.connect(tmp_path / FILE)) as database:
        assert set(leaves.versions) == set(database.execute("SELECT document, number FROM version"))


def test_a_number_that_is_none_is_null_as_in_sqlite() -> None:
    header = bytes([2, 7])
    assert values_of(header + struct.pack(">d", float("nan"))) == [None]
    assert values_of(header + struct.pack(">d", 0.5)) == [0.5]
