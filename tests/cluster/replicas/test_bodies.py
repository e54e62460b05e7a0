"""Stored bodies in a replica: it has those of all visits that it knows, or says that it is behind."""

from pathlib import Path
from unittest.mock import patch

import pytest

from centime.cluster.replicas import bodies
from centime.cluster.replicas.bodies import Bodies
from centime.cluster.replicas.keeper import Keeper, Restore, Restored
from centime.cluster.replicas.lacking import BEHIND, read_lacking_again
from centime.cluster.replicas.said import Body, Has, IsWhole, Kept, Look, Rows
from centime.model.errors import DamagedFile
from centime.model.outcome import Presence
from centime.store.archives.archive import Archive, complete_open_files
from centime.store.archives.captures import every_capture, find_bodies, read_body
from centime.store.versions.database import FILE
from centime.store.versions.stored import every_newest
from centime.store.versions.writer import VersionWriter
from tests.crawl.world import World, advance, crawl
from tests.store.archives.test_archive import HTML, response
from tests.store.versions.test_versions import START, bodies_of, keep

URLS = [f"http://a.example/{number}" for number in range(6)]


def begun(keeper: Keeper, folder: Path, incarnation: int) -> Bodies:
    """The bodies of a folder, after the keeper has said what it has."""
    has = keeper.take(Look(0, incarnation))
    assert isinstance(has, Has)
    shipped = Bodies(folder, 0, incarnation)
    shipped.begin(has)
    return shipped


def send(keeper: Keeper, shipped: Bodies) -> int:
    """Sends all there is; returns the bytes of bodies."""
    sent = 0
    while True:
        parts = list(shipped.parts())
        for part in parts:
            answer = keeper.take(part)
            if isinstance(part, Body):
                sent += len(part.data)
            if isinstance(part, Rows):
                sent += sum(len(row[-1]) for row in part.rows.versions)
            if isinstance(answer, Kept):
                shipped.kept(answer.number)
        if not shipped.are_left:
            return sent


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    (tmp_path / "replicas").mkdir()
    (tmp_path / "c").mkdir()
    return Keeper(tmp_path / "replicas")


def test_files_of_an_archive_follow_as_they_grow_and_end(tmp_path: Path, keeper: Keeper) -> None:
    home, replica = tmp_path / "c", tmp_path / "replicas" / "00"
    shipped = begun(keeper, home, 1)
    archive = Archive(home / "bodies", "0")
    for number, url in enumerate(URLS[:3]):
        archive.keep(response(url, b"%d" % number * 900), HTML)
        assert send(keeper, shipped) > 0
        assert [read_body(replica / "bodies", one) for one in every_capture(replica / "bodies")][-1][
            :1
        ] == b"%d" % number
    assert send(keeper, shipped) == 0
    archive.close()
    other = Archive(home / "bodies", "1")
    other.keep(response(URLS[4], b"four"), HTML)
    send(keeper, shipped)
    names = sorted(path.name for path in (home / "bodies").iterdir())
    assert sorted(path.name for path in (replica / "bodies").iterdir()) == names
    assert all((replica / "bodies" / name).read_bytes() == (home / "bodies" / name).read_bytes() for name in names)
    again = begun(keeper, home, 2)  # the same, after a restart: nothing is sent again
    other.keep(response(URLS[5], b"five"), HTML)
    assert 0 < send(keeper, again) < 2_000
    another = Archive(tmp_path / "another", "0")
    another.keep(response(URLS[0], b"of another past"), HTML)
    another.close()
    sizes = [path.replace(home / "bodies" / path.name).stat().st_size for path in (tmp_path / "another").iterdir()]
    assert send(keeper, begun(keeper, home, 3)) == sum(sizes)


