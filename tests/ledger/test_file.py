"""Ledger files: what was saved goes on as if nothing had been, and a damaged file says so."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from centime.ledger.exact import ExactLedger
from centime.ledger.file import load, save, write_state
from centime.ledger.opic import OpicLedger
from centime.model.errors import BadInput, DamagedFile, NoRoom
from centime.model.graph import graph_from_links


def explored(ledger: ExactLedger | OpicLedger) -> ExactLedger | OpicLedger:
    chance = np.random.default_rng(0)
    web = graph_from_links(50, chance.integers(0, 50, 200), chance.integers(0, 50, 200))
    if not ledger.pages:
        ledger.join(50)
    ledger.explore(web, 80, "random")
    ledger.explore(web, 33, "balanced")
    return ledger


@pytest.mark.parametrize("kind", [ExactLedger, OpicLedger])
def test_a_saved_ledger_goes_on_as_if_it_had_not_been(
    kind: type[ExactLedger] | type[OpicLedger], tmp_path: Path
) -> None:
    ledger = explored(kind(seed=4))
    save(ledger, tmp_path / "ledger")
    again = load(tmp_path / "ledger")
    again.check()
    assert type(again) is kind
    assert explored(again).importance().tobytes() == explored(ledger).importance().tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


def test_an_empty_ledger_and_one_with_weights_and_focus_come_back(tmp_path: Path) -> None:
    save(ExactLedger(), tmp_path / "empty")
    assert load(tmp_path / "empty").pages == 0
    ledger = ExactLedger(damping=0.5)
    ledger.join(3)
    ledger.set_focus(2, 4.0)
    ledger.focus([1], 2)
    ledger.visit(0, [1, 2], [0.25, 0.75])
    save(ledger, tmp_path / "ledger")
    again = load(tmp_path / "ledger")
    assert isinstance(again, ExactLedger)
    again.check()
    for one in (ledger, again):
        one.settle(error=1e-9)
    assert again.importance().tobytes() == ledger.importance().tobytes()


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_damaged_file_says_so(place: float, bit: int, cut: bool, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    save(explored(ExactLedger()), path)
    data = bytearray(path.read_bytes())
    where = int(place * len(data))
    if cut:
        del data[where:]
    else:
        data[where] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match=str(path)):
        load(path)


def test_a_file_that_is_missing_or_a_folder_is_said_to_be(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "missing", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(BadInput, match=rf"{path}: the ledger cannot be read \({reason}\)"):
            load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger"
    save(ExactLedger(), path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NoRoom, match="ledger: the disk is full"):
        save(explored(ExactLedger()), path)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    write_state(tmp_path / "other", "warehouse", {}, {})
    with pytest.raises(DamagedFile, match="warehouse"):
        load(tmp_path / "other")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "not a file of Centime"),
        (b"PK\x03\x04 something else", "not a file of Centime"),
        (b"CENTIME\x01", "cut short at byte 8"),
        (b"CENTIME\x09" + bytes(60), "format version 9; this version reads 1"),
    ],
)
def test_a_file_that_is_no_ledger_is_refused_with_the_reason(data: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(DamagedFile, match=sentence):
        load(tmp_path / "file")
