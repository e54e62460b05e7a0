import csv
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.engine.state import rows_of
from centime.crawl.report.export import export, export_path
from centime.crawl.report.graph import linked_pages
from centime.crawl.report.table import SCHEMA
from centime.ledger.exact import ExactLedger
from centime.model.errors import BadInput, BadSetting
from centime.rank.ranking import pagerank
from tests.crawl.report.made import NOW, ROOT, A, B


def test_the_table_has_a_row_for_every_page_with_what_is_known_of_it(small: CrawlReader, tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    assert export([small], linked_pages(small), "parquet", path)["pages"] == 10
    table = pq.read_table(path)
    assert table.schema.equals(SCHEMA)
    rows = {row["url"]: row for row in table.to_pylist()}
    assert sum(row["importance"] for row in rows.values()) == pytest.approx(10)
    root, one, late, old = rows[ROOT], rows[f"{A}/one"], rows[f"{B}/late"], rows[f"{A}/old"]
    assert (root["links_out"], root["links_in"], root["visits"], root["outcome"], root["kind"]) == (
        7,
        2,
        1,
        "read",
        "html",
    )
    assert root["first_visit"] == root["last_visit"] == datetime.fromtimestamp(NOW, UTC)
    assert one["last_modified"] == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
    assert (one["host"], one["depth"], one["status"], one["wire_bytes"]) == (A, 1, 200, 1000)
    assert one["signature"] == "0000000000000007"
    assert (late["kind"], late["visits"], late["depth"]) == ("unread", 0, 2)
    assert {
        late[name] for name in ("outcome", "status", "first_visit", "wire_bytes", "signature", "leads_to", "truncated")
    } == {None}
    assert (old["outcome"], old["kind"], old["leads_to"]) == ("moved", "redirect", rows[f"{A}/two"]["page"])
    assert sum(row["links_in"] for row in rows.values()) == sum(row["links_out"] for row in rows.values()) == 13


def test_csv_has_the_same_rows(small: CrawlReader, tmp_path: Path) -> None:
    export([small], linked_pages(small), "csv", tmp_path / "pages.csv")
    export([small], linked_pages(small), "parquet", tmp_path / "pages.parquet")
    with (tmp_path / "pages.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = pq.read_table(tmp_path / "pages.parquet").to_pylist()
    assert [(row["url"], float(row["importance"]), row["outcome"] or None) for row in rows] == [
        (row["url"], row["importance"], row["outcome"]) for row in expected
    ]
    assert list(rows[0]) == SCHEMA.names


@pytest.mark.parametrize("name", ["links.txt", "links.tsv.gz", "links.csv", "links.txt.zst"])
def test_ranking_an_exported_edge_list_gives_the_ledgers_importance_within_the_certified_errors(
    name: str, box: Path, tmp_path: Path
) -> None:
    opened = read_crawl(box)
    ledger = opened.shard.ledger
    assert isinstance(ledger, ExactLedger)
    assert export([opened], linked_pages(opened), "edges", tmp_path / name)["links"] == ledger.links
    ranking = pagerank(tmp_path / name, damping=ledger.damping, error=1e-10)
    assert ranking.pages == opened.shard.pages.count
    assert ranking.names is not None
    assert list(ranking.names) == list(opened.shard.pages.texts.every())
    assert ranking.certified_error is not None
    distance = np.abs(ranking.scores - ledger.importance()).sum() / ranking.pages
    assert distance <= ledger.error() + ranking.certified_error
    assert ledger.error() < 1e-5


def test_a_webgraph_in_ascii_has_a_line_of_sorted_links_for_every_page(box: Path, tmp_path: Path) -> None:
    opened = read_crawl(box)
    facts = export([opened], linked_pages(opened), "webgraph-text", tmp_path / "box.graph-txt")
    head, *lines = (tmp_path / "box.graph-txt").read_text().split("\n")
    assert lines.pop() == ""
    expected = []
    for _, lengths, targets in rows_of(opened.shard):
        expected += [row.tolist() for row in np.split(targets, np.cumsum(lengths)[:-1])]
    assert int(head) == len(lines) == opened.shard.pages.count
    assert [list(map(int, line.split())) for line in lines] == expected
    assert all(row == sorted(set(row)) for row in expected)
    assert facts["links"] == sum(map(len, expected))
    names = (tmp_path / "box.graph-txt.names").read_text().splitlines()
    assert names == list(opened.shard.pages.texts.every())


def test_a_failed_export_leaves_the_older_file_and_nothing_else(small: CrawlReader, tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    path.write_text("older")

    def fail(_: float) -> None:
        raise KeyboardInterrupt

    for form in ("parquet", "webgraph-text"):
        with pytest.raises(KeyboardInterrupt):
            export([small], linked_pages(small), form, path, fail)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("pages.parquet", "older")]


def test_a_bad_path_of_an_export_is_refused_before_any_work(
    small_folder: Path, small: CrawlReader, tmp_path: Path
) -> None:
    assert export_path(small_folder, "edges", None) == Path("crawl.txt")
    with pytest.raises(BadSetting, match=r"parquet, csv, edges, webgraph-text, .* or wacz, not 'xls'"):
        export_path(small_folder, "xls", None)
    for path, sentence in (
        (tmp_path, "this is a directory"),
        (tmp_path / "no" / "x.csv", "there is no such folder"),
        (small_folder / "state" / "texts.bin", "inside the crawl's own folder"),
    ):
        with pytest.raises(BadInput, match=sentence):
            export_path(small_folder, "csv", path)
    with pytest.raises(BadInput, match="the name of an edge list ends in"):
        export([small], linked_pages(small), "edges", tmp_path / "links.parquet")
