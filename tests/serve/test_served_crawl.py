"""A crawl that is served while it runs, while its folder is damaged, deleted, replaced or of another format."""

import asyncio
import errno
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from centime.model.kernel import Activity
from centime.serve import application, failures, served_crawl
from centime.serve.served_crawl import ServedCrawl
from tests.crawl.report.made import NOW, ROOT, hand_made, refreshed
from tests.serve.asking import Answered, Asker

PAGES, ORDERS = "/api/v1/crawls/museum/pages", "/api/v1/crawls/museum/orders"


@pytest.fixture(autouse=True)
def follows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request looks at the folder."""
    monkeypatch.setattr(served_crawl, "FOLLOW_SECONDS", 0.0)
    monkeypatch.setattr(served_crawl, "LEISURE", 0.0)


@pytest.fixture
def folder(small_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_folder, tmp_path / "crawl"))


@pytest.fixture
def asker(folder: Path) -> Any:
    made = Asker({"museum": folder})
    yield made
    made.close()


def test_what_a_running_crawl_does_is_seen_at_the_next_request(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with hand_made(folder, **{"refresh-after": 1000.0}) as opened:
        asker = Asker({"museum": folder})
        before = asker.get("/api/v1/crawls/museum/overview")
        refreshed(opened)
        after = asker.get("/api/v1/crawls/museum/overview")
        asker.close()
    assert after.json["visits"] == before.json["visits"] + 2
    assert after.headers["etag"] != before.headers["etag"]


def test_a_folder_that_is_deleted_is_told_and_served_again_when_it_is_back(
    asker: Asker, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert asker.get(PAGES).status == 200
    folder.rename(folder.with_name("elsewhere"))
    for path in (PAGES, "/c/museum/overview", "/c/museum/orders", "/c/museum/changes", "/c/museum/events", ORDERS):
        answered = asker.get(path)
        assert answered.status == 503, path
        assert "no such folder" in answered.text
    assert asker.get("/c/museum/copy", url=ROOT).status == 503
    assert ordered(asker).status == 503
    assert [record.levelname for record in caplog.records if "cannot be shown" in record.message] == ["WARNING"]
    assert asker.get("/api/v1/crawls").json["rows"][0]["trouble"]
    assert 'centime_up{crawl="museum"} 0.0' in asker.get("/metrics").text
    folder.with_name("elsewhere").rename(folder)
    assert asker.get(PAGES).status == 200


def ordered(asker: Asker) -> Answered:
    body = b'{"order": "set", "values": "rate=5/s"}'
    return asker.ask("POST", ORDERS, headers={"content-type": "application/json"}, body=body)


def test_a_folder_that_may_not_be_read_is_told_and_is_not_called_damaged(
    asker: Asker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path / "centime.json"))

    monkeypatch.setattr(served_crawl, "check_any_folder", denied)
    monkeypatch.setattr(served_crawl, "parts_of", denied)
    for path in (PAGES, "/c/museum/orders", "/c/museum/overview", ORDERS, f"/c/museum/copy?url={ROOT}"):
        answered = asker.get(path)
        assert (answered.status, "damaged" in answered.text) == (503, False), path
        assert "centime.json: may not be read" in answered.text
    assert asker.get("/api/v1/crawls").json["rows"][0]["trouble"].endswith("may not be read: Permission denied")


def test_a_file_that_one_page_needs_and_that_may_not_be_read_is_told_there(
    asker: Asker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, span: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path / "figures.bin"))

    monkeypatch.setattr("centime.serve.reports.overview.read_figures", denied)
    assert asker.get("/c/museum/overview").status == 503
    assert "figures.bin: may not be read" in asker.get("/c/museum/overview").text
    assert asker.get(PAGES).status == 200


def test_an_order_to_a_folder_that_cannot_be_written_says_so(
    asker: Asker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr("centime.crawl.commands.inbox.make_folder", refused)
    answered = ordered(asker)
    only = "the folder can only be read here, so it accepts no commands: Read-only file system"
    assert (answered.status, answered.json["error"]) == (503, f"{folder}: {only}")


def test_parts_of_a_folder_that_are_deleted_are_told_on_the_overview(kept: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(kept, tmp_path / "crawl"))
    asker = Asker({"museum": folder})
    overview = "/api/v1/crawls/museum/overview"
    assert not [one for one in asker.get(overview).json["wrong"] if "missing" in one]
    for part in ("versions", "bodies"):
        shutil.rmtree(folder / part)
    wrong = asker.get(overview).json["wrong"]
    asker.close()
    assert [Path(one.split()[2]).name for one in wrong if "missing" in one] == ["bodies", "versions"]


def test_another_crawl_in_the_place_of_the_first_is_served_instead(asker: Asker, folder: Path) -> None:
    assert asker.get("/api/v1/crawls/museum/overview").json["visits"] == 7
    shutil.rmtree(folder)
    with hand_made(folder, **{"refresh-after": 1000.0}) as opened:
        refreshed(opened)
        opened.close()
    assert asker.get("/api/v1/crawls/museum/overview").json["visits"] == 9


def test_a_damaged_folder_is_told_with_the_command_that_repairs_it(asker: Asker, folder: Path) -> None:
    assert asker.get(PAGES).status == 200
    for name in ("centime.json", "centime.copy.json"):
        (folder / name).write_text("{}")
    answered = asker.get("/c/museum/pages")
    assert answered.status == 503
    assert "centime repair" in answered.text


def test_a_folder_of_an_older_format_is_told_with_the_command_that_upgrades_it(asker: Asker, folder: Path) -> None:
    assert asker.get("/c/museum/pages").status == 200  # it is open when its format becomes another one
    kept = {name: (folder / name).read_text() for name in ("centime.json", "centime.copy.json")}
    for name, said in kept.items():
        (folder / name).write_text(json.dumps(json.loads(said) | {"format": 2}))
    answered = asker.get("/c/museum/pages", match="one")
    assert answered.status == 503
    assert "centime upgrade" in answered.text
    for name, said in kept.items():
        (folder / name).write_text(said)
    assert asker.get("/c/museum/pages", match="one").status == 200


def test_requests_for_the_same_at_the_same_time_are_worked_out_once(folder: Path) -> None:
    calls: list[int] = []

    async def work() -> None:
        crawl = ServedCrawl("museum", folder, clock=lambda: NOW)
        answers = await asyncio.gather(*(crawl.ask("key", lambda glance: calls.append(1)) for _ in range(10)))
        assert len({id(answer) for answer in answers}) == 1
        await crawl.close()

    asyncio.run(work())
    assert calls == [1]


def test_a_request_that_is_given_up_disturbs_no_other(folder: Path) -> None:
    async def work() -> None:
        crawl = ServedCrawl("museum", folder, clock=lambda: NOW)
        first = asyncio.create_task(crawl.ask("key", lambda glance: 7))
        await asyncio.sleep(0)
        second = asyncio.create_task(crawl.ask("key", lambda glance: 8))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).value == 7
        await crawl.close()

    asyncio.run(work())


def test_an_answer_is_remembered_until_the_crawl_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_crawl, "FOLLOW_SECONDS", 1000.0)

    async def work() -> list[int]:
        crawl = ServedCrawl("museum", folder, clock=lambda: NOW)
        found = [(await crawl.ask("key", lambda glance, number=number: number)).value for number in range(3)]  # type: ignore[misc]
        await crawl.close()
        return found

    assert asyncio.run(work()) == [0, 0, 0]


def test_remembered_answers_take_bounded_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_crawl, "MOST_BYTES", 100)

    async def work() -> None:
        crawl = ServedCrawl("museum", folder, clock=lambda: NOW)
        for number in range(50):
            await crawl.ask(number, lambda glance: b"x" * 40, len)
        assert len(crawl._answers) <= 3
        await crawl.close()

    asyncio.run(work())


def test_a_crawl_that_was_slow_once_is_live_at_once_and_one_that_is_always_slow_is_followed_less_often(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_crawl, "FOLLOW_SECONDS", 0.5)
    monkeypatch.setattr(served_crawl, "LEISURE", 20.0)
    now, worked = [1000.0], [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.thread_time", lambda: worked[0])
    followed, work = ServedCrawl._followed, [3.0]

    def slowly(self: ServedCrawl) -> Any:
        now[0] += 3.0
        worked[0] += work[0]
        return followed(self)

    monkeypatch.setattr(ServedCrawl, "_followed", slowly)
    crawl = ServedCrawl("museum", folder, clock=lambda: NOW)
    pauses = []
    for _ in range(2):
        crawl._look()
        pauses.append(crawl._pause)
        now[0] += 100.0
    work[0] = 0.001  # it takes as long as before, on a machine that is busy with something else
    crawl._look()
    assert crawl._pause == 0.5
    crawl._close()
    assert pauses == [0.5, 60.0]


def test_an_answer_that_waits_for_compiling_says_so_and_is_there_later(
    small: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity = Activity()
    monkeypatch.setattr(failures, "activity", activity)
    with monkeypatch.context() as hurried:
        hurried.setattr(application, "ANSWER_SECONDS", 0.0)
        late = small.get(PAGES, match="late")
        assert (late.status, late.json["error"]) == (503, "This takes too long here.")
        with monkeypatch.context() as shortened, activity.lasting():  # however long it takes
            shortened.setattr(failures, "COMPILES", 0.0)
            assert "compiled, once" in small.get(PAGES, match="later").json["error"]
        activity.ended()
        compiled = small.get(PAGES, match="last")  # each another: what was late is known by now, if the machine is busy
        assert compiled.status == 503
        assert "compiled, once" in compiled.json["error"]
        assert int(compiled.headers["retry-after"]) > 0
    assert small.get(PAGES, match="late").status == 200
    monkeypatch.setattr(failures, "COMPILES", 0.0)
    monkeypatch.setattr(application, "ANSWER_SECONDS", 0.0)
    assert small.get(PAGES, match="after").json["error"] == "This takes too long here."
