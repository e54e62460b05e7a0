"""Versions: whatever bodies a page had, each comes back whole, after kills and pruning.

Over 400 lines: all cases share the bodies and the ways to read them at the top.
"""

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, TextIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_128_digest

from centime.model.document import Document
from centime.model.errors import DamagedFile, NewFormat, NoRoom, UnknownPage
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.store.versions.chain import KEY_EVERY
from centime.store.versions.database import FILE, FORMAT, open_to_write
from centime.store.versions.pruning import prune_all
from centime.store.versions.retention import EVERYTHING, Retention
from centime.store.versions.stored import (
    MANY,
    StoredVersion,
    body_of_version,
    bytes_of_versions,
    document_id,
    every_newest,
    versions_of,
)
from centime.store.versions.writer import MOST_GATHERED, VersionWriter
from tests.forked_program import forked

URL = "http://a.example/"
START = 1_700_000_000.0


def keep(writer: VersionWriter, body: bytes, at: float, url: str = URL) -> None:
    response = Response(
        url=url,
        outcome=Outcome.READ,
        status=200,
        headers=(("content-type", "text/html; charset=utf-8"),),
        body=body,
        asked_at=at,
    )
    writer.keep(response, Document(kind=PageKind.HTML, digest=xxh3_128_digest(body)))


def bodies_of(folder: Path, url: str = URL) -> list[bytes]:
    return [body_of_version(folder, version) for version in versions_of(folder, url)]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.binary(max_size=400) | st.sampled_from([b"one" * 99, b"two" * 99]), min_size=1, max_size=80))
def test_every_version_comes_back_and_a_body_that_stays_is_one_version(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("versions")
    writer = VersionWriter(folder)
    for number, body in enumerate(bodies):
        keep(writer, body, START + number)
    writer.close()
    different = [body for number, body in enumerate(bodies) if number == 0 or body != bodies[number - 1]]
    assert bodies_of(folder) == different
    found = versions_of(folder, URL)
    assert [version.number for version in found] == list(range(1, len(different) + 1))
    assert [version.size for version in found] == list(map(len, different))
    times = [START + number for number, body in enumerate(bodies) if number == 0 or body != bodies[number - 1]]
    assert [version.time for version in found] == times
    assert [version.seen for version in found] == [time - 1 for time in times[1:]] + [START + len(bodies) - 1]


def test_a_version_takes_little_room_and_a_key_frame_comes_now_and_then(tmp_path: Path) -> None:
    page = random.Random(1).randbytes(30_000)
    writer = VersionWriter(tmp_path)
    for number in range(2 * KEY_EVERY):
        keep(writer, page + b"%d" % number, START + number)
    keys = [version.packed > 30_000 for version in versions_of(tmp_path, URL)]
    assert keys == [number % KEY_EVERY == 0 for number in range(2 * KEY_EVERY)]
    assert all(version.packed < 100 for version, key in zip(versions_of(tmp_path, URL), keys, strict=True) if not key)


def test_a_page_that_is_seen_again_holds_its_newest_version(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    digest = xxh3_128_digest(b"one")
    assert not writer.holds(URL, digest)
    keep(writer, b"one", START)
    assert writer.holds(URL, digest)
    assert not writer.holds(URL, xxh3_128_digest(b"two"))
    writer.verified(Response(url=URL, outcome=Outcome.UNCHANGED, status=304, asked_at=START + 9))
    writer.answered(Response(url=URL, outcome=Outcome.GONE, status=404, asked_at=START + 10))
    (version,) = versions_of(tmp_path, URL)
    assert (version.time, version.seen, version.timestamp) == (START, START + 9, "20231114221320")
    assert (version.content_type, version.status) == ("text/html; charset=utf-8", 200)


def test_many_pages_are_listed_once_each_with_their_newest_version(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    with _Quick(writer):
        for number in range(MANY + 3):
            keep(writer, b"page %d" % number, START, f"http://a.example/{number}")
    keep(writer, b"new", START + 1, "http://a.example/7")
    found = {version.url: body_of_version(tmp_path, version) for version in every_newest(tmp_path)}
    assert len(found) == MANY + 3 == len(list(every_newest(tmp_path)))
    assert (found["http://a.example/7"], found["http://a.example/8"]) == (b"new", b"page 8")
    assert bytes_of_versions(tmp_path)[:2] == (MANY + 3, MANY + 4)


class _Quick:
    """Lets a test with many pages not wait for the disk."""

    def __init__(self, writer: VersionWriter) -> None:
        self.database = writer._database

    def __enter__(self) -> None:
        self.database.execute("PRAGMA synchronous = OFF")

    def __exit__(self, *_: object) -> None:
        self.database.execute("PRAGMA synchronous = NORMAL")


def test_nothing_is_found_where_nothing_was_kept(tmp_path: Path) -> None:
    assert versions_of(tmp_path, URL) == []
    assert list(every_newest(tmp_path / "nowhere")) == []
    assert bytes_of_versions(tmp_path) == (0, 0, 0)
    VersionWriter(tmp_path).close()
    assert versions_of(tmp_path, URL) == []
    assert prune_all(tmp_path / "nowhere", lambda url: Retention(most=1), START).versions == 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.0, 5.0), min_size=2, max_size=60),
    st.integers(1, 70) | st.floats(0.5, 100.0),
    st.booleans(),
)
def test_pruning_keeps_what_is_promised_and_every_version_that_stays_is_whole(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[float], kept: float, at_once: bool
) -> None:
    folder = tmp_path_factory.mktemp("versions")
    rule = Retention(most=kept) if isinstance(kept, int) else Retention(seconds=kept)
    writer = VersionWriter(folder, lambda url: rule if at_once else EVERYTHING)
    now, times = START, []
    for number, gap in enumerate(gaps):
        now += gap
        times.append(now)
        keep(writer, b"a page " * 20 + b"%d" % number, now)
    if at_once:
        left = [version.number for version in versions_of(folder, URL)]
        assert set(_promised(times, rule, now)) <= set(left)
        assert len(left) <= len(_promised(times, rule, now)) + rule.slack()
    prune_all(folder, lambda url: rule, now)
    found = versions_of(folder, URL)
    assert [version.number for version in found] == _promised(times, rule, now)
    assert bodies_of(folder) == [b"a page " * 20 + b"%d" % (version.number - 1) for version in found]
    keep(writer, b"afterwards", now + 1)
    assert bodies_of(folder)[-1] == b"afterwards"


