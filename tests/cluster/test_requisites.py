"""What pages need is fetched and archived once, whichever partition owns it, as in one folder."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.cluster.beginning import cluster_run
from centime.cluster.report.checking import check_any
from centime.cluster.report.parts import parts_of
from centime.crawl.engine.loop import Limits
from centime.model.address import partition_of
from tests.crawl.shown import Site, shown

MOST_TRIES = 50


@contextmanager
def divided() -> Iterator[Site]:
    """A site at a port with which another partition, of 2, owns the host of its files."""
    for _ in range(MOST_TRIES):
        with shown() as site:
            if partition_of(site.url + "/", 2) != partition_of(site.cdn + "/", 2):
                yield site
                return
    raise AssertionError("no port will do")


def test_files_of_other_partitions_are_fetched_once_and_told_what_needs_them(tmp_path: Path) -> None:
    given = {"allow-network": ["127.0.0.0/8"], "delay": 0.0, "workers": 1, "requisites": True, "keep": "all"}
    with divided() as site:
        with cluster_run(tmp_path / "c", [f"{site.url}/"], given, Limits(), partitions=2) as crawl:
            crawl.run()
        robots = {f"{host}/robots.txt" for host in (site.url, site.cdn)}
        assert set(site.asked) == site.expected() | robots | {f"{site.url}/secret.html", f"{site.url}/after.html"}
        assert set(Counter(site.asked).values()) == {1}
        parts = parts_of(tmp_path / "c")
        facts = parts.statistics(0.0)["requisites"]
        assert (facts["known"], facts["became_pages"]) == (parts.known - 8, 1)
        page = parts.page(f"{site.cdn}/script.js", now=0.0)
        assert (page["requisite_of"], page["nesting"]) == (f"{site.url}/", 1)
        parts.close()
    assert check_any(tmp_path / "c").problems == []
