"""The log of requests: every prefix is a state, a torn end is cut, damage is told, compaction changes nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from centime.crawl.imports.finding import Finding
from centime.model.errors import BadInput, DamagedFile, InUse

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install centime[scrapy]")

from centime.scrapy.request_log import NAME, LoggedRequest, RequestLog


def _request(number: int) -> LoggedRequest:
    return LoggedRequest(number, b"f%d" % number, f"http://a.test/{number}", "a.test", 0, b"", b"pickle %d" % number)


def _visit(number: int) -> Finding:
    return Finding(f"http://a.test/{number}", 1e9 + number, hrefs=("http://a.test/",))


def _filled(folder: Path, count: int = 6, keep: bool = False) -> list[int]:
    """Makes a log in which the even requests are done; returns its length after each frame."""
    log = RequestLog(folder, keep=keep)
    lengths = []
    for number in range(count):
        place = log.push(_request(number))
        log.flush()
        lengths.append((folder / NAME).stat().st_size)
        if number % 2 == 0:
            log.done(number, [_visit(number)], again=(_request(number).url, place))
            log.flush()
            lengths.append((folder / NAME).stat().st_size)
    log.close()
    return lengths


def test_log_has_what_waits_what_was_seen_and_the_visits(tmp_path: Path) -> None:
    _filled(tmp_path / "q")
    log = RequestLog(tmp_path / "q")
    assert list(log.waiting) == [1, 3, 5]
    assert log.read(log.waiting[3][1]).pickled == b"pickle 3"
    assert log.seen == {b"f%d" % number for number in range(6)}
    assert log.unimported == [_visit(0), _visit(2), _visit(4)]
    assert log.next_number == 6
    log.imported(2)
    assert log.unimported == [_visit(4)]
    log.close()


def test_every_prefix_of_the_log_is_a_state_that_existed(tmp_path: Path) -> None:
    lengths = _filled(tmp_path / "q")
    whole = (tmp_path / "q" / NAME).read_bytes()
    for cut in range(lengths[0], len(whole), 7):
        (tmp_path / "q" / NAME).write_bytes(whole[:cut])
        log = RequestLog(tmp_path / "q")
        frames = sum(length <= cut for length in lengths)
        assert log.cut_bytes == cut - lengths[frames - 1]
        numbers = [number for number in range(6) for _ in range(2 - number % 2)][:frames]
        assert len(log.seen) == len(set(numbers))
        assert list(log.waiting) == [
            number for number in dict.fromkeys(numbers) if numbers.count(number) + number % 2 < 2 or number % 2
        ]
        log.push(_request(9))
        log.close()
        again = RequestLog(tmp_path / "q")
        assert 9 in again.waiting
        again.close()


def test_damage_before_the_end_is_told(tmp_path: Path) -> None:
    lengths = _filled(tmp_path / "q")
    data = bytearray((tmp_path / "q" / NAME).read_bytes())
    data[lengths[1] + 30] ^= 1
    (tmp_path / "q" / NAME).write_bytes(data)
    with pytest.raises(DamagedFile, match=f"damaged at byte {lengths[1]}"):
        RequestLog(tmp_path / "q")


@pytest.mark.parametrize("keep", [False, True])
def test_compaction_changes_nothing_but_the_length(tmp_path: Path, keep: bool) -> None:
    _filled(tmp_path / "q", 400, keep)
    log = RequestLog(tmp_path / "q", keep=keep)
    log.imported(199)
    waiting = {number: place for number, (_, place) in log.waiting.items()}
    length = (tmp_path / "q" / NAME).stat().st_size
    moved = log.compact(waiting.values())
    assert all(log.read(moved[place]).number == number for number, place in waiting.items())
    log.push(_request(400))
    log.close()
    again = RequestLog(tmp_path / "q", keep=keep)
    assert list(again.waiting) == [*waiting, 400]
    assert again.seen == {b"f%d" % number for number in range(401)}
    assert (again.visits, again.unimported, again.next_number) == (200, [_visit(398)], 401)
    assert [again.read(place).number for place in again.kept.values()] == (list(range(0, 400, 2)) if keep else [])
    assert keep or (tmp_path / "q" / NAME).stat().st_size < length
    again.close()


def test_failed_compaction_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _filled(tmp_path / "q")
    log = RequestLog(tmp_path / "q")

    def fails(*_: object) -> Callable[[], None]:
        raise OSError("no")

    monkeypatch.setattr("centime.scrapy.request_log.sync_folder", lambda _: None)
    monkeypatch.setattr("centime.scrapy.request_log.os.fsync", fails)
    with pytest.raises(OSError, match="no"):
        log.compact([place for _, place in log.waiting.values()])
    monkeypatch.undo()
    log.push(_request(7))
    log.close()
    again = RequestLog(tmp_path / "q")
    assert list(again.waiting) == [1, 3, 5, 7]
    again.close()


def test_log_is_of_one_process_at_a_time(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "q")
    with pytest.raises(InUse):
        RequestLog(tmp_path / "q")
    log.close()


def test_log_from_elsewhere_is_refused_unless_it_is_trusted(tmp_path: Path) -> None:
    _filled(tmp_path / "q")
    (tmp_path / "q" / "owner").write_bytes(b"somebody\n")
    with pytest.raises(BadInput, match="CENTIME_TRUST"):
        RequestLog(tmp_path / "q")
    RequestLog(tmp_path / "q", trust=True).close()
    RequestLog(tmp_path / "q").close()
