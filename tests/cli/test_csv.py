"""`--csv`: every command that prints rows writes them as CSV, the same rows as with --json."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer.main

from centime.cli.ending import run
from centime.cli.main import app
from tests.crawl.search.made import Library

ONE, TWO, FEED, GONE = "http://a.example/one", "http://b.example/two", "http://a.example/feed.xml", "http://a.example/x"
PAGES: dict[str, str | bytes | tuple[str, bytes | None]] = {
    ONE: f"<title>=SUM(1)</title><p>Tea at eight. <a href='{TWO}'>Two</a>",
    TWO: f"<p>Only tea. <a href='{ONE}'>One</a>",
    FEED: ("text/xml", b"<list><item>tea</item></list>"),
    GONE: ("text/html", None),
}
# of each command: what is typed after the folder, and the name of its rows in --json; none if its rows are its facts
COMMANDS: dict[str, tuple[list[str], str]] = {
    "top": ([], "top"),
    "select": ([], "proposals"),
    "page": ([ONE], "visits"),
    "hosts": ([], "top"),
    "stats": ([], ""),
    "refused": ([], "urls"),
    "bodies": ([ONE, "--list"], "captures"),
    "versions": ([ONE], "versions"),
    "documents": ([], "list"),
    "query": (["//p"], "results"),
    "search": (["tea"], "pages"),
    "plan": ([], "next"),
    "changes": ([], "changes"),
    "subscribe": (["--list"], "subscriptions"),
    "replay": (["--rate", "10/d", "--policy", "uniform"], "policies"),
    "check": ([], "problems"),
    "prune": ([], ""),
    "rank": ([], "top"),
    "energy": (["--by", "site"], "communities"),
    "explain": ([ONE], "sources"),
    "whatif": (["--remove", "LINKS"], "gains_and_losses"),
    "promotion": ([], "communities"),
    "sensitivity": ([], "moves"),
}
# These print no rows of their own: what crawl, demo and watch show at their end is in top and changes, lab writes a
# file of CSV for each experiment, and export is CSV itself.
WITHOUT = {"crawl", "set", "repair", "upgrade", "export", "text", "diff", "index", "watch", "publish"}
WITHOUT |= {"convert", "demo", "webbox", "lab", "serve", "import", "cluster"}
OF_THE_TIME = {"due", "ready", "host_ready", "why", "next_time"}  # differ between two calls
EMPTY = {"check", "documents", "promotion", "refused"}  # have no rows in the crawl below


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("csv")
    (place / "links.txt").write_text(f"http://a.example/ {ONE}\n")
    with closing(Library(place / "crawl", PAGES)) as library:
        library.round({ONE: "<p>Tea at nine."})
        assert run(app, ["subscribe", str(library.folder), ".", "--to", f"file:{place / 'told'}"]) == 0
        assert run(app, ["index", str(library.folder)]) == 0
        yield library.folder


def told(folder: Path, command: str, form: str, capsys: pytest.CaptureFixture[str]) -> str:
    more = [str(folder.parent / "links.txt") if word == "LINKS" else word for word in COMMANDS[command][0]]
    assert run(app, [command, str(folder), *more, form]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_rows_are_those_of_json_and_numbers_are_not_rounded(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    report: dict[str, Any] = json.loads(told(folder, command, "--json", capsys))
    text = told(folder, command, "--csv", capsys)
    name = COMMANDS[command][1]
    expected = report[name] if name else [{"name": key} for key in report]
    if command in EMPTY:
        heading = "part,file,what\n" if command == "check" else ""
        assert (expected in ("none", []), text) == (True, heading)
        return
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        for column in (row.keys() & wanted.keys()) - OF_THE_TIME:
            if isinstance(wanted[column], str):
                assert row[column].removeprefix("'") == wanted[column].removeprefix("'")
            elif column == "importance":
                assert float(row[column]) == wanted[column]
    assert "\r" not in text


def test_a_list_of_no_subscriptions_has_the_heading_of_one_of_some(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Library(tmp_path / "crawl", {ONE: "<p>Tea."})) as library:
        capsys.readouterr()
        assert run(app, ["subscribe", str(library.folder), "--list", "--csv"]) == 0
    heading = capsys.readouterr().out
    assert run(app, ["subscribe", str(folder), "--list", "--csv"]) == 0
    assert capsys.readouterr().out.partition("\n")[0] + "\n" == heading


def test_every_command_prints_rows_as_csv_or_is_known_to_have_none() -> None:
    program: Any = typer.main.get_command(app)
    having = {
        name
        for name, command in program.commands.items()
        if any("--csv" in parameter.opts for parameter in command.params)
    }
    assert having == set(COMMANDS) | {"cluster"}  # whose nodes are processes: tests/cli/crawl/test_cluster.py
    assert having | WITHOUT == set(program.commands)


@pytest.mark.parametrize(
    "words",
    [["top", "--json", "--csv"], ["subscribe", "p", "--csv"], ["bodies", ONE, "--csv"], ["changes", "--atom", "--csv"]],
)
def test_two_forms_at_once_are_wrong_usage(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(app, [words[0], str(folder), *words[1:]]) == 2
    assert "--csv" in capsys.readouterr().err
