"""The tutorials run as they are written, on the webbox, and leave what they promise."""

import json
import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from centime.cli.main import app
from centime.lab.webbox import WebBox, serve_in_process
from tests.test_documents import PROJECT, shell_commands

TUTORIALS = sorted((PROJECT / "docs/tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(console|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("replay/bin/", "python3 -m venv")  # what is not ours is not installed here

pytestmark = [pytest.mark.slow, pytest.mark.long]


def blocks(tutorial: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(tutorial.read_text())


def typed(block: str) -> list[str]:
    """The commands of a block, continued lines as one."""
    return [line.replace("\\\n", " ") for line in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)]


def run(line: str) -> str:
    """What a command of a tutorial writes."""
    (words,) = shell_commands(line) if line.startswith("centime ") else ([],)
    if not words:
        return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
    done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    assert done.exit_code == 0, f"{line}: {done.output}"
    return done.output


def box_of(lines: list[str]) -> WebBox | None:
    """The web that a tutorial starts, if it does."""
    for line in lines:
        if line.startswith("centime webbox"):
            given = dict(re.findall(r"--(hosts|pages|speed) (\d+)", line))
            return WebBox(hosts=int(given["hosts"]), pages=int(given["pages"]), speed=float(given.get("speed", 1)))
    return None


def follow(tutorial: Path) -> dict[str, str]:
    """Does what a tutorial says, in this folder; what each command wrote."""
    found = blocks(tutorial)
    box = box_of([line for kind, block in found if kind == "console" for line in typed(block)])
    if box is None:
        return carry_out(found, "8800")
    with serve_in_process(box) as served:
        return carry_out(found, str(served.port))


def carry_out(found: list[tuple[str, str]], port: str) -> dict[str, str]:
    said: dict[str, str] = {}
    for kind, block in found:
        if kind == "console":
            for line in typed(block):
                if not line.startswith(("centime webbox", *ELSEWHERE)):
                    said[line] = run(line.replace(":8800/", f":{port}/"))
        else:
            with redirect_stdout(StringIO()) as output:
                exec(block, {})
            said["py"] = output.getvalue()
    return said


def archive(said: dict[str, str]) -> None:
    kept = set(Path("keep.txt").read_text().split())
    with zipfile.ZipFile("library.wacz") as packed:
        pages = [json.loads(line) for line in packed.read("pages/pages.jsonl").splitlines()[1:]]
    assert 2 <= len(kept) < 30
    assert len(pages) > 50
    assert {re.split("[/:]+", page["url"])[1] for page in pages} <= kept


def corpus(said: dict[str, str]) -> None:
    texts = [json.loads(line) for line in Path("corpus.jsonl").read_text().splitlines()]
    assert len(texts) > 100
    assert {"url", "title", "text", "language", "importance", "changed", "seen", "links"} <= set(texts[0])
    told = [json.loads(line) for line in Path("changed.jsonl").read_text().splitlines()]
    assert told


def papers(said: dict[str, str]) -> None:
    made = {path.name for path in Path("figures").iterdir()}
    for name in ("convergence", "greedy-cash"):
        assert {f"{name}.csv", f"{name}.json", f"{name}.png"} <= made


def links(said: dict[str, str]) -> None:
    told = said["py"].splitlines()
    assert [line.partition(":")[0] for line in told] == [
        "titles used twice",
        "most linked",
        "pages that nothing links to, known from sitemaps and feeds",
    ]
    assert "http://site0.localhost" in told[1]


LEAVES: dict[str, Callable[[dict[str, str]], Any]] = {
    "archive": archive,
    "corpus": corpus,
    "links": links,
    "papers": papers,
}


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_as_it_is_written(tutorial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{PROJECT / '.venv/bin'}{os.pathsep}{os.environ['PATH']}")
    LEAVES[tutorial.stem](follow(tutorial))
