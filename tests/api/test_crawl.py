"""Crawls run by a Python program: by steps, to limits, in threads, in asyncio, with a function for every page."""

import asyncio
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import centime
from centime import Crawl, open_crawl
from centime.crawl.check.check import check_crawl
from centime.model.errors import BadInput, BadSetting, CentimeError, InUse
from centime.testing import TestWeb, webbox
from tests.api import hooks


@pytest.fixture(scope="module")
def web() -> Iterator[TestWeb]:
    with webbox(pages=80) as served:
        yield served


def test_a_crawl_runs_to_its_end_and_its_importance_is_the_truth(tmp_path: Path, web: TestWeb) -> None:
    with Crawl(tmp_path / "c", web.seed_url, **web.settings) as crawl:
        assert crawl.run() == crawl.ending
        assert crawl.ending.startswith("everything known was read")
        assert crawl.fetched == crawl.statistics()["visits"]
    truth = web.importance()
    with open_crawl(tmp_path / "c") as reader:
        assert reader.certified_error is not None
        for page in reader.pages:
            assert page.importance == pytest.approx(truth[page.url], abs=1e-4)


def test_limits_hold_for_each_call_and_the_crawl_continues(tmp_path: Path, web: TestWeb) -> None:
    with Crawl(tmp_path / "c", [web.seed_url], **web.settings) as crawl:
        assert "10 pages" in crawl.run(pages=10)
        assert crawl.fetched == 10
        assert crawl.run(pages=5) == "read the 5 pages asked for"
        assert crawl.fetched == 15
        assert crawl.run(seconds="0s") == "the 0 seconds are over"
        assert crawl.run(lambda crawl: crawl.fetched >= 30) == "until"
        assert crawl.fetched >= 30
        while crawl.step():
            pass
        assert crawl.ending.startswith("everything known was read")
        known = crawl.statistics()["known"]
    with Crawl(tmp_path / "c") as again:
        assert again.statistics()["known"] == known
        assert again.run().startswith("everything known was read")
        assert again.fetched == 0


def test_a_run_says_how_many_pages_were_cut(tmp_path: Path, web: TestWeb) -> None:
    with Crawl(tmp_path / "c", web.seed_url, most_page_bytes=1024, **web.settings) as crawl:
        said = crawl.run(pages=10)
        assert said.startswith(f"{crawl.ending}; ")
        assert said.endswith("longer than --most-page-bytes 1024: the rest was not read")


def test_a_program_sees_what_it_crawls_while_it_crawls(tmp_path: Path, web: TestWeb) -> None:
    with Crawl(tmp_path / "c", web.seed_url, **web.settings) as crawl:
        crawl.run(pages=5)
        with crawl.reader() as reader:
            before = len(reader.pages)
            crawl.run(pages=20)
            with crawl.reader() as fresh:
                reader.follow()
                assert before < len(reader.pages) == len(fresh.pages) == crawl.statistics()["known"]


