"""The index of a crawl follows its bodies, whatever happens to the process, the index or the pages.

Over 400 lines: all cases share the crawl and its bodies at the top.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from centime.cli import main
from centime.cli.ending import run
from centime.crawl.report.opening import look_at
from centime.crawl.search.finding import CrawlSearch
from centime.crawl.search.updating import Update, update_index
from centime.model.errors import BadInput, CentimeError, InUse
from centime.search.index_files import IndexFiles
from centime.store.versions import database
from tests.crawl.search.made import Library, crawled_versions

ONE, TWO, THREE = (f"http://a.example/{name}" for name in ("one", "two", "three"))
PAGES = {ONE: "<title>One</title><p>red apples", TWO: "<title>Two</title><p>green apples", THREE: "<p>blue plums"}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with closing(Library(tmp_path / "crawl", PAGES)) as library:
        yield library


def updated(folder: Path) -> Update:
    with closing(look_at(folder)) as opened:
        return update_index(opened)


def found(folder: Path, words: str, **more: str | float) -> set[str]:
    with closing(look_at(folder)) as opened:
        search = CrawlSearch(opened)
        pages = {page.url for page in search.find(words, **more)}  # type: ignore[arg-type]
        assert search.count(words, **more) == len(pages) or len(pages) == 10  # type: ignore[arg-type]
        return pages


def counts(update: Update) -> tuple[int, int, int, int]:
    return update.pages, update.added, update.changed, update.removed


def test_a_second_update_touches_only_what_changed_or_is_gone(library: Library) -> None:
    assert counts(updated(library.folder)) == (4, 4, 0, 0)
    assert found(library.folder, "apples") == {ONE, TWO}
    assert counts(updated(library.folder)) == (4, 0, 0, 0)
    library.round({ONE: PAGES[ONE], TWO: "<p>yellow pears", THREE: ("", None)})
    update = updated(library.folder)
    assert counts(update) == (3, 0, 1, 1)
    assert update.text_bytes == len("yellow pears")
    assert found(library.folder, "apples") == {ONE}
    assert found(library.folder, "pears") == {TWO}
    assert found(library.folder, "plums") == set()
    library.round({THREE: PAGES[THREE]})  # is back with the body that it had
    assert counts(updated(library.folder)) == (4, 1, 0, 0)
    assert found(library.folder, "plums") == {THREE}


def test_the_time_of_a_page_is_when_its_version_was_first_seen(library: Library) -> None:
    updated(library.folder)
    library.round({ONE: PAGES[ONE], TWO: "<p>green apples today"})
    updated(library.folder)
    with closing(look_at(library.folder)) as opened:
        first, second = sorted(CrawlSearch(opened).find("apples"), key=lambda page: page.url)
    assert second.time - first.time == 5000
    assert found(library.folder, "apples", since=float(second.time)) == {TWO}


def test_captures_of_an_open_file_count_and_are_not_read_twice_when_it_is_closed(library: Library) -> None:
    library.round({ONE: "<p>quinces"}, open_archive=True)
    assert counts(updated(library.folder)) == (4, 4, 0, 0)
    assert found(library.folder, "quinces") == {ONE}
    index = next((library.folder / "bodies").glob("*.cdxj.open"))
    index.with_suffix("").write_bytes(b"".join(sorted(index.read_bytes().splitlines(keepends=True))))
    index.unlink()
    assert counts(updated(library.folder)) == (4, 0, 0, 0)


def test_pages_that_ask_not_to_be_indexed_are_not(library: Library) -> None:
    updated(library.folder)
    library.round({ONE: "<meta name=robots content=noindex><p>red apples"}, noindex=True)
    update = updated(library.folder)
    assert (counts(update), update.noindex) == ((3, 0, 0, 1), 1)
    assert found(library.folder, "apples") == {TWO}


def test_a_running_crawl_can_be_followed(library: Library) -> None:
    with closing(look_at(library.folder)) as opened:
        update_index(opened)
        search = CrawlSearch(opened)
        assert search.changed_since() == 0
        library.round({ONE: "<p>quinces", TWO: ("", None)})
        opened.follow()
        assert search.changed_since() == 2
        update_index(opened)
        assert search.changed_since() == 0
        assert [page.url for page in search.find("quinces")] == [ONE]


def test_a_body_whose_page_the_state_does_not_know_yet_is_indexed_later(library: Library) -> None:
    with closing(look_at(library.folder)) as opened:
        new = "http://a.example/new"
        library.store(new, b"<p>quinces")
        assert counts(update_index(opened)) == (4, 4, 0, 0)
        library.seed(new)
        library.round({new: "<p>quinces"}, stores=False)
        opened.follow()
        assert counts(update_index(opened)) == (5, 1, 0, 0)


def test_kinds_of_documents(tmp_path: Path) -> None:
    pages = {
        f"http://a.example/{name}": (kind, body)
        for name, kind, body in (
            ("feed", "text/xml", b"<rss><channel><title>News</title><item>tea time</item></channel></rss>"),
            ("broken", "text/xml", b"<rss><item>tea <b>pots</item>"),
            ("notes", "text/plain; charset=iso-8859-1", b"tea caf\xe9"),
            ("report-tea.pdf", "application/pdf", b"%PDF-1.7 \0 tea"),
            ("tea.png", "image/png", b"\x89PNG\0\1"),
            ("wide", "text/html", "<p>\uff34\uff25\uff21".encode()),
        )
    }
    with closing(Library(tmp_path / "crawl", pages)) as library:
        update = updated(library.folder)
        assert (update.pages, update.without_text) == (7, 3)
        for kind, names in (
            ("xml", {"feed", "broken"}), ("text", {"notes"}), ("pdf", {"report-tea.pdf"}), ("other", {"tea.png"}),
            ("html", {"wide"}),
        ):  # fmt: skip
            assert {url.rpartition("/")[2] for url in found(library.folder, "tea", kind=kind)} == names
        assert found(library.folder, "CAFÉ") == found(library.folder, "cafe") == {"http://a.example/notes"}


@pytest.mark.slow
def test_hostile_pages_neither_hang_nor_end_the_update(tmp_path: Path) -> None:
    pages: dict[str, str | bytes | tuple[str, bytes | None]] = {
        f"http://a.example/{number}": body
        for number, body in enumerate(
            [
                b"<div>" * 100_000 + b"needle",
                b"<b><p>" * 60_000 + b"needle",
                b"<a " + b"x=1 " * 100_000 + b">needle",
                b"<p>" + b"&amp;" * 100_000 + b" needle",
                b"<p>needle " + b"word " * 400_000,
                b"<p>needle " + b"x" * 2_000_000,
                b"<p>needle " + os.urandom(200_000),
                b"<p>needle " + "\u65e5".encode() * 200_000,
                b"<!--" * 100_000,
                b"<script>" * 100_000,
                b"",
            ]
        )
    }
    entities = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10 if n else 'lol'}'>" for n in range(12))
    pages["http://a.example/bomb"] = "text/xml", f"<!DOCTYPE a [{entities}]><a>needle &e11;</a>".encode()
    pages["http://a.example/deep"] = "text/xml", b"<a>" * 60_000 + b"needle" + b"</a>" * 60_000
    with closing(Library(tmp_path / "crawl", pages)) as library:
        began = time.process_time()
        update = updated(library.folder)
        assert time.process_time() - began < 12
        assert update.pages == len(pages) + 1
        assert len(found(library.folder, "needle")) == 10


def test_one_process_writes_an_index(library: Library) -> None:
    with closing(look_at(library.folder)) as opened:
        files = IndexFiles(library.folder / "index", opened.folder.identity)
        with files.locked(), pytest.raises(InUse, match=f"process {os.getpid()} writes this index"):
            update_index(opened)
        update_index(opened)


def _foreign(index: Path) -> None:
    said = json.loads((index / "about.json").read_bytes())
    (index / "about.json").write_text(json.dumps(said | {"crawl": 7}))


def _older_version(index: Path) -> None:
    said = json.loads((index / "about.json").read_bytes())
    (index / "about.json").write_text(json.dumps(said | {"schema": 0}))


def _lost_commit(index: Path) -> None:
    meta = json.loads((index / "tantivy/meta.json").read_bytes())
    (index / "tantivy/meta.json").write_text(json.dumps(meta | {"opstamp": 0}))


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (_foreign, "it belongs to another crawl"),
        (_older_version, "another version of Centime made it"),
        (_lost_commit, "it is older than the list of its pages"),
        (lambda index: (index / "about.json").write_text("{"), "its description is damaged"),
        (lambda index: (index / "about.json").unlink(), "it was never finished"),
        (lambda index: (index / "pages.bin").write_bytes(b"x" * 99), "the list of its pages is damaged"),
        (lambda index: (index / "tantivy/meta.json").write_text("{"), "its files are damaged"),
        (lambda index: (index / "tantivy/meta.json").unlink(), "its files are damaged"),
        (lambda index: shutil.rmtree(index / "tantivy"), "its files are damaged"),
    ],
)
def test_an_index_that_does_not_fit_is_made_again(library: Library, harm: Callable[[Path], object], why: str) -> None:
    updated(library.folder)
    harm(library.folder / "index")
    update = updated(library.folder)
    assert (update.began_again, counts(update)) == (why, (4, 4, 0, 0))
    assert found(library.folder, "apples") == {ONE, TWO}
    assert updated(library.folder).began_again == ""


def test_a_lost_list_of_pages_is_taken_from_the_index(library: Library) -> None:
    updated(library.folder)
    (library.folder / "index/pages.bin").unlink()
    library.round({THREE: ("", None)})
    assert counts(updated(library.folder)) == (3, 0, 0, 1)
    assert found(library.folder, "plums") == set()


def test_a_damaged_index_is_never_a_crash(library: Library) -> None:
    updated(library.folder)
    files = sorted(path for path in (library.folder / "index/tantivy").iterdir() if path.stat().st_size)
    draw = random.Random(1)
    for path in files:
        whole = path.read_bytes()
        for harmed in (b"", whole[: len(whole) // 2], bytes(byte ^ draw.getrandbits(8) for byte in whole)):
            path.write_bytes(harmed)
            with closing(look_at(library.folder)) as opened, suppress(CentimeError):
                CrawlSearch(opened).find("apples")  # it may find less
            path.write_bytes(whole)
    assert found(library.folder, "apples") == {ONE, TWO}


def test_an_index_that_may_not_be_read_is_not_called_damaged(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    updated(library.folder)

    def refused(self: IndexFiles) -> None:
        raise ValueError("Failed to acquire Lockfile: LockBusy")

    monkeypatch.setattr(IndexFiles, "open", refused)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.R_OK)
    with pytest.raises(CentimeError, match="may not be read") as told:
        found(library.folder, "apples")
    assert "damaged" not in str(told.value)


def test_an_index_in_which_this_process_cannot_write_is_searched_as_it_grows(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    updated(library.folder)

    def files() -> list[tuple[str, bytes]]:
        return sorted((path.name, path.read_bytes()) for path in (library.folder / "index/tantivy").iterdir())

    whole = files()

    def refused(self: IndexFiles) -> None:
        raise ValueError("Failed to acquire Lockfile: IoError(PermissionDenied)")

    writable = os.access

    def read_only(path: Path, mode: int) -> bool:
        return not mode & os.W_OK and writable(path, mode)

    with closing(look_at(library.folder)) as opened:
        with monkeypatch.context() as denied:
            denied.setattr(IndexFiles, "open", refused)
            denied.setattr(os, "access", read_only)
            search = CrawlSearch(opened)
            assert {page.url for page in search.find("apples")} == {ONE, TWO}
            assert files() == whole
        library.round({THREE: "<p>apples at last"})
        updated(library.folder)  # by somebody else
        assert {page.url for page in search.find("apples")} == {ONE, TWO, THREE}


def test_a_damaged_body_is_counted_and_looked_for_again(library: Library) -> None:
    (warc,) = (library.folder / "bodies").glob("*x2*.warc.gz")
    whole = warc.read_bytes()
    warc.write_bytes(whole[: len(whole) // 3])
    update = updated(library.folder)
    assert update.unreadable
    assert "damaged" in update.first_unreadable
    warc.write_bytes(whole)
    updated(library.folder)
    assert found(library.folder, "apples") == {ONE, TWO}


def test_a_crawl_without_bodies_says_so(tmp_path: Path) -> None:
    with closing(Library(tmp_path / "crawl", PAGES, keep="none")) as library:
        shutil.rmtree(library.folder / "bodies")
        (library.folder / "bodies").mkdir()
        for look in (updated, lambda folder: found(folder, "apples")):
            with pytest.raises(BadInput, match=r"keeps no bodies \(--keep none\).* --keep all stores"):
                look(library.folder)


def test_ctrl_c_leaves_a_good_index_with_what_was_done(library: Library) -> None:
    steps: list[float] = []

    def stop(share: float) -> None:
        steps.append(share)
        if len(steps) == 3:
            raise KeyboardInterrupt

    with closing(look_at(library.folder)) as opened, pytest.raises(KeyboardInterrupt):
        update_index(opened, step=stop)
    update = updated(library.folder)
    assert update.began_again == ""
    assert (update.pages, update.added) == (4, 2)


KILLED = """
import sys
from pathlib import Path
from centime.cli import main
from centime.cli.ending import run
from centime.crawl.report.opening import look_at
from centime.crawl.search import updating
from centime.search import index_writer
index_writer.COMMIT_SECONDS = 0.0
print("ready", flush=True)
updating.update_index(look_at(Path(sys.argv[1])))
print("done", flush=True)
"""


@pytest.mark.long
@pytest.mark.slow
def test_a_killed_update_loses_nothing(tmp_path: Path) -> None:
    pages = {f"http://a.example/{n}": f"<p>apples number{n} " + "word " * 200 for n in range(100)}
    draw = random.Random(3)
    with closing(Library(tmp_path / "crawl", pages)) as library:
        kills = 0
        for seconds in (0.1, 0.3, 0.6, 1.0):
            program = [sys.executable, "-c", KILLED, str(library.folder)]
            with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                time.sleep(seconds)
                process.send_signal(signal.SIGKILL)
                kills += process.stdout.read() == ""
            changed = draw.sample(sorted(pages), 20)
            pages |= {url: f"{pages[url]} again" for url in changed}
            library.round(pages)
        assert kills >= 2
        update = updated(library.folder)
        assert update.began_again == ""
        assert update.pages == 101
        with closing(look_at(library.folder)) as opened:
            assert len(CrawlSearch(opened).find("apples", most=1000)) == 100
        for url in draw.sample(sorted(pages), 8):
            number = url.rpartition("/")[2]
            assert found(library.folder, f"number{number}") == {url}
            assert (url in found(library.folder, f"number{number} again")) == ("again" in pages[url])


def test_versions_that_a_crawl_keeps_are_indexed(tmp_path: Path) -> None:
    folder = crawled_versions(tmp_path / "crawl")
    update = updated(folder)
    assert update.pages == update.added > 15
    assert len(found(folder, "honey")) > 0
    assert counts(updated(folder)) == (update.pages, 0, 0, 0)


FULL = """
import resource, sys
from pathlib import Path
from centime.cli import main
from centime.cli.ending import run
from centime.crawl.report.opening import look_at
from centime.crawl.search.updating import update_index
from centime.model.errors import NoRoom
opened = look_at(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    update_index(opened)
except NoRoom as trouble:
    print(trouble)
"""


@pytest.mark.slow
def test_a_full_disk_is_said_and_the_next_update_goes_on(tmp_path: Path) -> None:
    draw = random.Random(4)
    pages = {f"http://a.example/{n}": f"<p>apples {draw.randbytes(4000).hex(' ')}" for n in range(60)}
    with closing(Library(tmp_path / "crawl", pages)) as library:
        program = [sys.executable, "-c", FULL, str(library.folder)]
        said = subprocess.run(program, capture_output=True, text=True, check=True)
        assert f"{library.folder / 'index'}: the file is too large" in said.stdout
        assert updated(library.folder).pages == 61
        with closing(look_at(library.folder)) as opened:
            assert len(CrawlSearch(opened).find("apples", most=100)) == 60


def test_a_pass_over_all_pages_opens_the_database_of_versions_once_and_not_for_each_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(crawled_versions(tmp_path / "crawl"))
    opened: list[Path] = []
    connect = database._connect_to_read

    def counted(path: Path) -> database.Database:
        opened.append(path)
        return connect(path)

    monkeypatch.setattr(database, "_connect_to_read", counted)
    for passing in (
        ["index", folder, "--rebuild"],
        ["bodies", folder, "-o", str(tmp_path / "bodies")],
        ["documents", folder],
        ["changes", folder, "--diff"],
        ["query", folder, "//p", "--changes"],
        *(["export", folder, "--format", form, "-o", str(tmp_path / form)] for form in ("jsonl", "git", "warc")),
    ):
        opened.clear()
        assert run(main.app, passing) == 0
        assert len(opened) <= 2, passing


def test_databases_stay_open_until_the_last_of_several_passes_ends(tmp_path: Path) -> None:
    folder = crawled_versions(tmp_path / "crawl") / "versions"
    first, second = database.keeping_open(), database.keeping_open()
    with first:
        second.__enter__()
        with database.opened_to_read(folder) as one:
            pass
    with database.opened_to_read(folder) as other:
        assert other is one
    second.__exit__(None, None, None)
    with database.opened_to_read(folder) as other:
        assert other is not one


def test_a_forked_child_opens_a_database_of_its_own(tmp_path: Path) -> None:
    folder = crawled_versions(tmp_path / "crawl") / "versions"
    with database.keeping_open():
        with database.opened_to_read(folder) as before:
            assert before is not None
        pid = os.fork()
        if not pid:
            with database.opened_to_read(folder) as found:
                os._exit(0 if found is not None and database._keeping.blocks == 0 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        with database.opened_to_read(folder) as after:
            assert after is not before
            assert after is not None
            assert after.execute("SELECT count(*) FROM document").fetchone()[0] > 0
