"""Reports of a crawl in partitions are those of the same crawl in one folder."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from centime import open_crawl, pagerank
from centime.cli.main import app
from centime.cluster.opening import owner_of
from centime.cluster.report.parts import Parts, parts_of
from centime.crawl.report.graph import crawl_graph
from centime.model.errors import BadInput, UnknownPage
from centime.model.ids import PageId
from tests.cluster.crawled import Crawled


def both(crawled: Crawled) -> tuple[Parts, Parts]:
    return parts_of(crawled.plain), parts_of(crawled.cluster)


def facts_of(rows: list[dict[str, Any]], *without: str) -> list[dict[str, Any]]:
    """Rows without what two crawls of one web differ in, in one order."""
    return sorted(
        ({name: row[name] for name in row.keys() - set(without)} for row in rows), key=lambda row: row["host"]
    )


def test_the_top_of_all_partitions_is_that_of_one_folder(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    for site, name in ((False, "url"), (True, "host")):
        found, every = cluster.top(12, site=site), plain.top(1000, site=site)
        assert [row["rank"] for row in found["top"]] == list(range(1, 1 + len(found["top"])))
        truth = {row[name]: row["importance"] for row in every["top"]}
        importance = [row["importance"] for row in found["top"]]
        assert importance == pytest.approx([truth[row[name]] for row in found["top"]], abs=2e-4)
        assert importance == pytest.approx([row["importance"] for row in every["top"][:12]], abs=2e-4)
        assert found["certified_error"] <= 1.1e-6
        assert found["known"] == every["known"]
    failing = [[row["url"] for row in parts.top(9, "errors")["top"]] for parts in (plain, cluster)]
    assert failing[0] == failing[1]


def test_counts_and_hosts_are_those_of_one_folder(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    expected, found = plain.statistics(2e9), cluster.statistics(2e9)
    assert found["partitions"] == 3
    for name in ("known", "read", "visits", "hosts", "links", "outcomes", "kinds", "statuses", "body_bytes"):
        assert found[name] == expected[name], name
    differ = "ready", "latency_seconds", "wire_bytes"
    assert facts_of(cluster.hosts(9)["top"], *differ) == facts_of(plain.hosts(9)["top"], *differ)
    assert [row["known"] for row in cluster.hosts(3)["top"]] == [row["known"] for row in plain.hosts(3)["top"]]


def test_a_page_is_explained_with_the_links_of_all_partitions(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    expected, found = (parts.page(crawled.seed, now=2e9) for parts in (plain, cluster))
    for name in ("url", "rank", "known", "links_in", "links_out", "kind"):
        assert found[name] == expected[name], name
    for name in ("importance", "received_along_links", "received_from_virtual_page", "pays_each_link"):
        assert found[name] == pytest.approx(expected[name], abs=1e-4), name
    for name in ("paid_by", "links_to"):
        value = "contribution" if name == "paid_by" else "importance"
        assert [row[value] for row in found[name]] == pytest.approx([row[value] for row in expected[name]], abs=1e-4)
    with pytest.raises(UnknownPage):
        cluster.page(f"{crawled.seed}nowhere", now=2e9)


def test_changes_come_newest_first_from_all_partitions(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    expected, found = plain.changes(0.0, 2e10), cluster.changes(0.0, 2e10)
    assert len(found) == len(expected)
    rows = list(found.newest_first("", None, sentences=True))
    assert {row["url"] for row in rows} == {row["url"] for row in expected.newest_first("", None)}
    assert [row["seen_seconds"] for row in rows] == sorted((row["seen_seconds"] for row in rows), reverse=True)
    assert len(list(found.newest_first("", 5))) == 5
    assert "What changed in cluster" in "".join(found.atom(iter(rows[:1]), ""))


def test_exports_have_the_pages_and_links_of_all_partitions(crawled: Crawled, tmp_path: Path) -> None:
    links, tables = [], []
    for parts in both(crawled):
        graph = crawl_graph(parts.linked)
        urls = [url for some in parts.linked.urls() for url in some]
        sources = np.repeat(np.arange(graph.graph.pages), np.diff(graph.graph.offsets)).tolist()
        ends = zip(sources, graph.graph.targets.tolist(), strict=True)
        links.append({(urls[source], urls[target]) for source, target in ends})
        parts.export("parquet", tmp_path / "pages.parquet", lambda done: None)
        table = pq.read_table(tmp_path / "pages.parquet").to_pylist()
        assert [row["page"] for row in table] == list(range(parts.known))
        leads = {row["url"]: row["leads_to"] is not None and table[row["leads_to"]]["url"] for row in table}
        tables.append({row["url"]: (row["links_in"], row["links_out"], row["outcome"]) for row in table})
        assert all(not url or url in tables[-1] for url in leads.values())
        texts = parts.export("jsonl", tmp_path / "texts.jsonl", lambda done: None)
        assert texts["pages"] == len((tmp_path / "texts.jsonl").read_text().splitlines()) > 60
    assert links[0] == links[1]
    assert tables[0] == tables[1]


def test_sites_are_ranked_and_selected_alike_in_partitions(crawled: Crawled, tmp_path: Path) -> None:
    plain, cluster = both(crawled)
    found, expected = (parts.top(9, "site-importance") for parts in (cluster, plain))
    assert found["certified_error"] <= 1e-8
    scores = [{row["site"]: row["site_importance"] for row in report["top"]} for report in (found, expected)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    ranking = pagerank(crawl_graph(cluster.linked), by="site", error=1e-10)
    assert scores[0] == pytest.approx(ranking.to_dict(), abs=1e-6)
    both_selected = [parts.select(None, now=2e9) for parts in (cluster, plain)]
    for one, other in zip(
        *(sorted(made.facts["proposals"], key=lambda row: row["site"]) for made in both_selected), strict=True
    ):
        assert one["importance"] == pytest.approx(other["importance"], abs=2e-3)
        assert [one[name] for name in ("site", "pages", "found")] == [
            other[name] for name in ("site", "pages", "found")
        ]
    assert both_selected[0].sites.language == both_selected[1].sites.language == "en"
    with pytest.raises(BadInput, match="no earlier importance"):
        cluster.top(5, "rising")
    (tmp_path / "sites.txt").write_text("# one of them\nsite1.localhost\n")
    cluster.export("jsonl", tmp_path / "texts.jsonl", lambda done: None, sites=tmp_path / "sites.txt")
    urls = [json.loads(line)["url"] for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert {url.split("/")[2].split(":")[0] for url in urls} == {"site1.localhost"}


def test_a_search_finds_the_pages_of_all_partitions(crawled: Crawled) -> None:
    plain, cluster = both(crawled)
    word = plain.readers[0].shard.pages.texts.get(PageId(0)).split("/")[2].split(".")[0]
    counts = []
    for parts in (plain, cluster):
        assert sum(update.added for update in parts.update_index(rebuild=False, step=lambda done: None)) > 60
        found = parts.search(word, site="", since=None, kind="", most=5)
        counts.append((found.matches, found.changed_since, len(found.pages)))
        assert [page.score for page in found.pages] == sorted((page.score for page in found.pages), reverse=True)
    assert counts[0] == counts[1]


def test_a_plan_has_one_threshold_over_all_pages(crawled: Crawled) -> None:
    expected, found = (parts.plan(2e9, rate=0.001, count=12) for parts in both(crawled))
    assert found["pages"] == expected["pages"] > 60
    assert found["unread"] == expected["unread"]
    for one, other in zip(found["budgets"], expected["budgets"], strict=True):
        assert one["worth_needed"] == pytest.approx(other["worth_needed"], rel=0.02)
        assert one["fresh_in_the_long_run"] == pytest.approx(other["fresh_in_the_long_run"], abs=0.01)
    due = [row["url"] for row in found["next"]]
    assert len({owner_of(crawled.cluster, url) for url in due}) > 1
    assert [row["rank"] for row in found["next"]] == list(range(1, 13))


def said(folder: Path, *words: str) -> Any:
    """What a command says of a crawl, as JSON."""
    result = CliRunner().invoke(app, [words[0], str(folder), *words[1:], "--json"])
    assert result.exit_code == 0, result.output
    return msgspec.json.decode(result.output)


@pytest.mark.parametrize("command", ["versions", "text", "bodies"])
def test_what_is_stored_of_a_page_comes_from_its_owner(crawled: Crawled, command: str) -> None:
    url = next(row["url"] for row in parts_of(crawled.cluster).top(9)["top"] if _is_html(row["url"]))
    expected, found = (said(folder, command, url) for folder in (crawled.plain, crawled.cluster))
    for one in (expected, found):
        one.pop("time", None)
    if command == "text":
        assert found == expected
    assert found["url"] == expected["url"] == url


def _is_html(url: str) -> bool:
    return url.endswith(("/", ".html"))


def test_an_xpath_finds_the_same_pages_in_the_same_order(crawled: Crawled) -> None:
    expected, found = (said(folder, "query", "//title", "-n", "12") for folder in (crawled.plain, crawled.cluster))
    assert found["pages"] == expected["pages"]
    assert [row["found"] for row in found["results"]] == [row["found"] for row in expected["results"]]
    assert said(crawled.cluster, "query", "//title", "--changes")["changes"] == []


def test_xml_documents_of_all_partitions_are_listed(crawled: Crawled) -> None:
    expected, found = (said(folder, "documents", "-n", "99") for folder in (crawled.plain, crawled.cluster))
    assert {row["url"] for row in found["list"]} == {row["url"] for row in expected["list"]}
    for name in ("documents", "stored", "states", "roots"):
        assert found[name] == expected[name], name


def test_exports_of_bodies_have_the_pages_of_all_partitions(crawled: Crawled, tmp_path: Path) -> None:
    made = []
    for name, parts in zip(("plain", "cluster"), both(crawled), strict=True):
        for form in ("markdown", "git", "wacz", "warc"):
            parts.export(form, tmp_path / f"{name}.{form}", lambda done: None)
        files = {str(path.relative_to(tmp_path / f"{name}.markdown")) for path in _files(tmp_path / f"{name}.markdown")}
        commits = (tmp_path / f"{name}.git").read_bytes().count(b"commit refs/heads/main")
        package = zipfile.ZipFile(io.BytesIO((tmp_path / f"{name}.wacz").read_bytes()))
        names = package.namelist()
        assert len(names) == len(set(names))
        indexed = {msgspec.json.decode(line.split(b" ", 2)[2])["filename"] for line in _index(package)}
        assert {f"archive/{one}" for one in indexed} == {one for one in names if one.startswith("archive/")}
        pages = [msgspec.json.decode(line) for line in package.read("pages/pages.jsonl").splitlines()[1:]]
        assert len({page["id"] for page in pages}) == len(pages)
        assert msgspec.json.decode(package.read("datapackage.json"))["title"] == name
        made.append((files, commits, {page["url"] for page in pages}))
    assert made[0] == made[1]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _index(package: zipfile.ZipFile) -> list[bytes]:
    return package.read("indexes/index.cdx").splitlines()


def test_python_programs_open_a_crawl_in_partitions_as_any_other(crawled: Crawled) -> None:
    with open_crawl(crawled.plain) as plain, open_crawl(crawled.cluster) as cluster:
        assert cluster.folder == crawled.cluster
        assert cluster.settings["partitions"] == 3
        assert [page.number for page in cluster.pages] == list(range(len(plain.pages)))
        assert {page.url: page.outcome for page in cluster.pages} == {page.url: page.outcome for page in plain.pages}
        assert {(one.source, one.target) for one in cluster.links} == {(one.source, one.target) for one in plain.links}
        assert len(cluster.links) == len(plain.links) == cluster.links.to_arrow().num_rows
        assert {body.url for body in cluster.bodies} == {body.url for body in plain.bodies}
        assert {one.url for one in cluster.changes()} == {one.url for one in plain.changes()}
        assert [page.importance for page in cluster.top(9)] == pytest.approx(
            [page.importance for page in plain.top(9)], abs=2e-4
        )
        assert cluster.importance(crawled.seed) == pytest.approx(plain.importance(crawled.seed), abs=2e-4)
        assert cluster.statistics()["known"] == plain.statistics()["known"]
        assert (cluster.certified_error or 1.0) <= 1.1e-6
        assert cluster.versions(crawled.seed)[0]["bytes"] == plain.versions(crawled.seed)[0]["bytes"]
        assert [row["found"] for row in cluster.query("//title", most=5)] == [
            row["found"] for row in plain.query("//title", most=5)
        ]
        assert cluster.check() == []
        assert cluster.follow() == 0
