"""A crawl folder is its user's own if this user created or confirmed it on this machine, and nobody else's."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from centime.store.folder import CrawlFolder
from centime.store.ownership import foreign, sign


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the secret is kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/centime"


def created(path: Path) -> int:
    folder = CrawlFolder.create(path, 1.0, {})
    folder.close()
    return folder.identity


def opened(path: Path) -> str:
    folder = CrawlFolder.open(path, writable=True)
    folder.close()
    return folder.foreign


def test_a_crawl_that_this_user_created_is_own_also_after_it_was_renamed(state: Path, tmp_path: Path) -> None:
    created(tmp_path / "a")
    assert opened(tmp_path / "a") == ""
    (tmp_path / "a").rename(tmp_path / "b")
    assert opened(tmp_path / "b") == ""
    assert stat.S_IMODE((state / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert [path.name for path in state.iterdir()] == ["secret"]


def test_a_copy_and_a_crawl_of_another_user_or_machine_are_foreign_until_they_are_trusted(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "copy")  # as tar and cp do: with this user as the owner of the files
    assert "not created by you" in opened(tmp_path / "copy")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert "cannot be used: No such file" in opened(tmp_path / "a")
    created(tmp_path / "mine")
    assert "not created by you" in opened(tmp_path / "a")
    folder = CrawlFolder.open(tmp_path / "a", writable=True)
    assert folder.trust() == ""
    assert folder.foreign == ""
    folder.close()
    assert opened(tmp_path / "a") == ""


def test_a_signature_of_another_crawl_is_worth_nothing(state: Path, tmp_path: Path) -> None:
    created(tmp_path / "a")
    created(tmp_path / "b")
    shutil.copyfile(tmp_path / "a/owner", tmp_path / "b/owner")
    assert opened(tmp_path / "b")
    (tmp_path / "b/owner").unlink()
    assert opened(tmp_path / "b")


def homeless() -> Path:
    raise RuntimeError


def test_without_a_place_for_the_secret_a_crawl_is_created_and_foreign_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    folder = CrawlFolder.create(tmp_path / "a", 1.0, {})
    folder.close()
    assert folder.foreign == ""
    assert "Not a directory" in opened(tmp_path / "a")
    assert "File exists" in sign(tmp_path / "a", folder.identity)
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    monkeypatch.setattr(Path, "home", homeless)
    assert "no home directory" in opened(tmp_path / "a")


def test_the_home_directory_holds_the_secret_if_nothing_else_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    created(tmp_path / "a")
    assert (tmp_path / ".local/state/centime/secret").is_file()
    assert opened(tmp_path / "a") == ""


@pytest.mark.parametrize("harm", ["readable", "short", "link"])
def test_a_secret_that_others_could_know_is_not_used(state: Path, tmp_path: Path, harm: str) -> None:
    identity = created(tmp_path / "a")
    secret = state / "secret"
    if harm == "readable":
        secret.chmod(0o640)
    elif harm == "short":
        secret.write_bytes(b"short")
    else:
        secret.rename(state / "elsewhere")
        secret.symlink_to(state / "elsewhere")
    assert str(secret) in foreign(tmp_path / "a", identity)


def test_whatever_the_umask_only_the_owner_can_read_a_new_crawl(state: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        created(tmp_path / "a")
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "a", *(tmp_path / "a").rglob("*")]}
    assert {path: mode for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}
