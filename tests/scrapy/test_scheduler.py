"""The scheduler, given requests as Scrapy's engine gives them, over several runs in one folder."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install centime[scrapy]")

from scrapy import FormRequest, Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from centime.model.errors import BadSetting, NoRoom
from centime.scrapy import Scheduler, SpiderMiddleware


class _Spider(Spider):
    name = "own"

    def follow(self, response: Response, left: int) -> None:
        pass

    def failed(self, failure: Any) -> None:
        pass


class _Run:
    """A run of a spider, with an engine that does nothing by itself."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.crawler = get_crawler(_Spider, {"CENTIME_DIR": str(folder), **settings})
        self.spider = _Spider.from_crawler(self.crawler)
        self.in_progress: set[Request] = set()
        self.downloader = SimpleNamespace(
            slots={}, active=self.in_progress, domain_concurrency=8, get_slot_key=lambda request: request.url[:13]
        )
        self.closed_for = ""
        self.crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            downloader=self.downloader,
            _slot=SimpleNamespace(inprogress=self.in_progress),
            close_spider_async=self._close_spider,
        )
        self.middleware = SpiderMiddleware.from_crawler(self.crawler)
        self.scheduler = Scheduler(self.crawler, steady=lambda: 0.0)
        self.scheduler.open(self.spider)

    async def _close_spider(self, *, reason: str) -> None:
        self.closed_for = reason

    def stat(self, name: str) -> Any:
        assert self.crawler.stats is not None
        return self.crawler.stats.get_value(name)

    def add(self, *urls: str, **fields: Any) -> list[bool]:
        return [self.scheduler.enqueue_request(Request(url, **fields)) for url in urls]

    def next(self) -> Request | None:
        request = self.scheduler.next_request()
        if request is not None:
            self.in_progress.add(request)
        return request

    def visit(self, request: Request, *links: str, body: bytes = b"same") -> None:
        """Does what Scrapy does with a response: the spider yields requests, which are enqueued."""
        response = Response(request.url, body=body, request=request)
        self.middleware.process_spider_input(response)
        for one in self.middleware.process_spider_output(response, [Request(link) for link in links]):
            self.scheduler.enqueue_request(one)
        self.in_progress.discard(request)

    def crawl(self, links: Callable[[str], list[str]] = lambda url: [], body: bytes = b"same") -> list[str]:
        """Visits whatever is next until nothing is left; returns the URLs."""
        order = []
        while (request := self.next()) is not None:
            order.append(request.url)
            self.visit(request, *links(request.url), body=body)
        return order

    def kill(self) -> None:
        """Lets the folder be as a killed process leaves it."""
        self.scheduler._log._release()
        writer = self.scheduler._pages._writer
        if writer is not None:
            writer.folder.close()


@contextmanager
def _running(folder: Path, **settings: Any) -> Iterator[_Run]:
    run = _Run(folder, **settings)
    try:
        yield run
    finally:
        run.scheduler.close("finished")


A, B, C, D = (f"http://a.test/{name}" for name in "abcd")


def test_request_survives_a_kill_with_everything_it_has(tmp_path: Path) -> None:
    run = _Run(tmp_path / "c")
    form = FormRequest(
        A,
        formdata={"a": "1"},
        callback=run.spider.follow,
        errback=run.spider.failed,
        meta={"tuple": (1, 2), "set": {3}},
        cb_kwargs={"left": 4},
        headers={"X-Own": "yes"},
        cookies={"c": "1"},
        priority=7,
        dont_filter=True,
        flags=["f"],
        encoding="latin-1",
    )
    assert run.scheduler.enqueue_request(form)
    run.kill()
    with _running(tmp_path / "c") as again:
        found = again.next()
        assert found is not None
        assert type(found) is FormRequest
        assert found.callback == again.spider.follow
        assert found.to_dict(spider=again.spider) == form.to_dict(spider=run.spider)


def test_request_under_way_is_repeated_after_a_kill_and_one_that_is_done_is_not(tmp_path: Path) -> None:
    run = _Run(tmp_path / "c")
    run.add(A, B)
    first, second = run.next(), run.next()
    assert first is not None
    assert second is not None
    run.visit(first, C)
    assert run.next() is not None  # C; and A is known to be done
    run.kill()
    with _running(tmp_path / "c") as again:
        assert again.stat("centime/resumed") == 2
        assert sorted(again.crawl()) == [B, C]
    with _running(tmp_path / "c") as last:
        assert last.crawl() == []


