"""A quick part of `python -m bench.faults`: real crawls with faults of all kinds lose nothing and end as if without."""

from pathlib import Path
from random import Random

import pytest

from bench.faults.campaign import ENDED, Ending
from bench.faults.fault import FAULTS
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.lab.webbox import WebBox, serve_in_process
from centime.model.errors import InUse
from centime.store.folder import CrawlFolder
from centime.store.versions.stored import every_version
from tests.crawl.world import SEED, World, advance, crawl

BOX = WebBox(
    hosts=6, pages=200, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.01, changes_per_day=1e-6
)
ROUNDS = [
    ["everything killed", "killed, tail torn", "the shard killed in a snapshot", "a fetcher killed"],
    ["everything killed at the start", "disk full", "killed, tail corrupted", "killed, tail zeros"],
]


@pytest.mark.timeout(240)
@pytest.mark.long
@pytest.mark.parametrize(
    ("keep", "want", "kinds"),
    [("versions", "xml", ROUNDS[0]), ("xml", "none", ROUNDS[1])],
)
def test_a_crawl_with_faults_of_all_kinds_loses_nothing_and_ends_like_one_without(
    keep: str, want: str, kinds: list[str], tmp_path: Path
) -> None:
    with serve_in_process(BOX) as served:
        campaign = Ending(served.seed_url, tmp_path, ("--rate", "400/s", "--keep", keep, "--want", want))
        campaign.begin()
        campaign.disturb(tmp_path / "crawl", kinds, Random(7))
        undisturbed, disturbed = (
            {(one.url, one.digest) for one in every_version(folder / "versions")}
            for folder in (tmp_path / "undisturbed", tmp_path / "crawl")
        )
    assert [problem for tally in campaign.tallies.values() for problem in tally.wrong] == []
    assert {kind: tally.right for kind, tally in campaign.tallies.items()} == dict.fromkeys(kinds, 1) | {ENDED: 1}
    assert set(campaign.tallies) - {ENDED} <= set(FAULTS)
    assert disturbed == undisturbed
    assert bool(disturbed) == (keep == "versions")


def test_a_crawl_killed_before_its_first_frame_was_on_disk_still_knows_its_seeds(tmp_path: Path) -> None:
    with crawl(tmp_path / "c"):
        pass  # nothing is flushed: the frames are lost as in a kill
    with crawl(tmp_path / "c") as opened:
        assert opened.shard.pages.count == 1
        assert [lease.url for lease in opened.shard.lease(1.0, 5)] == [SEED]


def test_a_crawl_killed_while_its_folder_was_made_starts_again(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        assert opened.shard.pages.count == 1
    (tmp_path / "c" / "centime.json").rename(tmp_path / "c" / ".centime.json")
    for part in ("journal", "state"):
        for path in (tmp_path / "c" / part).iterdir():
            path.unlink()
    with open_writer(tmp_path / "c", [SEED], {"delay": 1.0}) as opened:
        assert opened.shard.pages.count == 1


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 5)
        with pytest.raises(InUse):
            CrawlFolder.open(tmp_path / "c", writable=True)
        opened.close()
    assert read_crawl(tmp_path / "c").shard.read_count > 0
