"""Later runs of the same crawl, and the reasons for pages that could not be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.worker.chain import Chains
from centime.crawl.worker.outlinks import LinkReader
from centime.crawl.worker.visit import visit
from centime.discover.scope import Scope
from centime.fetch.fetcher import Fetcher
from centime.lab.webbox import Served, WebBox, serve_in_process
from centime.model.errors import BadInput
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.shard.message import Lease, Visit
from tests.crawl.world import World, advance, crawl
from tests.fetch.hostile import Handler, Server, answer, run, settings

GIVEN: dict[str, Any] = {"scope": "any", "delay": 0.0, "workers": 1}
HERE: dict[str, Any] = {"allow-network": ["127.0.0.0/8"]}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_in_process(
        WebBox(hosts=4, pages=80, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0)
    ) as box:
        yield box


def test_seeds_of_all_runs_together_must_fit_and_a_refusal_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("centime.discover.seeds.MOST_BYTES", 200)
    with open_writer(tmp_path / "c", [f"https://a.example/{'x' * 100}"], {}) as opened:
        opened.close()
    before = (tmp_path / "c" / "centime.json").read_bytes()
    with (
        pytest.raises(BadInput, match="a crawl has at most 200"),
        open_writer(tmp_path / "c", [f"https://b.example/{'x' * 100}"], {}),
    ):
        pass
    assert (tmp_path / "c" / "centime.json").read_bytes() == before
    with open_writer(tmp_path / "c", ["https://b.example/"], {}) as opened:
        assert len(opened.settings.seeds) == 2


def ending(folder: Path, seeds: list[str], given: dict[str, Any], pages: int | None = None) -> tuple[str, int]:
    """Why a run ended, and the number of pages that are read by then."""
    with open_writer(folder, seeds, given) as opened:
        crawl = Engine(opened, Limits(pages=pages))
        return crawl.run(lambda crawl, now: None), opened.shard.read_count


def test_pages_that_a_later_run_excludes_are_not_fetched_any_more(tmp_path: Path, served: Served) -> None:
    ending(tmp_path / "c", [served.seed_url], GIVEN | HERE, pages=10)
    before = len(served.requests())
    reason, read = ending(tmp_path / "c", [], {"exclude": ["."]})
    assert reason.startswith("everything known was read")
    assert read == 10
    assert [seen.path for seen in served.requests()[before:] if seen.path != "/robots.txt"] == []


def test_a_seed_that_is_given_again_is_read_if_it_could_not_be_before(tmp_path: Path, served: Served) -> None:
    reason, read = ending(tmp_path / "c", [served.seed_url], GIVEN)
    assert reason.startswith(f"nothing could be read: {served.seed_url}: refused address: ")
    assert read == 0
    assert ending(tmp_path / "c", [], HERE, pages=5)[1] == 0
    assert ending(tmp_path / "c", [served.seed_url], {}, pages=5)[1] == 5


async def _visits(paths: list[str], **rules: Any) -> list[Visit]:
    routes: dict[str, bytes | Handler] = {
        "/robots.txt": answer(b"User-agent: *\nDisallow: /private"),
        "/away": answer(status="301 Moved Permanently", Location="http://www.a.example/x"),
        "/odd": answer(status="302 Found", Location="javascript:x"),
        "/here": answer(status="302 Found", Location="/"),
    }
    async with Server(routes) as server:
        fetcher = Fetcher(settings())
        links = LinkReader(Scope.of([server.url + "/"], **rules), None)
        chains = Chains(fetcher, links.scope.admits)
        try:
            return [await visit(Lease(PageId(0), server.url + path), chains, links, None) for path in paths]
        finally:
            await fetcher.close()


def test_a_redirect_that_is_not_followed_is_recorded_with_its_target_and_the_reason() -> None:
    away, odd, here = run(_visits(["/away", "/odd", "/here"]))
    assert away.detail == "redirects to 'http://www.a.example/x': its host is not one of the seeds'"
    assert odd.detail == "redirects to 'javascript:x': it is not the URL of a page"
    assert (here.outcome, here.detail) == (Outcome.MOVED_TEMPORARILY, "")


def test_a_visit_without_a_request_does_not_delay_its_host() -> None:
    first, second, excluded = run(_visits(["/private/1", "/private/2", "/not"], exclude=["not"]))
    assert first.asked_at > 0, "robots.txt was fetched"
    assert [second.outcome, excluded.outcome] == [Outcome.DISALLOWED, Outcome.EXCLUDED]
    assert [second.asked_at, excluded.asked_at] == [0.0, 0.0]
    assert excluded.detail == "it is excluded by 'not'"


def test_redirects_are_refreshed_too(tmp_path: Path) -> None:
    world = World(pages=20)
    world.outcomes = {3: Outcome.MOVED, 4: Outcome.MOVED_TEMPORARILY}
    with crawl(tmp_path / "c", **{"refresh-after": 1000.0}) as opened:
        now = advance(opened, world, 60)
        assert [opened.shard.outcomes[outcome] for outcome in (Outcome.MOVED, Outcome.MOVED_TEMPORARILY)] == [1, 1]
        advance(opened, world, 60, start=now + 1000.0)
        assert [opened.shard.outcomes[outcome] for outcome in (Outcome.MOVED, Outcome.MOVED_TEMPORARILY)] == [2, 2]