def test_visits_that_a_kill_kept_from_the_crawl_are_imported_by_the_next_run(tmp_path: Path) -> None:
    run = _Run(tmp_path / "c")
    run.add(A)
    request = run.next()
    assert request is not None
    run.visit(request, B)
    run.next()
    assert not run.scheduler._pages.is_open
    run.kill()
    with _running(tmp_path / "c") as again:
        assert again.scheduler._pages.count == 2
        assert again.stat("centime/visits") == 1


def test_duplicates_are_filtered_over_runs_unless_they_ask_not_to_be(tmp_path: Path) -> None:
    with _running(tmp_path / "c") as run:
        assert run.add(A, A, f"{A}#part") == [True, False, False]
        assert run.add(A, dont_filter=True) == [True]
        assert run.stat("dupefilter/filtered") == 2
        assert run.crawl() == [A, A]
    with _running(tmp_path / "c") as again:
        assert again.add(A, B) == [False, True]
        assert len(again.scheduler) == 1
        assert again.scheduler.has_pending_requests()


def test_another_dupe_filter_of_the_project_is_used(tmp_path: Path) -> None:
    with _running(tmp_path / "c", DUPEFILTER_CLASS="scrapy.dupefilters.BaseDupeFilter") as run:
        assert run.add(A, A) == [True, True]


def test_order_is_priority_then_importance_then_age(tmp_path: Path) -> None:
    with _running(tmp_path / "c", CONCURRENT_REQUESTS_PER_DOMAIN=1) as run:
        run.downloader.domain_concurrency = 1
        pages = [f"http://a.test/{number}" for number in range(8)]
        run.add("http://a.test/seed")
        request = run.next()
        assert request is not None
        run.visit(request, *pages)
        run.scheduler._end([request])
        run.scheduler._import()
        run.add("http://a.test/late", priority=-1)
        run.add("http://a.test/soon", priority=1)
        order = run.crawl(lambda url: [pages[6], pages[7]] if url.endswith("soon") else [])
        run.scheduler._import()
    assert order[0] == "http://a.test/soon"
    assert order[-1] == "http://a.test/late"
    assert order[1:-1] == pages  # they are equal, and no batch was imported since


@pytest.mark.parametrize(("took", "waits"), [(0.0, 0.5), (0.1, 2.5), (60.0, 5.0)])
def test_batches_that_take_long_are_imported_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, took: float, waits: float
) -> None:
    with _running(tmp_path / "c") as run:
        scheduler, now, imports = run.scheduler, [100.0], []
        monkeypatch.setattr(scheduler, "_steady", lambda: now[0])

        def importing() -> None:
            imports.append(now[0])
            scheduler._log.imported(scheduler._log.visits)
            now[0] += took

        monkeypatch.setattr(scheduler, "_import_visits", importing)
        run.add(A, B, C, D)
        while (request := run.next()) is not None:
            run.visit(request)
            now[0] += waits / 2 + 0.01
        assert [imports[1] - imports[0], len(imports)] == [pytest.approx(took + waits + 0.02), 2]


def test_requests_beyond_those_in_memory_are_restored_and_one_object_may_wait_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("centime.scrapy.scheduler.IN_MEMORY", 2)
    with _running(tmp_path / "c") as run:
        twice = Request(A, dont_filter=True, meta={"number": 1})
        other = Request(B, meta={"number": 2})
        assert [run.scheduler.enqueue_request(one) for one in (twice, twice, other)] == [True, True, True]
        first, second, third = run.next(), run.next(), run.next()
        assert first is twice
        assert second is not None
        assert third is not None
        assert (second is twice, second.url, second.meta["number"]) == (False, A, 1)
        assert (third is other, third.url, third.meta["number"]) == (False, B, 2)
        assert len(run.scheduler._under_way) == 3
        run.add(C)
        assert run.scheduler._in_memory == 1


def test_links_raise_the_importance_of_requests_that_wait(tmp_path: Path) -> None:
    with _running(tmp_path / "c") as run:
        run.downloader.domain_concurrency = 1
        pages = [f"http://a.test/{number}" for number in range(8)]
        run.add("http://a.test/seed")
        order = []
        for links in (pages, [pages[6], pages[5], pages[7]], [pages[7]], [pages[6]]):
            request = run.next()
            assert request is not None
            order.append(request.url)
            run.visit(request, *links)
            run.scheduler._end([request])
            run.scheduler._import()
        assert order == ["http://a.test/seed", pages[0], pages[5], pages[7]]
        assert run.crawl() == [pages[6], *pages[1:5]]


