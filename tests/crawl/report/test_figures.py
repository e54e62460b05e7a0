import json
from pathlib import Path

import pytest

from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.host_report import host_table
from centime.crawl.report.statistics import all_statistics
from centime.model.errors import BadSetting
from tests.crawl.report.made import NOW, A, B


def test_hosts_have_their_counts_and_are_sorted_by_the_given_column(small: CrawlReader) -> None:
    report = host_table(small, 10, now=NOW + 100)
    first, second = report["top"]
    assert (first["host"], first["known"], first["visits"], first["read"], first["failures"], first["refused"]) == (
        A,
        7,
        7,
        3,
        1,
        1,
    )
    assert (second["host"], second["known"], second["waiting"], second["visits"]) == (B, 3, 2, 0)
    assert first["trouble"] == "server error: it said no"
    assert (report["known"], report["hosts"], report["wire_bytes"]) == (10, 2, 7000)
    for order, column in (("read", "read"), ("failures", "failures"), ("bytes", "wire_bytes")):
        values = [row[column] for row in host_table(small, 10, order)["top"]]
        assert values == sorted(values, reverse=True)
    assert len(host_table(small, 1)["top"]) == 1


def test_hosts_cannot_be_sorted_by_an_unknown_column(small: CrawlReader) -> None:
    with pytest.raises(BadSetting, match="known, read, failures or bytes"):
        host_table(small, 1, "age")
    with pytest.raises(BadSetting, match="not -3"):
        host_table(small, -3)


def test_statistics_count_kinds_statuses_bytes_and_memory(small: CrawlReader) -> None:
    report = all_statistics(small, 1e9)
    assert report["kinds"] == {"unread": 3, "html": 3, "error": 2, "dead": 1, "redirect": 1}
    assert report["statuses"] == {"200": 3, "301": 1, "404": 1, "500": 1, "none": 1}
    assert report["settings"] == small.settings.facts()
    assert (
        report["memory_bytes"]["all"]
        == sum(count for name, count in report["memory_bytes"].items() if name != "all")
        > 0
    )
    files = list(small.folder.state.iterdir())
    assert report["disk_bytes"]["state"] == sum(path.stat().st_size for path in files)
    json.dumps(report)


def test_statistics_of_a_real_crawl_add_up(box: Path) -> None:
    report = all_statistics(read_crawl(box), 1e9)
    assert sum(report["kinds"].values()) == report["known"]
    assert report["kinds"]["unread"] == report["frontier"]
    assert report["disk_bytes"]["bodies"] > 0