def test_on_page_is_called_in_the_fetchers_for_every_page_that_was_read(
    tmp_path: Path, web: TestWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CENTIME_TEST_HOOK", str(tmp_path / "seen"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    )
    with Crawl(tmp_path / "c", web.seed_url, on_page=hooks.save, workers=2, **web.settings) as crawl:
        crawl.run()
        assert crawl.hook_failures == 0
        read = crawl.statistics()["outcomes"]["read"]
    lines = (tmp_path / "seen").read_text().splitlines()
    assert len(lines) == read
    assert os.getpid() not in {int(line.split()[0]) for line in lines}
    assert {line.split()[1] for line in lines} == {"200"}
    assert web.seed_url in {line.split()[4] for line in lines}


@pytest.mark.parametrize("how", ["exit", pytest.param("crash", marks=pytest.mark.long)])
@pytest.mark.usefixtures("children_are_programs")
def test_a_page_for_which_on_page_ends_the_process_is_read_without_it(
    tmp_path: Path, web: TestWeb, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("CENTIME_TEST_HOOK", f"{web.seed_url} {how}")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    )
    with Crawl(tmp_path / "c", web.seed_url, on_page="tests.api.hooks:end", workers=1, **web.settings) as crawl:
        crawl.run()
        assert crawl.hook_failures == 1
        assert crawl.statistics()["outcomes"]["read"] > 5
        with crawl.reader() as reader:
            page = reader.page(web.seed_url)
            assert "on_page: it is not called for this page, because it ended the fetcher 2 times" in str(page)
            assert page["links_out"] > 0


def test_what_on_page_raises_is_counted_and_stops_nothing(
    tmp_path: Path, web: TestWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    )
    with Crawl(tmp_path / "c", web.seed_url, on_page="tests.api.hooks:fail", **web.settings) as crawl:
        crawl.run(pages=10)
        assert crawl.hook_failures == crawl.statistics()["outcomes"]["read"] > 0
        with crawl.reader() as reader:
            assert "on_page: ValueError: no use for" in str(reader.page(web.seed_url))


@pytest.mark.parametrize(
    ("hook", "what"),
    [
        (lambda page: None, "top level"),
        ("nowhere", "MODULE:FUNCTION"),
        ("no.such.module:f", "cannot be imported"),
        ("tests.api.hooks:missing", "cannot be imported"),
        ("tests.api.hooks:os", "not a function"),
    ],
)
def test_a_function_that_fetchers_cannot_import_is_refused(tmp_path: Path, hook: object, what: str) -> None:
    with pytest.raises(BadSetting, match=what):
        Crawl(tmp_path / "c", "http://a.example/", on_page=hook)  # type: ignore[arg-type]
    assert not (tmp_path / "c").exists()


@pytest.mark.usefixtures("children_are_programs")
def test_a_crawl_runs_in_a_thread_and_is_stopped_from_another(tmp_path: Path, web: TestWeb) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    endings: list[str] = []
    started = threading.Event()
    holder: list[Crawl] = []

    def work() -> None:
        with Crawl(tmp_path / "c", web.seed_url, **(web.settings | {"rate": 20})) as crawl:
            holder.append(crawl)
            started.set()
            endings.append(crawl.run())

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    holder[0].stop()
    thread.join(120)
    assert endings == ["stopped"]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    with open_crawl(tmp_path / "c") as reader:
        assert reader.check() == []


def test_an_asyncio_program_goes_on_while_a_crawl_runs(tmp_path: Path, web: TestWeb) -> None:
    async def program() -> tuple[int, str, str]:
        ticks = 0
        with Crawl(tmp_path / "c", web.seed_url, **web.settings) as crawl:
            first = asyncio.create_task(crawl.run_async(pages=20))
            while not first.done():
                ticks += 1
                await asyncio.sleep(0.01)
            return ticks, await first, await crawl.run_async()

    ticks, first, second = asyncio.run(program())
    assert ticks > 5
    assert first == "read the 20 pages asked for"
    assert second.startswith("everything known was read")
    with open_crawl(tmp_path / "c") as reader:
        assert reader.check() == []


def test_a_cancelled_task_stops_the_crawl_in_good_order(tmp_path: Path, web: TestWeb) -> None:
    async def program() -> None:
        with Crawl(tmp_path / "c", web.seed_url, **(web.settings | {"rate": 20})) as crawl:
            task = asyncio.create_task(crawl.run_async())
            await asyncio.sleep(0.5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(program())
    with open_crawl(tmp_path / "c") as reader:
        assert reader.check() == []


def test_one_run_at_a_time_works_on_a_crawl_and_close_ends_it(tmp_path: Path, web: TestWeb) -> None:
    running = threading.Event()
    endings: list[str] = []

    def until(crawl: Crawl) -> bool:
        with pytest.raises(InUse, match="call stop"):
            crawl.close()
        with pytest.raises(InUse, match="one run at a time"):
            crawl.step()
        running.set()
        return False

    crawl = Crawl(tmp_path / "c", web.seed_url, **(web.settings | {"rate": 20}))
    thread = threading.Thread(target=lambda: endings.append(asyncio.run(crawl.run_async(until))))
    thread.start()
    assert running.wait(60)
    for call in (crawl.run, crawl.step, lambda: asyncio.run(crawl.run_async())):
        with pytest.raises(InUse, match="this crawl is running already; one run at a time"):
            call()
    with crawl.reader() as reader:
        assert len(reader.pages) > 0
    crawl.close()
    crawl.close()
    thread.join(60)
    assert endings == ["stopped"]
    with open_crawl(tmp_path / "c") as reader:
        assert reader.check() == []


def test_an_exception_in_the_program_closes_the_crawl(tmp_path: Path, web: TestWeb) -> None:
    def program() -> None:
        with Crawl(tmp_path / "c", web.seed_url, **web.settings) as crawl:
            crawl.run(pages=5)
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        program()
    with Crawl(tmp_path / "c") as again:
        assert again.statistics()["visits"] == 5


def test_wrong_use_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no crawl to continue"):
        Crawl(tmp_path / "c")
    with pytest.raises(BadSetting, match="delya"):
        Crawl(tmp_path / "c", "http://a.example/", delya=3)
    with pytest.raises(BadSetting, match="delay"):
        Crawl(tmp_path / "c", "http://a.example/", delay=-1)
    with pytest.raises(BadInput, match="no such folder"):
        open_crawl(tmp_path / "nowhere")
    with Crawl(tmp_path / "c", "http://a.example/") as crawl:
        with pytest.raises(InUse):
            Crawl(crawl.folder)
        for limits in ({"pages": -1}, {"pages": math.nan}, {"pages": "x"}, {"pages": 1.5}):
            with pytest.raises(BadSetting, match="pages must be a whole number"):
                crawl.run(**limits)
        for seconds in (-1, math.nan, math.inf, "x", b"1"):
            with pytest.raises(BadSetting):
                crawl.run(seconds=seconds)  # type: ignore[arg-type]
            with pytest.raises(BadSetting):
                asyncio.run(crawl.run_async(seconds=seconds))  # type: ignore[arg-type]
        with pytest.raises(BadSetting, match="count must be a whole number"):
            crawl.top(-1)
    for call in (crawl.run, crawl.step, lambda: asyncio.run(crawl.run_async())):
        with pytest.raises(BadInput, match="this crawl is closed"):
            call()


def test_seeds_are_text_or_paths_of_files_one_or_many(tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "a.example"
    one.write_text("http://one.example/\n")
    other.write_text("http://other.example/\n")
    for number, (seeds, urls) in enumerate(
        [
            (one, ["http://one.example/"]),
            ([one, "c.example", other], ["http://one.example/", "https://c.example/", "http://other.example/"]),
            ({str(one): 1}.keys(), ["http://one.example/"]),
        ]
    ):
        with Crawl(tmp_path / str(number), seeds) as crawl:  # type: ignore[arg-type]
            crawl.stop()
        with open_crawl(tmp_path / str(number)) as reader:
            assert sorted(page.url for page in reader.pages) == sorted(urls)
    for wrong in (tmp_path / "none.txt", [Path("a\0b")], Path("x" * 300), 5, None, b"http://a.example/", [5]):
        with pytest.raises(BadInput, match=r"seed"):
            Crawl(tmp_path / "wrong", wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize(
    "name", ["a\0b", "x" * 300, "/proc/x", "/proc/x/y", "/dev/null/x", "/" + "z/" * 3000, "", 5, None]
)
def test_what_cannot_be_a_folder_is_an_error_of_one_sentence(name: object) -> None:
    with pytest.raises(CentimeError, match=r"^[^\n]+$"):
        Crawl(name, "http://a.example/")  # type: ignore[arg-type]
    with pytest.raises(CentimeError, match=r"^[^\n]+$"):
        open_crawl(name)  # type: ignore[arg-type]


def test_importing_centime_loads_nothing_heavy() -> None:
    code = "import sys, centime; print([m for m in ('numpy', 'numba', 'pyarrow', 'httptools') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
    assert set(centime.__all__) <= set(dir(centime))


def stop_it(crawl: Crawl) -> bool:
    crawl.stop()
    return False


def test_a_stop_ends_one_run_and_the_next_goes_on(tmp_path: Path, web: TestWeb) -> None:
    with Crawl(tmp_path / "c", web.seed_url, workers=1, **web.settings) as crawl:
        assert crawl.run(until=stop_it) == "stopped"
        assert crawl.run(pages=1) == "read the 1 pages asked for"
        crawl.stop()
        assert crawl.step() is False
        assert crawl.step() is True
        crawl.stop()
        assert crawl.run() == "stopped"

        async def cancelled() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(crawl.run_async(), 0.0)

        asyncio.run(cancelled())
        assert crawl.run().startswith("everything known was read")


def test_a_forked_child_leaves_the_crawl_to_its_parent(tmp_path: Path, web: TestWeb) -> None:
    program = f"""
import os, sys
from centime import Crawl
with Crawl({str(tmp_path / "c")!r}, {web.seed_url!r}, workers=1, **{web.settings!r}) as crawl:
    crawl.run(pages=5)
    if os.fork() == 0:
        try:
            crawl.run(pages=5)
        except Exception as refused:
            print(refused, flush=True)
        sys.exit(0)
    os.wait()
    crawl.run(pages=5)
    crawl.reader().close()
    os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout == "this crawl is open in the process that forked this one\n"
    assert done.stderr == ""
    assert not check_crawl(tmp_path / "c").problems
    with open_crawl(tmp_path / "c") as reader:
        assert reader.statistics()["read"] == 10


@pytest.mark.usefixtures("children_are_programs")
def test_a_program_may_change_its_directory(tmp_path: Path, web: TestWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Crawl("c", web.seed_url, workers=1, **web.settings) as crawl:
        crawl.run(pages=3)
        reader = open_crawl("c")
        monkeypatch.chdir("/")
        crawl.run(pages=3)
        reader.follow()
        reader.close()
    assert (tmp_path / "c" / "centime.json").exists()
