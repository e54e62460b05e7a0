"""URL texts come back by page number."""

import errno
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.model.errors import NoRoom, StoreBroken, UnknownPage
from centime.model.ids import PageId
from centime.store.texts import Texts


def append(texts: Texts, urls: list[str]) -> None:
    encoded = [url.encode() for url in urls]
    texts.append_many(b"".join(encoded), np.array([len(url) for url in encoded], dtype=np.int64))


@given(st.lists(st.lists(st.text(max_size=12), max_size=5), max_size=4), st.lists(st.text(max_size=12), max_size=5))
@settings(max_examples=30, deadline=None)
def test_texts_come_back_in_order_and_by_number_from_file_and_memory(
    batches: list[list[str]], later: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        writer = Texts.open(Path(name), {}, writable=True)
        for batch in batches:
            append(writer, batch)
        reader = Texts.open(Path(name), writer.state(), writable=False)
        for texts in (reader, writer):
            append(texts, later)
            every = [url for batch in batches for url in batch] + later
            assert texts.count == len(every)
            assert list(texts.every(batch=3)) == every
            backwards = np.arange(len(every), dtype=np.uint32)[::-1]
            assert texts.get_many(backwards) == every[::-1]
            assert [texts.get(PageId(page)) for page in range(len(every))] == every
            for unknown in (-1, len(every)):
                with pytest.raises(UnknownPage):
                    texts.get(PageId(unknown))
        writer.sync()
        writer.close()
        reader.close()


def test_lengths_must_be_those_of_the_texts(tmp_path: Path) -> None:
    texts = Texts.open(tmp_path, {}, writable=True)
    with pytest.raises(StoreBroken, match="add up to 3"):
        texts.append_many(b"four", np.array([3]))
    assert texts.count == 0


def test_a_full_disk_leaves_both_files_in_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Texts.open(tmp_path, {}, writable=True)
    append(texts, ["one"])
    real = os.pwrite

    def full_for_ends(handle: int, data: memoryview, at: int) -> int:
        if handle == texts.ends._handle:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data, at)

    monkeypatch.setattr(os, "pwrite", full_for_ends)
    with pytest.raises(NoRoom):
        append(texts, ["two"])
    monkeypatch.setattr(os, "pwrite", real)
    append(texts, ["three"])
    assert list(texts.every()) == ["one", "three"]
