"""Visit records come back as they were given, the last one first."""

import tempfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.model.errors import DamagedFile
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.store.record import Mark, Record
from centime.store.records import HEAD_TYPE, LONGEST_TEXT, Records

small, byte, short = st.integers(0, 2**32 - 1), st.integers(0, 255), st.integers(0, 2**16 - 1)
time, text = st.floats(0, 4e9), st.text(max_size=20)
visits = st.builds(
    Record,
    page=st.integers(0, 6),
    **dict.fromkeys(["time", "first_time", "changed_time", "modified_time", "baseline_time"], time),
    importance=st.floats(0, 1),
    signature=st.integers(0, 2**64 - 1),
    digest=st.binary(min_size=16, max_size=16),
    **dict.fromkeys(["visits", "changes", "wire_bytes", "body_bytes", "latency_milliseconds", "links"], small),
    redirect=st.integers(-1, 2**31 - 1),
    **dict.fromkeys(["status", "depth"], short),
    marks=st.integers(0, 511).map(Mark),
    outcome=st.sampled_from(Outcome),
    kind=st.sampled_from(PageKind),
    failures=byte,
    **dict.fromkeys(
        [
            "etag",
            "modified",
            "content_type",
            "detail",
            "address",
            "canonical",
            "title",
            "language",
            "refused",
        ],
        text,
    ),
    state=st.binary(min_size=23, max_size=493) | st.just(b""),
)


def without_place(record: Record) -> Record:
    return msgspec.structs.replace(record, previous=0, state_at=0)


@given(st.lists(visits, max_size=10), st.lists(visits, max_size=5))
@settings(max_examples=30, deadline=None)
def test_the_history_of_a_page_is_its_visits_backwards(before: list[Record], after: list[Record]) -> None:
    with tempfile.TemporaryDirectory() as name:
        writer = Records.open(Path(name), {}, writable=True)
        for record in before:
            writer.append(record)
        reader = Records.open(Path(name), writer.state(), writable=False)
        for records in (reader, writer):
            places = [records.append(record) for record in after]
            assert [without_place(records.read(place)) for place in places] == after
            for page in map(PageId, range(8)):
                expected = [record for record in (before + after)[::-1] if record.page == page]
                assert [without_place(record) for record in records.history(page)] == expected
                last = records.last(page)
                assert (without_place(last) if last else None) == (expected[0] if expected else None)
            for most in (2, 20):
                levels = list(records.head_histories(np.arange(8), most))
                for page in map(PageId, range(8)):
                    alone = [head.tobytes() for head in records.head_history(page)][:most]
                    together = [level[page].tobytes() for level in levels]
                    assert together[: len(alone)] == alone
                    assert not any(map(any, together[len(alone) :]))
            heads = records.heads(np.arange(8))
            for page, head in zip(map(PageId, range(8)), heads, strict=True):
                last = records.last(page)
                if last is None:
                    assert not head.tobytes().strip(b"\0")
                else:
                    names = [field for field in HEAD_TYPE.names or () if field not in ("digest", "reserved")]
                    assert [head[field] for field in names] == [getattr(last, field) for field in names]
                    assert head["digest"].tobytes() == last.digest
        assert writer.file.damaged_blocks(writer.state()["records"]) == []
        again = Records.open(Path(name), writer.state(), writable=True)
        pages = [PageId(page) for page in range(8)]
        assert [again.last(page) for page in pages] == [writer.last(page) for page in pages]
        writer.sync()
        writer.close()
        reader.close()


def test_the_type_of_the_heads_is_the_layout_on_disk() -> None:
    assert HEAD_TYPE.itemsize == 120


def test_long_texts_are_cut_at_a_character_and_long_validators_left_out(tmp_path: Path) -> None:
    records = Records.open(tmp_path, {}, writable=True)
    long = "ä" * LONGEST_TEXT
    records.append(
        Record(
            page=PageId(0),
            time=1.0,
            outcome=Outcome.READ,
            etag=long,
            modified=long,
            title=long,
            detail="x" + long,
            failures=999,
        )
    )
    found = records.last(PageId(0))
    assert found is not None
    assert (found.etag, found.modified, found.failures) == ("", "", 255)
    assert (found.title, found.detail) == ("ä" * (LONGEST_TEXT // 2), "x" + "ä" * (LONGEST_TEXT // 2 - 1))
    assert records.nbytes == 4


def test_a_history_that_bites_its_tail_is_damage(tmp_path: Path) -> None:
    records = Records.open(tmp_path, {}, writable=True)
    records.append(Record(page=PageId(0), time=1.0, outcome=Outcome.GONE))
    records.record_at[0] += 100
    records.append(Record(page=PageId(0), time=2.0, outcome=Outcome.GONE))
    with pytest.raises(DamagedFile, match="not older"):
        list(records.history(PageId(0)))
    with pytest.raises(DamagedFile, match="not older"):
        list(records.head_histories(np.arange(1), 9))
