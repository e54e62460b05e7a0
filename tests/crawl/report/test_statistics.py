from pathlib import Path

from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.statistics import ended_in_words
from tests.crawl.served import Routes, crawled, html, text


def test_pages_that_were_read_in_part_are_counted_and_told(tmp_path: Path) -> None:
    long = "x " * 2_000
    routes: Routes = {
        "/": html("/a", "/b", "/c"),
        "/a": text(f"<a href=/d>first</a>{long}<a href=/e>last</a>", "text/html"),
        "/b": text(long, "text/plain"),
        "/c": html(),
        "/d": html(),
        "/e": html(),
    }
    part = crawled(tmp_path / "part", routes, "/", given={"most-page-bytes": 2_048})
    assert part.statistics()["truncated"] == 2
    assert part.paths == {"/", "/a", "/b", "/c", "/d"}
    said = "over; 2 pages are longer than --most-page-bytes 2048: the rest was not read"
    assert ended_in_words("over", read_crawl(part.folder)) == said
    whole = crawled(tmp_path / "whole", routes, "/")
    assert whole.statistics()["truncated"] == 0
    assert ended_in_words("over", read_crawl(whole.folder)) == "over"
