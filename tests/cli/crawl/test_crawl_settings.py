"""Settings of `centime crawl` that are remembered: taken back with a word, and never kept or used if they are of
another type."""

import json
from pathlib import Path
from typing import Any

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from centime.store.folder import CrawlFolder, read_about
from tests.crawl.world import crawl
from tests.settings.test_reading import WRONG

# One wrong value of each setting, another one for each: `tests/settings` tries all of them, commands only hand them on.
NAMES = sorted({name for name, _ in WRONG})
WRONG_ONES = [
    choice[number % len(choice)]
    for number, name in enumerate(NAMES)
    for choice in [[pair for pair in WRONG if pair[0] == name]]
]
SEED = "http://127.0.0.1:9/"  # not public, so that a crawl of it ends at once


def said(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    assert run(app, [*map(str, arguments)]) == code
    sentence = capsys.readouterr().err
    assert code != 2 or sentence.count("\n") == 1
    return sentence


def kept(folder: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((folder / "centime.json").read_text())["settings"]
    return settings


def toml(value: object) -> str:
    match value:
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + "}"
        case _:
            return json.dumps(value) if isinstance(value, bool | str) else repr(value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl with a limit of every kind."""
    limits = {"rate": 5, "bandwidth": 9e6, "max-depth": 3, "refresh-after": 2, "address-delay": 0.5} | {
        "most-pages": 9,
        "most-memory": 2**31,
    }
    with crawl(tmp_path / "c", **limits, exclude=["x"], ban=["b.example"]) as opened:
        opened.close()
    return tmp_path / "c"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of which nothing is changed but its settings."""
    path = tmp_path_factory.mktemp("settings") / "c"
    with crawl(path) as opened:
        opened.close()
    return path


BACK: dict[str, Any] = dict.fromkeys(
    ("rate", "bandwidth", "max-depth", "refresh-after", "address-delay", "most-pages", "most-memory")
) | {
    "exclude": [],
    "ban": [],
}


def test_options_take_back_what_is_remembered(folder: Path) -> None:
    words = [word for name in BACK for word in (f"--{name}", "none")]
    assert run(app, ["crawl", str(folder), *words, "--for", "0", "--workers", "1", "--json"]) == 0
    assert kept(folder).items() >= BACK.items()


@pytest.mark.parametrize("nothing", ["none", []])
def test_a_file_takes_back_what_is_remembered(folder: Path, nothing: object) -> None:
    config = folder.parent / "c.toml"
    config.write_text("".join(f"{name} = {toml(nothing if BACK[name] == [] else 'none')}\n" for name in BACK))
    assert run(app, ["crawl", str(folder), "--config", str(config), "--for", "0", "--workers", "1", "--json"]) == 0
    assert kept(folder).items() >= BACK.items()


def test_a_crawl_that_refreshes_becomes_continuous_and_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--for", "0", "--workers", "1", "--json"]
    assert "give one of them" in said(capsys, 2, "crawl", folder, "--continuous", "--refresh-after", "2s", *short)
    assert run(app, ["crawl", str(folder), "--continuous", "--rate", "10/s", *short]) == 0
    assert (kept(folder)["continuous"], kept(folder)["refresh-after"]) == (True, None)
    assert run(app, ["crawl", str(folder), "--refresh-after", "1d", *short]) == 0
    assert (kept(folder)["continuous"], kept(folder)["refresh-after"]) == (False, 86_400)


def test_types_of_files_are_remembered_as_suffixes_and_words_that_are_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = said(capsys, 2, "crawl", tmp_path / "c", SEED, "--also", "pdf,no suffix")
    assert "'no suffix' is none of them" in refusal
    assert "did you mean images?" in said(capsys, 2, "crawl", tmp_path / "c", SEED, "--also", "image")
    assert not (tmp_path / "c").exists()
    taken = said(capsys, 1, "crawl", tmp_path / "d", SEED, "--also", "pdf,qwe")
    assert "--also: treated as suffixes of files, which pages may have: qwe; kinds of files are images" in taken
    said(capsys, 1, "crawl", tmp_path / "c", SEED, "--also", "PDF,.css", "--also", "images", "--requisites")
    assert kept(tmp_path / "c")["also"] == ["pdf", "css", "images"]
    assert kept(tmp_path / "c")["requisites"] is True
    said(capsys, 1, "crawl", tmp_path / "c", "--also", "none", "--no-requisites")
    assert kept(tmp_path / "c")["also"] == []


def test_a_depth_that_is_no_number_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("deep", "1.5", "²"):
        assert "max-depth is a whole number from 0 to 1000000 or none, not" in said(
            capsys, 2, "crawl", tmp_path / "c", SEED, "--max-depth", word
        )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(("name", "value"), [pair for pair in WRONG_ONES if pair[0] != "seeds"])
def test_a_file_with_a_value_of_another_type_is_refused_and_nothing_is_kept(
    name: str, value: object, plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text(f"{name} = {toml(value)}\n")
    before = (plain / "centime.json").read_bytes()
    for folder, seeds in ((tmp_path / "new", [SEED]), (plain, [])):
        sentence = said(capsys, 2, "crawl", folder, *seeds, "--config", config)
        assert sentence.startswith(f"centime: {config}: {name}")
        assert sentence.endswith(f"not {value!r}\n")
    assert not (tmp_path / "new").exists()
    assert (plain / "centime.json").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value"), [("pages", True), ("pages", 1.5), ("pages", "2"), ("for", True), ("for", [1]), ("seeds", True)]
)
def test_the_limits_of_a_run_are_held_to_their_types_too(
    name: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text(f"{name} = {toml(value)}\n")
    sentence = said(capsys, 2, "crawl", tmp_path / "c", SEED, "--config", config)
    assert name in sentence
    assert sentence.endswith(f"not {value!r}\n")
    assert not (tmp_path / "c").exists()


def test_a_number_with_too_many_digits_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.toml"
    for name, digits in (("workers", 5000), ("delay", 400), ("discovery", 400), ("most-page-bytes", 400)):
        config.write_text(f"{name} = {'9' * digits}\n")
        said(capsys, 2, "crawl", tmp_path / "c", SEED, "--config", config)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(("name", "value"), [*WRONG_ONES, ("workers", None), ("max-depth", 1.5)])
def test_a_folder_that_holds_a_value_of_another_type_is_one_sentence(
    name: str, value: object, plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = read_about(plain)
    folder = CrawlFolder(plain, about.created, about.settings, about.identity)
    folder.keep_settings({**about.settings, name: value})
    held = (plain / "centime.json").read_bytes()
    try:
        for command in (["crawl", plain], ["stats", plain], ["set", plain, "rate=none"]):
            sentence = said(capsys, 2, *command)
            assert sentence.startswith(f"centime: {plain}: {name}")
            assert sentence.endswith(f"not {value!r}\n")
        assert (plain / "centime.json").read_bytes() == held
    finally:
        folder.keep_settings(about.settings)
