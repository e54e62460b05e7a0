"""Records of WARC files are read whole or told to be damaged, whatever is wrong with the file."""

import gzip
import io
import sys
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from centime.crawl.imports import packed_members, warc_records
from centime.crawl.imports.finding import Trouble
from centime.crawl.imports.packed_members import DICTIONARY
from centime.crawl.imports.warc_records import WarcRecord, WarcRecords


def record(content: bytes, length: int | None = None) -> bytes:
    """A record whose head says this length."""
    said = len(content) if length is None else length
    return b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n" % (said, content)


def read(data: bytes, position: int = 0) -> tuple[list[bytes], list[str], list[int]]:
    """The contents, troubles and positions of a file."""
    contents, troubles, ends = [], [], []
    for end, one in WarcRecords(io.BytesIO(data), len(data)).read(position):
        ends.append(end)
        if isinstance(one, WarcRecord):
            contents.append(one.content)
        else:
            assert isinstance(one, Trouble)
            troubles.append(one.text)
    return contents, troubles, ends


WORDS = zstd.train_dict([record(b"a page of number %d" % number) for number in range(200)], 1024)
contents = st.lists(st.binary(max_size=200), min_size=1, max_size=6)


@given(contents, st.sampled_from(["plain", "members", "one member", "zstandard", "dictionary", "packed dictionary"]))
def test_all_records_are_read_and_each_end_is_a_position_to_go_on_from(some: list[bytes], form: str) -> None:
    pieces = [record(one) for one in some]
    if form == "members":
        pieces = [gzip.compress(piece) for piece in pieces]
    elif form == "zstandard":
        pieces = [zstd.compress(piece) for piece in pieces]
    elif "dictionary" in form:
        packed = zstd.compress(WORDS.dict_content) if form == "packed dictionary" else WORDS.dict_content
        frames = [zstd.compress(piece, zstd_dict=WORDS) for piece in pieces]
        pieces = [DICTIONARY + len(packed).to_bytes(4, "little") + packed, *frames]
    data = gzip.compress(b"".join(pieces)) if form == "one member" else b"".join(pieces)
    found, troubles, ends = read(data)
    assert (found, troubles) == (some, [])
    for number, end in enumerate(ends, 1):
        rest = read(data, end)[0]
        assert (
            rest == some[number:] if form != "one member" else rest[-len(some[number:]) :] == some[number:] or not rest
        )


@given(contents, st.data())
def test_a_cut_file_gives_what_was_whole_and_says_that_it_is_cut(some: list[bytes], data: st.DataObject) -> None:
    members = [gzip.compress(record(one)) for one in some]
    whole = b"".join(members)
    cut = data.draw(st.integers(1, len(whole) - 1))
    found, troubles, _ = read(whole[:cut])
    complete = sum(len(b"".join(members[:count])) <= cut for count in range(1, len(members) + 1))
    assert found == some[:complete]
    at_a_border = cut in {len(b"".join(members[:count])) for count in range(len(members) + 1)}
    assert bool(troubles) is not at_a_border


@given(contents, st.integers(0, 5), st.integers(0, 10**15), st.booleans())
def test_a_record_with_a_lying_length_costs_itself_alone(
    some: list[bytes], place: int, length: int, packed: bool
) -> None:
    place %= len(some)
    some = [one.replace(b"WARC/", b"") for one in some]
    if length == len(some[place]):
        length += 1
    pieces = [record(one, length if number == place else None) for number, one in enumerate(some)]
    found, troubles, _ = read(b"".join(gzip.compress(one) if packed else one for one in pieces))
    assert found == some[:place] + some[place + 1 :]
    assert len(troubles) == 1


def test_a_bomb_is_not_unpacked_and_the_next_record_is_read(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(warc_records, "MOST_RECORD", 4 << 20)
    bomb = gzip.compress(record(bytes(32 << 20)))
    lying = gzip.compress(record(bytes(32 << 20), 10))
    found, troubles, _ = read(bomb + lying + gzip.compress(record(b"next")))
    assert found == [b"next"]
    assert len(troubles) == 2


def test_garbage_between_members_is_told_and_skipped() -> None:
    found, troubles, _ = read(gzip.compress(record(b"a")) + b"garbage \x1f\x8b\x08 more" + gzip.compress(record(b"b")))
    assert found == [b"a", b"b"]
    assert len(troubles) == 1


@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_fail(data: bytes) -> None:
    read(data)
    read(b"\x1f\x8b\x08" + data)
    read(b"WARC/1.0\r\n" + data)


@given(contents, st.integers(0, 5), st.integers(0, 2**32 - 1), st.sampled_from([b"\x5d", b"\x50"]))
def test_a_skippable_frame_with_a_lying_length_is_told_and_hides_no_record(
    some: list[bytes], place: int, length: int, kind: bytes
) -> None:
    frames = [zstd.compress(record(one)) for one in some]
    place = 0 if kind == DICTIONARY[:1] else 1 + place % len(some)
    behind = [len(b"".join(frames[place:count])) for count in range(place, len(some) + 1)]
    lying = kind + DICTIONARY[1:] + length.to_bytes(4, "little")
    found, troubles, _ = read(b"".join([*frames[:place], lying, *frames[place:]]))
    if length not in behind:
        assert found == some
        assert len(troubles) == 1


def test_a_dictionary_that_expands_without_end_is_not_unpacked(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(packed_members, "MOST_DICTIONARY", 1 << 20)
    bomb = zstd.compress(bytes(64 << 20))
    data = DICTIONARY + len(bomb).to_bytes(4, "little") + bomb + zstd.compress(record(b"a"))
    tracemalloc.start()
    found, troubles, _ = read(data)
    assert (found, troubles) == ([b"a"], [])
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()