def _promised(times: list[float], rule: Retention, now: float) -> list[int]:
    numbers = range(1, len(times) + 1)
    if rule.most is not None:
        return list(numbers)[-rule.most :]
    assert rule.seconds is not None
    since = now - rule.seconds
    first = next((number for number in numbers[:-1] if times[number] > since), len(times))
    return [number for number in numbers if number >= first]


def test_pruning_says_what_it_would_remove_and_gives_room_back(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    noise = random.Random(2)
    for number in range(20):
        keep(writer, noise.randbytes(50_000), START + number)
    writer.close()
    before = (tmp_path / FILE).stat().st_size
    planned = prune_all(tmp_path, lambda url: Retention(most=2), START, dry_run=True)
    assert (planned.pages, planned.versions) == (1, 18)
    assert planned.bytes > 18 * 50_000
    assert len(versions_of(tmp_path, URL)) == 20
    assert prune_all(tmp_path, lambda url: Retention(most=2), START) == planned
    assert len(versions_of(tmp_path, URL)) == 2
    assert (tmp_path / FILE).stat().st_size < before / 4
    assert prune_all(tmp_path, lambda url: EVERYTHING, START).versions == 0


def test_a_version_that_is_packed_while_others_are_pruned_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = VersionWriter(tmp_path)
    for number in range(10):
        keep(writer, b"the page " * 50 + b"%d" % number, START + number)
    pack = writer._frame

    def slow(*arguments: Any) -> tuple[int, bytes]:
        made = pack(*arguments)
        monkeypatch.setattr(writer, "_frame", pack)
        prune_all(tmp_path, lambda url: Retention(most=1), START)  # by another process, before the version is written
        return made

    monkeypatch.setattr(writer, "_frame", slow)
    keep(writer, b"the page " * 50 + b"new", START + 20)
    assert [body[-3:] for body in bodies_of(tmp_path)] == [b"e 9", b"new"]


def test_a_damaged_version_does_not_stop_the_pruning_of_others_nor_new_versions(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path, lambda url: Retention(most=2))
    for number in range(2):
        keep(writer, b"the page " * 50 + b"%d" % number, START + number)
        keep(writer, b"the page " * 50 + b"%d" % number, START + number, "http://b.example/")
    writer._database.execute("UPDATE version SET frame = x'00' WHERE number = 1 AND document = ?", (document_id(URL),))
    for number in range(2, 5):
        keep(writer, b"the page " * 50 + b"%d" % number, START + number)
        keep(writer, b"the page " * 50 + b"%d" % number, START + number, "http://b.example/")
    assert len(versions_of(tmp_path, "http://b.example/")) == 2
    assert body_of_version(tmp_path, versions_of(tmp_path, URL)[-1]).endswith(b"4")
    writer._database.execute("UPDATE version SET frame = x'00' WHERE steps = 0 AND document = ?", (document_id(URL),))
    keep(writer, b"one more", START + 9)
    assert prune_all(tmp_path, lambda url: Retention(most=1), START + 9).versions >= 1


def test_a_file_that_may_not_grow_ends_the_crawl(tmp_path: Path) -> None:
    program = (
        f"import resource, sys; sys.path[:0] = [{str(Path(__file__).parents[3])!r}]\n"
        "from tests.store.versions.test_versions import *\n"
        "writer = VersionWriter(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        "    for number in range(99): keep(writer, random.Random(number).randbytes(20_000), START + number)\n"
        "except NoRoom as trouble: print(number, trouble)\n"
    )
    said = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True).stdout
    assert "cannot be written" in said
    assert len(bodies_of(tmp_path)) == int(said.split()[0])


