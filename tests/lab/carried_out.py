"""An experiment carried out through the command line, as a person would, and what it must leave behind."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from centime.cli.ending import run
from centime.cli.main import app

PAGES = 2000


def carried_out(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], *more: str, pages: int = PAGES
) -> dict[str, Any]:
    """The JSON object of an experiment on a small web, after a check of its files."""
    assert run(app, ["lab", name, "--pages", str(pages), "--out", str(folder), "--json", *more]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    found: dict[str, Any] = json.loads(said.out)
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.csv", f"{name}.json", f"{name}.png"]
    assert json.loads((folder / f"{name}.json").read_text()) == found
    picture = (folder / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert f'"experiment": "{name}"'.encode() in picture
    with (folder / f"{name}.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0])[: len(found["settings"]) + 1] == ["experiment", *found["settings"]]
    assert len(table) == len(found["results"])
    assert {row["seed"] for row in table} == {str(found["settings"]["seed"])}
    assert {"graph", "pages", "links", "seed", "damping"} <= set(found["settings"])
    assert {"centime", "python", "numpy", "numba", "matplotlib"} == set(found["versions"])
    return found


def by_column(found: dict[str, Any]) -> dict[str, list[float]]:
    """The main table, column by column."""
    return {name: [row[name] for row in found["table"]] for name in found["table"][0]}
