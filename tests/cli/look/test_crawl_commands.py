import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import typer

from centime import open_crawl, pagerank
from centime.cli import main
from centime.cli.crawl import check
from centime.cli.documents import bodies
from centime.cli.ending import run
from centime.cli.look import export, hosts, page, stats, top
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.graph import crawl_graph, linked_pages
from centime.model.ids import PageId
from tests.crawl.report.made import crawled, hand_made

DOCUMENT = (Path(__file__).parents[3] / "docs/crawl.md").read_text()

app = typer.Typer(add_completion=False, rich_markup_mode=None)
for module in (top, page, hosts, check, stats, export, bodies):
    module.register(app)


def centime(*arguments: object) -> int:
    return run(app, list(map(str, arguments)))


def whole(*arguments: object) -> int:
    """The program with all its commands."""
    return run(main.app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.getbasetemp()).folder


@pytest.fixture(scope="module")
def seed(box: Path) -> str:
    return read_crawl(box).shard.pages.texts.get(PageId(0))


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    said = capsys.readouterr()
    assert said.err == ""
    return json.loads(said.out)


def test_top_shows_people_the_first_pages_and_the_errors(
    box: Path, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("top", box, "-n", 3) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["certified", "error"] in [line[:2] for line in lines]
    assert ["largest", "error"] in [line[:2] for line in lines]
    assert [line[0] for line in lines[-3:]] == ["1", "2", "3"]
    assert lines[-3][-1] == seed


@pytest.mark.parametrize("by", ["importance", "worth", "change", "errors"])
@pytest.mark.parametrize("site", [[], ["--site"]])
def test_top_in_every_order_is_one_object_of_json(
    by: str, site: list[str], box: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("top", box, "--by", by, "-n", 5, "--json", *site) == 0
    facts = told(capsys)
    assert facts["by"] == by
    assert len(facts["top"]) <= 5
    failing = {page.outcome for page in open_crawl(box).pages} - {"", "read", "unchanged", "moved", "moved temporarily"}
    expected = {"importance": True, "worth": True, "change": False, "errors": bool(failing)}
    assert bool(facts["top"]) == expected[by], "which pages were among the first 200 depends on the machine"
    assert {("host" if site else "url") in row for row in facts["top"]} <= {True}


def test_top_of_sites_is_by_the_links_between_them(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("top", box, "--site", "--json") == 0
    facts = told(capsys)
    assert facts["by"] == "site-importance"
    assert facts["certified_error"] <= 1e-8
    reader = read_crawl(box)
    ranked = pagerank(crawl_graph(linked_pages(reader)), by="site").to_dict()
    reader.close()
    assert {row["site"]: row["site_importance"] for row in facts["top"]} == pytest.approx(ranked, abs=1e-6)


def test_page_tells_people_and_programs_about_one_page(
    box: Path, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("page", box, seed, "--json") == 0
    facts = told(capsys)
    assert (facts["url"], facts["number"], facts["next"]) == (seed, 0, "not planned")
    assert facts["links_in"] >= len(facts["paid_by"]) > 0
    assert centime("page", box, seed) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("importance", "why", "paid by", "links to", "visits"))


def test_an_unknown_page_is_a_problem_told_in_a_sentence(
    box: Path, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("page", box, f"{seed}no-such-page") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"centime: {seed}no-such-page is not known to this crawl; of its host there are ")


def test_hosts_and_stats_have_something_for_people_and_programs(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, word in (("hosts", "ready"), ("stats", "memory bytes")):
        assert centime(command, box) == 0
        assert word in capsys.readouterr().out
        assert centime(command, box, "--json") == 0
        assert told(capsys)["known"] > 200
    assert centime("hosts", box, "--by", "failures", "-n", 2, "--json") == 0
    assert len(told(capsys)["top"]) == 2


def test_check_ends_with_0_and_what_was_proven(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("check", box) == 0
    assert "money is conserved to the last unit" in capsys.readouterr().out
    assert centime("check", box, "--json") == 0
    facts = told(capsys)
    assert (facts["right"], facts["problems"]) == (True, [])


def test_check_ends_with_1_and_names_the_file_and_the_byte(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Path(shutil.copytree(box, tmp_path / "broken"))
    texts = broken / "state" / "texts.bin"
    data = bytearray(texts.read_bytes())
    data[100] ^= 1
    texts.write_bytes(data)
    assert centime("check", broken, "--json") == 1
    facts = told(capsys)
    assert facts["right"] is False
    [problem] = facts["problems"]
    assert (problem["part"], problem["file"]) == ("state", str(texts))
    assert 100 < int(problem["what"].removeprefix("damaged between byte 0 and byte ")) <= len(data)
    assert centime("check", broken) == 1
    assert str(texts) in capsys.readouterr().out


def test_an_export_is_ranked_by_centime_rank(box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from centime.cli.main import app as whole

    output = tmp_path / "box.txt.gz"
    assert centime("export", box, "--format", "edges", "-o", output, "--json") == 0
    assert told(capsys)["files"] == [str(output), f"{output}.names"]
    assert run(whole, ["rank", str(output), "--json", "--top", "1"]) == 0
    first = told(capsys)["top"][0]
    assert centime("top", box, "-n", 1, "--json") == 0
    facts = told(capsys)
    assert first["page"] == facts["top"][0]["url"]
    assert abs(first["score"] - facts["top"][0]["importance"]) <= facts["largest_error"] + 1e-6


def test_an_export_without_a_name_gets_that_of_the_crawl(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for form, name in (("parquet", "webbox.parquet"), ("csv", "webbox.csv"), ("webgraph-text", "webbox.graph-txt")):
        assert centime("export", box, "--format", form) == 0
        assert (tmp_path / name).stat().st_size > 0
        assert name in capsys.readouterr().out


def test_a_dash_is_standard_output_for_one_stream_and_never_a_file(
    box: Path,
    seed: str,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert centime("export", box, "--format", "csv", "-o", "pages.csv") == 0
    assert centime("bodies", box, seed, "-o", "body.html") == 0
    capfdbinary.readouterr()
    Path("stdout").symlink_to("/proc/self/fd/1")
    for output in ("-", "stdout"):
        assert centime("export", box, "--format", "csv", "-o", output) == 0
        assert capfdbinary.readouterr() == (Path("pages.csv").read_bytes(), b"")
        assert centime("bodies", box, seed, "-o", output) == 0
        assert capfdbinary.readouterr() == (Path("body.html").read_bytes(), b"")
    for refused in (
        ["export", box, "--format", "edges", "-o", "-"],
        ["export", box, "--format", "csv", "-o", "-", "--json"],
        ["rank", box, "-o", "-"],
        ["convert", box, "-", "--to", "edges"],
    ):
        assert whole(*refused) == 2
        assert capfdbinary.readouterr().out == b""
    assert {path.name for path in tmp_path.iterdir()} == {"pages.csv", "body.html", "stdout"}


def test_outputs_go_into_a_fifo_and_behind_a_link(
    box: Path, seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fifo, link, file = tmp_path / "fifo", tmp_path / "link.csv", tmp_path / "file.csv"
    os.mkfifo(fifo)
    link.symlink_to(file)
    assert centime("export", box, "--format", "csv", "-o", link) == 0
    for command in (["export", box, "--format", "csv"], ["bodies", box, seed], ["export", box]):
        with ThreadPoolExecutor() as pool:
            received = pool.submit(fifo.read_bytes)
            assert centime(*command, "-o", fifo) == 0
            assert received.result(20)
    assert link.readlink() == file
    assert fifo.is_fifo()
    assert {path.name for path in tmp_path.iterdir()} == {"fifo", "link.csv", "file.csv"}


def test_bodies_writes_the_body_itself(
    box: Path, seed: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert centime("bodies", box, seed) == 0
    body = capsysbinary.readouterr().out
    assert b"<html" in body.lower()
    assert centime("bodies", box, seed, "-o", tmp_path / "body.html") == 0
    assert (tmp_path / "body.html").read_bytes() == body
    capsysbinary.readouterr()
    assert centime("bodies", box, seed, "--list", "--json") == 0
    (capture,) = json.loads(capsysbinary.readouterr().out)["captures"]
    assert (capture["status"], capture["mime"]) == (200, "text/html")
    assert centime("bodies", box, seed, "--at", "1999") == 1
    for wrong in ("9999-99-99", "2026-02-30", "20260101250000", "0000", "2026-01-01T12:61"):
        assert centime("bodies", box, seed, "--at", wrong) == 2, wrong
    assert b"the first body was stored at" in capsysbinary.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["top"],
        ["page", "http://a.example/"],
        ["hosts"],
        ["check"],
        ["stats"],
        ["export"],
        ["bodies", "http://a.example/"],
    ],
)
def test_where_there_is_no_crawl_every_command_says_so(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    name, *rest = command
    for path, sentence in (
        (tmp_path / "none", "there is no such folder"),
        (file, "this is a file"),
        (tmp_path, "this is not a crawl"),
    ):
        assert centime(name, path, *rest) == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"centime: {path}: {sentence}")
        assert said.out == ""


def test_all_commands_work_while_a_crawl_has_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "crawl"
    with hand_made(folder):
        for command in (["top"], ["hosts"], ["check"], ["stats"]):
            assert centime(*command, folder, "--json") == 0
            assert told(capsys)
        assert centime("page", folder, "http://a.example/", "--json") == 0
        assert centime("export", folder, "-o", tmp_path / "pages.csv", "--format", "csv", "--json") == 0


def test_a_crawl_is_a_graph_for_ranking_and_analysis(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whole("rank", box, "--top", "3", "--json") == 0
    ranked = json.loads(capsys.readouterr().out)
    assert centime("top", box, "-n", "3", "--json") == 0
    known = json.loads(capsys.readouterr().out)
    assert ranked["pages"] == known["known"]
    assert [row["page"] for row in ranked["top"]] == [row["url"] for row in known["top"]]
    for row, other in zip(ranked["top"], known["top"], strict=True):
        assert row["score"] == pytest.approx(other["importance"], abs=known["largest_error"])
    assert whole("explain", box, known["top"][0]["url"], "--json") == 0
    capsys.readouterr()
    assert whole("rank", box, "--memory", "400MB") == 2
    assert "centime export" in capsys.readouterr().err
    assert whole("rank", tmp_path) == 2
    assert "directory" in capsys.readouterr().err


def test_a_damaged_crawl_is_one_sentence_of_every_other_command(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Path(shutil.copytree(box, tmp_path / "broken"))
    for manifest in (broken / "snapshots").glob("*/manifest.json"):
        manifest.write_text("{}")
    for segment in (broken / "journal").glob("*.log"):  # from which, whole, everything could be made again
        segment.unlink()
    assert centime("top", broken) == 1
    said = capsys.readouterr()
    assert "all segments of the journal are missing" in said.err
    assert said.err.count("\n") == 1


def cells(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


def test_the_document_shows_the_words_that_the_commands_print(
    box: Path, seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Path(shutil.copytree(box, tmp_path / "broken"))
    (broken / "state/texts.bin").write_bytes(bytes((broken / "state/texts.bin").stat().st_size))
    feeds = Path(shutil.copytree(box, tmp_path / "feeds"))
    with open_writer(feeds, [], {"want": "xml"}) as opened:
        opened.close()
    urls = dict.fromkeys(("http://site0.localhost:8800/", "http://site0.localhost:8800/section-2/"), seed)
    places = {"box": str(box), "broken": str(broken), "feeds": str(feeds), **urls}
    shown = re.findall(r"^\$ centime (top|page|hosts|stats|check) (.+)\n((?:(?!```|\$).*\n)+)", DOCUMENT, re.MULTILINE)
    assert len(shown) == 10
    for name, rest, printed in shown:
        centime(name, *(places.get(word, word) for word in rest.split()))
        said = [cells(line) for line in capsys.readouterr().out.splitlines()]
        for line in map(cells, printed.splitlines()):
            words = [cell for cell in line if re.fullmatch(r"[a-z ]+", cell)]
            if line[0] in words:  # the name of a value or of a table, or the columns of a table
                count = len(words) if words == line or [*words, "..."] == line else 1
                assert line[:count] in [one[:count] for one in said]
