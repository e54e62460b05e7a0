"""A crawl that wants a kind of page: what leads there is read first, and all of it follows from the journal."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from centime.crawl.check.check import check_crawl
from centime.crawl.check.findings import Findings
from centime.crawl.check.state import check_state
from centime.crawl.engine.assembly import shard_state
from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.graph import crawl_graph, linked_pages
from centime.crawl.report.page import about_page
from centime.crawl.report.planning.plan import plan
from centime.crawl.report.statistics import all_statistics
from centime.crawl.report.top import top_pages
from centime.model.errors import BadInput, BadSetting
from centime.model.outcome import Outcome, PageKind
from centime.rank.interest import interest as offline_interest
from centime.shard.message import Lease, pack, unpack_visit
from centime.shard.people.command import SetCommand
from centime.shard.wanting import check_interest
from tests.crawl.served import crawled, html, text
from tests.crawl.world import World, advance, crawl, url_of
from tests.shard.test_shard import same


class Mixed(World):
    """A world in which one page in seven is XML."""

    def visit(self, lease: Lease, now: float) -> bytes:
        visit = unpack_visit(super().visit(lease, now))
        if visit.outcome is Outcome.READ and int(lease.url.rsplit("p", 1)[1]) % 7 == 0:
            visit = msgspec.structs.replace(visit, kind=PageKind.XML, content_type="application/xml")
        return pack(visit)


def disturbed() -> Mixed:
    world = Mixed()
    world.outcomes = {3: Outcome.GONE, 5: Outcome.MOVED, 9: Outcome.BUSY, 11: Outcome.DISALLOWED, 14: Outcome.TIMED_OUT}
    return world


def set_want(shard: Any, now: float, want: str | None, name: str) -> None:
    shard.command(now, SetCommand(id=name, time=now, values={"want": want}))


@pytest.mark.parametrize("ledger", ["exact", "opic", "interpolation", "variable"])
@pytest.mark.parametrize("want", ["xml", "p1"])
def test_replaying_the_journal_gives_the_same_interest_bit_for_bit(tmp_path: Path, ledger: str, want: str) -> None:
    with crawl(tmp_path / "c", ledger=ledger, want=f"({want})" if want == "p1" else want, focus=["p1=4"]) as opened:
        advance(opened, disturbed(), 60)
        opened.shard.journal.flush()
        again = read_crawl(tmp_path / "c")
        assert again.folded > 60
        same(opened.shard, again.shard)
        assert again.shard.interest is not None
        assert again.shard.interest.are_wanted().sum() > 2
        check_interest(again.shard)
        again.shard.placement.check(again.shard.hosts_of_pages)


def test_a_snapshot_and_the_frames_after_it_give_the_same_interest(tmp_path: Path) -> None:
    world = disturbed()
    with crawl(tmp_path / "c", want="xml") as opened:
        now = advance(opened, world, 20)
        opened._start()
        opened._finish()
        advance(opened, world, 20, start=now)
        opened.shard.journal.flush()
        again = read_crawl(tmp_path / "c")
        assert 0 < again.folded < 45
        same(opened.shard, again.shard)
        check_interest(again.shard)
    assert check_crawl(tmp_path / "c").problems == []


def test_what_is_wanted_can_change_while_the_crawl_runs_and_a_replay_knows_it(tmp_path: Path) -> None:
    world = disturbed()
    with crawl(tmp_path / "c") as opened:
        now = advance(opened, world, 15)
        for number, want in enumerate(["xml", "/p1", None, "html", "xml"]):
            set_want(opened.shard, now, want, str(number))
            assert (opened.shard.interest is None) == (want is None)
            check_interest(opened.shard)
            now = advance(opened, world, 5, start=now)
        opened.shard.journal.flush()
        same(opened.shard, read_crawl(tmp_path / "c").shard)


def test_a_crawl_that_no_longer_wants_a_kind_goes_on_as_one_that_never_did(tmp_path: Path) -> None:
    world = Mixed()
    orders: list[list[str]] = []
    for want in (None, "xml"):
        with crawl(tmp_path / str(want), delay=0.0) as opened:
            now = advance(opened, world, 5)
            set_want(opened.shard, now, want, "1")
            set_want(opened.shard, now, None, "2")
            orders.append([lease.url for lease in opened.shard.lease(now, 20)])
    assert orders[0] == orders[1]
    assert len(orders[0]) == 20


def test_files_that_the_fetchers_refuse_cannot_be_wanted_while_they_run(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened, pytest.raises(BadSetting, match=r"start it with --want pdf"):
        set_want(opened.shard, 1.0, "pdf", "1")
    with crawl(tmp_path / "d", want="pdf") as opened:
        assert "pdf" not in opened.shard.settings.refused_suffixes()


@pytest.mark.parametrize("ledger", ["exact", "opic"])
def test_interest_on_line_is_that_of_the_off_line_ranking_within_its_certified_error(
    tmp_path: Path, ledger: str
) -> None:
    with crawl(tmp_path / "c", want="xml", ledger=ledger, delay=0.0) as opened:
        advance(opened, Mixed(400), 30)
        shard = opened.shard
        assert shard.interest is not None
        offline = offline_interest(
            crawl_graph(linked_pages(opened)).graph, shard.interest.are_wanted().astype(np.float64), error=1e-10
        )
        apart = np.abs(shard.interest.scores() - offline.scores).mean()
        certified = shard.interest.error(shard.pages.rows)
        assert certified is not None
        assert apart <= certified
        shard.settle(1e-6, 10_000)
        assert np.abs(shard.interest.scores() - offline.scores).mean() <= 1e-6 + 1e-10
        assert (shard.interest.error(shard.pages.rows) or 1.0) <= 1e-6


def test_check_finds_interest_that_does_not_follow_from_the_visits(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", want="xml") as opened:
        advance(opened, Mixed(), 20)
        interest = opened.shard.interest
        assert interest is not None
        interest._columns["degree"][4] += 1
        findings = Findings()
        check_state(opened, findings, lambda done: None)
    assert [str(problem) for problem in findings.problems if "links to page 4" in str(problem)]


def routes(hubs: int = 12, under: int = 8) -> dict[str, Any]:
    """A site of sections with pages that look alike; those of section 9 are XML. Every page links home."""
    found: dict[str, Any] = {"/": html(*(f"/section{hub}" for hub in range(hubs)))}
    for hub in range(hubs):
        pages = [f"/item{hub}-{page}" for page in range(under)]
        found[f"/section{hub}"] = html("/", *pages)
        for page in pages:
            found[page] = text("<a/>", "application/xml") if hub == 9 else html("/", f"/section{hub}")
    return found


def test_a_crawl_of_a_site_reads_the_section_with_what_it_wants_before_the_others(tmp_path: Path) -> None:
    ends = {}
    for want in (None, "xml"):
        found = crawled(tmp_path / str(want), routes(), "/", given={"want": want} if want else {})
        asked = [path for path in found.asked if path != "/robots.txt"]
        xml = [place for place, path in enumerate(asked) if path.startswith("/item9-")]
        assert len(asked) == 1 + 12 * 9
        assert len(xml) == 8
        ends[want] = float(np.mean(xml))
    assert ends["xml"] < ends[None]
    counts = found.statistics()["wanted"]
    assert (counts["want"], counts["known"], counts["read"]) == ("xml", 8, 8)
    assert counts["expected_among_unread"] == 0.0
    section = found.page("/section9")
    assert section["leads_to_wanted"] == pytest.approx(8 * 0.85, rel=0.3)
    assert section["interest_because"].endswith("of its 9 links lead to wanted pages")
    assert {row["wanted"] for row in section["leads_to_by"]} >= {True}
    assert found.page("/item9-1")["interest_because"] == "it is wanted: its importance decides"
    assert found.page("/item1-1")["wanted"] is False


def test_reports_say_which_pages_lead_to_what_is_wanted(tmp_path: Path) -> None:
    with crawl(tmp_path / "c", want="xml", continuous=True, rate=1.0) as opened:
        now = advance(opened, Mixed(), 30)
        opened.shard.settle(1e-6, 10_000)
        report = top_pages(opened, 5, "interest")
        assert report["want"] == "xml"
        assert 0 < report["certified_error"] <= 1e-6
        led = [row["leads_to"] for row in report["top"]]
        assert led == sorted(led, reverse=True)
        assert led[-1] > 0
        assert {row["kind"] for row in report["top"]} == {"html"}
        sites = top_pages(opened, 9, "interest", site=True)["top"]
        assert sites[0]["leads_to"] >= sites[-1]["leads_to"] > 0
        planned = plan(opened, now=now, count=3)["next"]
        assert {"importance", "value"} <= planned[0].keys()
        assert all_statistics(opened, now)["memory_bytes"]["interest"] > 0
        waiting = top_pages(opened, 1, "worth")["top"]
        assert waiting
        unread = about_page(opened, url_of(int(opened.shard.pages.count) - 1), now=now)
        assert unread["interest"] >= 0


def test_a_crawl_that_wants_nothing_in_particular_has_no_interest(tmp_path: Path) -> None:
    with crawl(tmp_path / "c") as opened:
        advance(opened, World(), 5)
        assert "wanted" not in all_statistics(opened, 2e9)
        assert "interest" not in about_page(opened, url_of(0), now=2e9)
        assert not [name for name in shard_state(opened.shard)[1] if name.startswith("interest")]
        with pytest.raises(BadInput, match=r"looks for no particular pages.*--want xml"):
            top_pages(opened, 5, "interest")