def test_a_version_that_was_pruned_meanwhile_is_an_unknown_one(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    for number in range(3):
        keep(writer, b"%d" % number * 100, START + number)
    first = versions_of(tmp_path, URL)[0]
    prune_all(tmp_path, lambda url: Retention(most=1), START)
    with pytest.raises(UnknownPage, match="no version 1 any more"):
        body_of_version(tmp_path, first)
    writer.close()
    (tmp_path / FILE).unlink()
    with pytest.raises(UnknownPage, match="not there any more"):
        body_of_version(tmp_path, first)


def test_a_damaged_frame_is_told_and_the_next_version_is_whole_again(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    for number in range(4):
        keep(writer, b"the page " * 50 + b"%d" % number, START + number)
    change = "UPDATE version SET frame = ? WHERE number = 2"
    writer._database.execute(change, (b"not a frame",))
    found = versions_of(tmp_path, URL)
    assert body_of_version(tmp_path, found[0]).endswith(b"0")
    for version in found[1:]:
        with pytest.raises(DamagedFile, match=f"version {version.number} of {URL} cannot be restored"):
            body_of_version(tmp_path, version)
    keep(writer, b"five", START + 5)
    assert body_of_version(tmp_path, versions_of(tmp_path, URL)[-1]) == b"five"
    writer._database.execute("DELETE FROM version WHERE number = 3")
    with pytest.raises(DamagedFile, match="a version before it is missing"):
        body_of_version(tmp_path, found[3])


def test_a_body_with_another_digest_is_damaged(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    keep(writer, b"one", START)
    writer._database.execute("UPDATE version SET digest = x'00'")
    with pytest.raises(DamagedFile, match="another digest"):
        bodies_of(tmp_path)


def test_what_is_not_our_database_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"SQLite format 4" * 100)
    with pytest.raises(DamagedFile, match="damaged"):
        versions_of(tmp_path, URL)
    with pytest.raises(DamagedFile, match="damaged"):
        VersionWriter(tmp_path)
    (tmp_path / FILE).unlink()
    foreign = sqlite3.connect(tmp_path / FILE)
    foreign.execute("CREATE TABLE version (number)")
    foreign.close()
    with pytest.raises(DamagedFile, match="not written by Centime"):
        versions_of(tmp_path, URL)
    (tmp_path / FILE).unlink()
    ours = open_to_write(tmp_path)
    ours.execute(f"PRAGMA user_version = {FORMAT + 1}")
    ours.close()
    with pytest.raises(NewFormat, match=f"newer Centime .format {FORMAT + 1}"):
        versions_of(tmp_path, URL)
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    for use in (lambda: versions_of(tmp_path, URL), lambda: VersionWriter(tmp_path)):
        with pytest.raises(DamagedFile, match="folder"):
            use()


def test_a_full_disk_loses_nothing_of_what_is_there(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    keep(writer, b"one", START)
    (pages,) = writer._database.execute("PRAGMA page_count").fetchone()
    writer._database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(NoRoom, match="full"):
        keep(writer, random.Random(3).randbytes(100_000), START + 1)
    writer._database.execute("PRAGMA max_page_count = 1000000")
    assert bodies_of(tmp_path) == [b"one"]
    keep(writer, b"two", START + 2)
    assert bodies_of(tmp_path) == [b"one", b"two"]


def test_only_its_owner_can_read_the_versions(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        writer = VersionWriter(tmp_path / "versions")
        keep(writer, b"one", START)
        for path in [tmp_path / "versions", *(tmp_path / "versions").iterdir()]:
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    finally:
        os.umask(before)


def test_a_file_that_is_deleted_meanwhile_is_written_again(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path)
    keep(writer, b"one", START)
    assert writer.write_back() == ""
    (tmp_path / FILE).unlink()
    assert "deleted while the crawl wrote to it" in writer.write_back()
    assert bodies_of(tmp_path) == [b"one"]
    keep(writer, b"two", START + 1)
    writer.close()
    writer.close()
    assert bodies_of(tmp_path) == [b"one", b"two"]
    assert [path.name for path in tmp_path.iterdir() if path.name == FILE] == [FILE]


def test_a_folder_where_nobody_may_write_can_be_read_and_nothing_is_written_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = VersionWriter(tmp_path)
    keep(writer, b"one", START)
    writer.close()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # the superuser may write everywhere
    tmp_path.chmod(0o500)
    try:
        assert bodies_of(tmp_path) == [b"one"]
        assert [path.name for path in tmp_path.iterdir()] == [FILE]
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.long
def test_after_kills_every_version_that_was_kept_is_there_and_whole(tmp_path: Path) -> None:
    told = 0

    def write(lines: TextIO) -> None:
        writer, number = VersionWriter(tmp_path), told
        while True:
            number += 1
            keep(writer, b"the page " * 500 + b"%d" % number, START + number, f"http://a.example/{number % 3}")
            print(number, file=lines, flush=True)

    for _ in range(6):
        with forked(write) as child:
            for line in child.said:
                told = int(line)
                if told % 40 == 39:
                    os.kill(child.process, signal.SIGKILL)
        found: dict[int, StoredVersion] = {}
        for page in range(3):
            for version in versions_of(tmp_path, f"http://a.example/{page}"):
                body = body_of_version(tmp_path, version)
                found[int(body.rpartition(b" ")[2])] = version
        assert set(range(1, told + 1)) <= set(found)
        told = max(found)


def test_what_is_gathered_is_written_at_once_or_not_at_all(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path, gathers=True)
    digest = xxh3_128_digest(b"one")
    keep(writer, b"one", START)
    keep(writer, b"else", START, "http://a.example/2")
    assert writer.holds(URL, digest)
    assert versions_of(tmp_path, URL) == []
    writer.verified(Response(url=URL, outcome=Outcome.UNCHANGED, status=304, asked_at=START + 9))
    writer.flush()
    assert [version.seen for version in versions_of(tmp_path, URL)] == [START + 9]
    keep(writer, b"two", START + 10)
    keep(writer, b"three", START + 11)  # a page has one gathered version
    assert bodies_of(tmp_path) == [b"one", b"two"]
    other = VersionWriter(tmp_path)
    keep(other, b"four", START + 12)
    writer.flush()
    assert bodies_of(tmp_path) == [b"one", b"two", b"four", b"three"]
    keep(writer, b"x" * MOST_GATHERED, START + 13)
    assert len(versions_of(tmp_path, URL)) == 4
    keep(writer, b"y", START + 14, "http://a.example/3")  # too much is gathered
    assert len(versions_of(tmp_path, URL)) == 5
    keep(writer, b"last", START + 15)
    other._database.execute("DROP TABLE version")
    with pytest.raises(DamagedFile):
        writer.flush()
    assert not writer.holds(URL, xxh3_128_digest(b"last"))
    writer.close()


def test_closing_writes_what_was_gathered(tmp_path: Path) -> None:
    writer = VersionWriter(tmp_path, gathers=True)
    keep(writer, b"one", START)
    writer.close()
    assert bodies_of(tmp_path) == [b"one"]
