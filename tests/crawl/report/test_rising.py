from pathlib import Path
from typing import Any

import numpy as np
import pytest

from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.top import top_pages
from centime.model.errors import BadInput
from centime.store.milestones import FOLDER, SPANS, read_milestone, write_milestones
from tests.crawl.report.made import LINKS, NOW, ROOT, A, B, clock, closed_twice, hand_made, visit

DAY = 86_400.0
NEW = f"{B}/new"


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> CrawlReader:
    """The crawl made by hand, and a second run two days later, in which all pages link to a new one."""
    folder = tmp_path_factory.mktemp("grown") / "crawl"
    with hand_made(folder, **{"refresh-after": 1000.0}) as opened:
        opened.shard.ledger.settle(error=1e-9, payments=10**6)
        opened.close()
    with open_writer(folder, [], {}, clock=clock()) as opened:
        shard = opened.shard
        leases = {lease.url: lease.page for lease in shard.lease(NOW + 2 * DAY, 100)}
        rows: dict[str, list[str]] = {ROOT: LINKS, f"{A}/one": [ROOT, f"{A}/two"], f"{A}/two": [ROOT]}
        seen = [visit(leases[url], links=[*links, NEW], signature=9) for url, links in rows.items()]
        shard.record(NOW + 2 * DAY, seen)
        shard.ledger.settle(error=1e-9, payments=10**6)
        opened.close()
    return read_crawl(folder)


def test_a_page_to_which_links_lead_rises_with_a_derivative_and_its_error(grown: CrawlReader) -> None:
    report = top_pages(grown, 20, "rising")
    assert (report["since"], report["until"]) == ("2027-01-15T08:00:02Z", "2027-01-17T08:00:00Z")
    first = report["top"][0]
    assert (first["url"], first["new"], first["certain"]) == (NEW, True, True)
    assert first["rise"] == first["importance"] > 1
    assert first["per_day"] == pytest.approx(first["rise"] / (2 - 2 / DAY))
    assert 0 < first["error_per_day"] < first["per_day"]
    then = read_milestone(grown.folder.path, NOW + DAY, NOW + DAY)
    assert then is not None
    assert then.error is not None
    largest = grown.shard.ledger.largest_error()
    assert largest is not None
    bound = then.error * len(then.importance) / 2 + largest
    assert report["error_of_two"] == pytest.approx(bound)
    now = grown.shard.ledger.importance()
    rises = {url: now[page] - then.importance[page] for page, url in enumerate(_urls(grown, len(then.importance)))}
    for row in report["top"][1:]:
        assert row["rise"] == pytest.approx(rises[row["url"]], rel=1e-6)
        assert row["rise"] > 0
    assert [row["rise"] for row in report["top"]] == sorted((row["rise"] for row in report["top"]), reverse=True)


def test_a_site_rises_by_what_its_pages_rise(grown: CrawlReader) -> None:
    site = top_pages(grown, 5, "rising", site=True)["top"][0]
    every = {row["host"]: row["importance"] for row in top_pages(grown, 5, site=True)["top"]}
    assert (site["host"], site["importance"]) == (B, pytest.approx(every[B]))
    then = read_milestone(grown.folder.path, NOW + DAY, NOW + DAY)
    assert then is not None
    before = sum(
        x
        for x, url in zip(then.importance.tolist(), _urls(grown, len(then.importance)), strict=True)
        if url.startswith(B)
    )
    assert site["rise"] == pytest.approx(every[B] - before, rel=1e-5)


def test_without_an_earlier_moment_there_is_a_sentence(tmp_path: Path, small: CrawlReader) -> None:
    with pytest.raises(BadInput, match="there is no earlier importance to compare with"):
        top_pages(small, 5, "rising")
    once = read_crawl(closed_twice(tmp_path / "crawl"))
    with pytest.raises(BadInput, match="has to visit pages after that"):
        top_pages(once, 5, "rising", since=0.0)


def test_the_first_milestone_of_a_step_stays_and_the_newest_old_enough_is_taken(tmp_path: Path) -> None:
    start = 30 * DAY * 700

    def write(time: float, value: float) -> int:
        return write_milestones(tmp_path, time, None, [np.array([value, 1.0])])

    assert write(start + 10, 1.0) == len(SPANS)
    assert write(start + 20, 2.0) == 0
    assert write(start + 3_700, 3.0) == 1
    assert write(start + DAY + 10, 4.0) == 2
    assert write(start + DAY + 3_700, 5.0) == 1

    def value(time: float) -> float | None:
        found = read_milestone(tmp_path, start + time, start + 10 * DAY)
        return None if found is None else float(found.importance[0])

    assert [value(time) for time in (DAY + 9_999, DAY + 11, DAY, 0)] == [5.0, 4.0, 1.0, 1.0]
    newest = max(path for path in (tmp_path / FOLDER).iterdir() if path.name.startswith("3600-"))
    whole = newest.read_bytes()
    for data in (whole[:-1], b"x", whole[:-4] + b"\0\0\0\0"):
        newest.write_bytes(data)
        assert value(DAY + 9_999) == 4.0, "a damaged one does not count"
    assert read_milestone(tmp_path / "none", 0.0, 1.0) is None


def test_what_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file in the place of the folder")
    assert write_milestones(tmp_path, 1e9, 0.5, [np.ones(3)]) == 0


def _urls(opened: CrawlReader, count: int) -> Any:
    return opened.shard.pages.texts.get_many(np.arange(count))
