from collections.abc import Iterator
from pathlib import Path

import pytest

from centime.cluster.report.parts import Parts, parts_of
from centime.crawl.engine.opening import open_writer
from tests.crawl.report.made import NOW, clock, visit

SITES = 24


def site(number: int) -> str:
    return f"s{number:02}.example"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """A crawl of 24 sites of two pages each: site k has links from all sites before it, so importance rises with k; the
    second page of every third site is missing.
    """
    folder = tmp_path_factory.mktemp("library") / "crawl"
    fronts = [f"http://{site(number)}/" for number in range(SITES)]
    with open_writer(folder, fronts, {"delay": 0.0, "scope": "any"}, clock=clock()) as opened:
        shard = opened.shard
        leases = {lease.url: lease.page for lease in shard.lease(NOW, 100)}
        shard.record(
            NOW,
            [
                visit(leases[url], links=[*fronts[number + 1 :], f"{url}two"], body_bytes=1000 * (number + 1))
                for number, url in enumerate(fronts)
            ],
        )
        later = {lease.url: lease.page for lease in shard.lease(NOW + 1, 100)}
        read = [url for number, url in enumerate(fronts) if number % 3]
        shard.record(NOW + 2, [visit(later[f"{url}two"], links=[url], body_bytes=500) for url in read])
        shard.journal.sync()
        opened.close()
    parts = parts_of(folder)
    yield parts
    parts.close()


@pytest.fixture(scope="session")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Marks of all sites but the last four by three judges, in quarters of the order of their numbers; the third judge
    is one mark too strict about every fifth site.
    """
    lines = ["site;anna;ben;carla"]
    for number in range(SITES - 4):
        mark = 1 + number // 5
        lines.append(f"{site(number)};{mark};{mark};{max(1, mark - (number % 5 == 4))}")
    path = tmp_path_factory.mktemp("marks") / "marks.csv"
    path.write_text("\n".join(lines))
    return path