def test_host_that_is_busy_does_not_hold_up_another(tmp_path: Path) -> None:
    with _running(tmp_path / "c") as run:
        run.add(*(f"http://a.test/{number}" for number in range(20)), priority=5)
        run.add("http://b.test/0")
        given = [request.url for _ in range(12) if (request := run.next()) is not None]
        assert given[1] == "http://b.test/0"
        assert len(given) == 8 + 1  # CONCURRENT_REQUESTS_PER_DOMAIN of the first
        run.downloader.slots["http://a.test"] = SimpleNamespace(active=set(), queue=[1, 2], concurrency=100)
        assert run.next() is None  # two wait for the delay of the host
        assert run.scheduler.has_pending_requests()


def test_what_cannot_be_pickled_waits_in_memory_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), _running(tmp_path / "c") as run:
        run.add(A, B, callback=lambda response: None)
        run.add(C)
        assert caplog.text.count("Unable to serialize request") == 1
        assert run.stat("scheduler/unserializable") == run.stat("scheduler/enqueued/memory") == 2
        assert run.add(A) == [False]
        assert run.crawl() == [A, B, C]
        assert run.stat("scheduler/dequeued/memory") == 2
    with _running(tmp_path / "c") as again:
        assert again.add(A) == [True]  # it may have been lost


def test_request_of_a_callback_that_is_gone_stays_for_a_run_that_has_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _running(tmp_path / "c") as run:
        run.add(A, callback=run.spider.follow)
        run.add(B)
    with monkeypatch.context() as patch, _running(tmp_path / "c") as changed:
        patch.delattr(_Spider, "follow")
        assert changed.crawl() == [B]
        assert "cannot be restored" in caplog.text
        assert changed.stat("centime/unreadable") == 1
    with _running(tmp_path / "c") as again:
        assert again.crawl() == [A]


def test_start_requests_are_made_once_in_a_crawl_that_is_continued(tmp_path: Path) -> None:
    start = {"dont_filter": True, "meta": {"is_start_request": True}}
    run = _Run(tmp_path / "c")
    assert run.add(A, A, **start) == [True, True]  # the spider asks for both
    run.add(B)
    run.scheduler.close("shutdown")
    with _running(tmp_path / "c") as again:
        assert again.add(A, C, **start) == [False, True]
        assert again.stat("centime/start_requests_known") == 1
        assert again.crawl() == [A, A, B, C]
    with _running(tmp_path / "c") as new:  # that one was finished
        assert new.add(A, **start) == [True]


def test_refresh_makes_the_requests_again_that_are_most_worth_it(tmp_path: Path) -> None:
    for body in (b"1", b"2", b"3"):
        with _running(tmp_path / "c", CENTIME_REFRESH=2) as run:
            run.scheduler._reports.clock.ahead += 86_400.0 * int(body)
            run.add(A, dont_filter=True, meta={"is_start_request": True})
            asked = run.stat("centime/refreshed")
            links = {A: [B, C, D], B: [C], C: [], D: [C]}
            order = run.crawl(lambda url: links[url], body=body)  # noqa: B023 (it is called here)
        if body == b"1":
            assert asked is None
            assert order == [A, B, C, D]
        else:
            assert asked == 2
            assert len(order) == 3
            assert C in order  # the most important


def test_setting_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="CENTIME_REFRESH"):
        _Run(tmp_path / "c", CENTIME_REFRESH="often")


def test_full_disk_closes_the_spider_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _Run(tmp_path / "c")
    assert run.add(A) == [True]

    def full(*_: object) -> None:
        raise NoRoom("requests.log: the disk is full")

    async def fill() -> None:
        assert run.add(B) == [False]
        assert run.next() is None
        assert not run.scheduler.has_pending_requests()
        await asyncio.sleep(0)

    with monkeypatch.context() as patch:
        patch.setattr("centime.scrapy.request_log.write_whole", full)
        asyncio.run(fill())
    assert "the disk is full" in caplog.text
    assert run.closed_for == "centime_failed"
    run.kill()
    with _running(tmp_path / "c") as again:
        assert again.crawl() == [A]


def test_long_log_is_compacted_while_requests_are_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("centime.scrapy.request_log.FREE_BYTES", 2_000)
    with _running(tmp_path / "c") as run:
        run.add(*(f"http://a.test/{number}" for number in range(100)))
        under_way = [run.next() for _ in range(3)]
        while len(run.scheduler) > 40:
            request = run.next()
            assert request is not None
            run.in_progress.discard(request)
        assert None not in under_way
    with _running(tmp_path / "c") as again:
        assert len(again.scheduler) == 43
        assert len(set(again.crawl())) == 43


def test_default_folder_is_in_the_job_directory_or_has_the_name_of_the_spider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for settings, folder in (({"JOBDIR": "job"}, "job/centime"), ({}, ".centime/own")):
        crawler = get_crawler(_Spider, settings)
        assert Scheduler.from_crawler(crawler).folder(_Spider.from_crawler(crawler)) == Path(folder)
