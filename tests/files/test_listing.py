"""Listing folders: what cannot be listed is said."""

import os
from pathlib import Path

import pytest

from centime.files.listing import files_below, list_files, list_folder
from centime.model.errors import DamagedFile


def test_a_folder_is_listed_in_the_order_of_names_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    for name in ("b.log", "a.log", ".c.log", "d.bin"):
        (tmp_path / name).touch()
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "f.log").touch()
    assert [path.name for path in list_folder(tmp_path, "*.log")] == [".c.log", "a.log", "b.log"]
    assert [path.name for path in list_files(tmp_path, "[!.]*.log")] == ["a.log", "b.log"]
    assert {path.name for path in files_below(tmp_path)} == {".c.log", "a.log", "b.log", "d.bin", "f.log"}
    assert list_folder(tmp_path / "missing") == list_files(tmp_path / "missing") == []


def test_a_file_in_the_place_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DamagedFile, match="file: this is not a folder"):
        list_folder(tmp_path / "file")


def test_what_is_not_a_file_is_said_but_a_link_to_a_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "real.log").touch()
    (tmp_path / "link.log").symlink_to(tmp_path / "real.log")
    assert len(list_files(tmp_path)) == 2
    (tmp_path / "real.log").unlink()
    with pytest.raises(DamagedFile, match=r"link\.log: this is a link that leads nowhere, not a file"):
        list_files(tmp_path)
    (tmp_path / "loop.log").symlink_to("loop.log")
    with pytest.raises(DamagedFile, match=r"loop\.log: this is a link that leads nowhere, not a file"):
        list_files(tmp_path, "loop*")


def test_a_folder_that_may_not_be_read_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refused)
    for listing in (list_folder, list_files, files_below):
        with pytest.raises(PermissionError) as caught:
            listing(tmp_path)
        assert caught.value.filename == str(tmp_path)