@pytest.mark.parametrize("ending", [".warc.gz", ".cdxj"])
@pytest.mark.parametrize("how", ["cut", "flipped", "deleted"])
def test_a_damaged_file_of_a_partition_does_not_take_the_place_of_the_whole_one_of_its_replica(
    tmp_path: Path, keeper: Keeper, ending: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    home, replica = tmp_path / "c", tmp_path / "replicas" / "00"
    archive = Archive(home / "bodies", "0")
    for url in URLS:
        archive.keep(response(url, url.encode() * 99), HTML)
    archive.close()
    send(keeper, begun(keeper, home, 1))
    (path,) = (home / "bodies").glob(f"*{ending}")
    data = path.read_bytes()
    if how == "deleted":
        path.unlink()
    else:
        path.write_bytes(data[:-200] if how == "cut" else data[:300] + bytes([data[300] ^ 1]) + data[301:])
    send(keeper, begun(keeper, home, 2))
    assert (replica / "bodies" / path.name).read_bytes() == data
    assert ("is damaged" in caplog.text) is (how != "deleted")


@pytest.mark.parametrize("where", [0, 20_000])
def test_versions_of_a_replica_that_are_damaged_are_sent_again(tmp_path: Path, keeper: Keeper, where: int) -> None:
    home, replica = tmp_path / "c", tmp_path / "replicas" / "00"
    writer = VersionWriter(home / "versions")
    for number, url in enumerate(URLS):
        keep(writer, bytes(f"{number}", "ascii") * 9_999, START, url)
    send(keeper, begun(keeper, home, 1))
    keeper._copy_of(0).close()
    path = replica / "versions" / FILE
    data = path.read_bytes()
    path.write_bytes(data[:where] + b"\xff" * 4_096 + data[where + 4_096 :] if where else b"no database" * 999)
    for url in URLS:
        keep(writer, b"changed" * 999, START + 60, url)
    try:
        send(keeper, begun(keeper, home, 2))
    except DamagedFile:  # the keeper ends, and is started again
        keeper = Keeper(tmp_path / "replicas")
        send(keeper, begun(keeper, home, 2))
    for url in URLS:
        assert bodies_of(replica / "versions", url) == bodies_of(home / "versions", url)


def test_no_more_is_on_its_way_than_the_window_and_frames_wait_for_bodies_once_it_is_whole(
    tmp_path: Path, keeper: Keeper
) -> None:
    writer = VersionWriter(tmp_path / "c" / "versions")
    keep(writer, b"first" * 99, START, URLS[0])
    shipped = begun(keeper, tmp_path / "c", 1)
    assert (tmp_path / "replicas" / "00" / BEHIND).exists()
    with patch.object(bodies, "WINDOW", 1):
        (first,) = shipped.parts()
        assert isinstance(first, Rows)
        assert list(shipped.parts()) == [], "the replica has not answered yet"
        assert shipped.are_left
        assert not shipped.hold_frames, "a replica that is behind gets frames all the same"
        keeper.take(first)
        shipped.kept(first.number)
        (whole,) = shipped.parts()
        assert keeper.take(whole) == IsWhole(0, 1)
        assert not (tmp_path / "replicas" / "00" / BEHIND).exists()
        keep(writer, b"second" * 99, START + 1, URLS[1])
        keep(writer, b"third" * 99, START + 2, URLS[1])
        (second,) = shipped.parts()
        assert isinstance(second, Rows)
        assert shipped.hold_frames
        keeper.take(second)
        shipped.kept(second.number)
        send(keeper, shipped)
        assert not shipped.hold_frames
    assert isinstance(keeper.take(Look(0, 2)), Has)
    assert bodies_of(tmp_path / "replicas" / "00" / "versions", URLS[1]) == [b"second" * 99, b"third" * 99]


@pytest.mark.parametrize("dies_at", [0, 1, 2])
def test_a_partition_gets_the_bodies_of_its_replica_whenever_the_keeper_dies(
    tmp_path: Path, keeper: Keeper, dies_at: int
) -> None:
    home, again = tmp_path / "c", tmp_path / "again"
    writer, archive = VersionWriter(home / "versions"), Archive(home / "bodies", "0")
    keep(writer, b"a version", START, URLS[0])
    archive.keep(response(URLS[1], b"a capture"), HTML)
    send(keeper, begun(keeper, home, 1))
    (tmp_path / "replicas" / "00" / "centime.json").write_text("{}")
    replace, moved = Path.replace, []

    def dies(path: Path, to: Path) -> Path:
        if path.name in ("bodies", "versions", ".again.restored"):
            moved.append(path)
            if len(moved) == dies_at:
                raise KeyboardInterrupt
        return replace(path, to)

    with patch.object(Path, "replace", dies):
        try:
            keeper.take(Restore(0, 2, str(again)))
        except KeyboardInterrupt:
            assert dies_at
    for incarnation in (3, 4):  # also if nobody heard the answer
        assert keeper.take(Restore(0, incarnation, str(again))) == Restored(0)
        assert bodies_of(again / "versions", URLS[0]) == [b"a version"]
        complete_open_files(again / "bodies")
        (capture,) = find_bodies(again / "bodies", URLS[1])
        assert read_body(again / "bodies", capture) == b"a capture"


@pytest.mark.parametrize("store", ["versions", "all"])
def test_pages_whose_bodies_were_lost_are_read_again_and_no_others(tmp_path: Path, store: str) -> None:
    with crawl(tmp_path / "c", keep=store) as opened:
        now = advance(opened, World(), 6)
        shard = opened.shard
        records = {page: shard.pages.last(page) for page in range(shard.pages.count)}  # type: ignore[arg-type]
        read = [page for page, record in records.items() if record and record.presence is Presence.PRESENT]
        urls = [shard.pages.texts.get(page) for page in read]  # type: ignore[arg-type]
        assert read_lacking_again(opened, now) == "", "nothing says that some were lost"
        if store == "versions":
            writer = VersionWriter(opened.folder.versions)
            for page, url in list(zip(read, urls, strict=True))[1:]:
                record = records[page]
                assert record is not None
                keep(writer, b"", now, url)
                writer._database.execute(
                    "UPDATE document SET digest = ? WHERE url = ?",
                    (record.digest if page != read[1] else b"an older one", url),
                )
            lacking = urls[:2]
            assert len(list(every_newest(opened.folder.versions))) == len(urls) - 1
        else:
            archive = Archive(opened.folder.bodies, "0")
            for page, url in list(zip(read, urls, strict=True))[1:]:
                record = records[page]
                assert record is not None
                archive.keep(response(url, b"body", record.time - (60 if page == read[1] else 0)), HTML)
            lacking = urls[:2]
        (tmp_path / "c" / BEHIND).touch()
        waiting = len(shard.placement.frontier)
        assert "2 pages are read again" in read_lacking_again(opened, now)
        assert len(shard.placement.frontier) == waiting + 2
        assert read_lacking_again(opened, now) == "", "once"
        leased = {lease.url for turn in range(1, 40) for lease in shard.lease(now + 10 * turn, 4)}
        assert set(lacking) <= leased
