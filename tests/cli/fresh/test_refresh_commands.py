"""`centime plan` and `centime replay`, as people and programs see them."""

import json
from pathlib import Path
from typing import Any

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from tests.crawl.report.made import NOW
from tests.crawl.world import World, crawl


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of thirty pages, read every six hours for five days, changed every day."""
    path = tmp_path_factory.mktemp("refresh") / "crawl"
    world = World(pages=30)
    with crawl(path, **{"refresh-after": 1000.0, "delay": 0.0}) as opened:
        for round_number in range(20):
            now = NOW + 6 * 3600.0 * round_number
            world.version = 1 + round_number // 4
            for _ in range(15):
                opened.shard.record(now + 1, [world.visit(lease, now) for lease in opened.shard.lease(now, 50)])
        opened.close()
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(app, [*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found: dict[str, Any] = json.loads(captured.out)
    return found


def test_a_plan_is_shown_to_people_and_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "plan", str(folder), "--budget", "40/d", "--days", "3", "-n", "4")
    assert found["pages"] == 30
    assert len(found["next"]) == 4
    assert [row["per_day"] for row in found["budgets"]][-2] == pytest.approx(40)
    assert run(app, ["plan", str(folder), "--bandwidth", "1MB/day", "--alpha", "0.5", "--beta", "1"]) == 0
    assert "fresh in the long run" in capsys.readouterr().out


def test_policies_are_compared_for_people_and_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(
        capsys, "replay", str(folder), "--policy", "paper", "--policy", "uniform", "--rate", "40/d", "--days", "2"
    )
    assert [row["policy"] for row in found["policies"]] == ["uniform", "paper"]
    assert found["measured_days"] == pytest.approx(2.0)
    assert run(app, ["replay", str(folder), "--policy", "nutch", "--bandwidth", "1MB/day", "--seed", "3"]) == 0
    assert "steps of 20 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["plan", "--budget", "many"], "a rate is a number per second, minute, hour or day, such as 50/s, not 'many'"),
        (["plan", "--bandwidth", "much"], "a bandwidth is an amount per time, such as 500KB/s or 2GB/day, not 'much'"),
        (
            ["plan", "--budget", "1/s", "--bandwidth", "1MB/day"],
            "a budget is in pages or in bytes: give one of them",
        ),
        (["plan", "--days", "-1"], "the days of a plan must be above 0 and at most 36500, not -1"),
        (["plan", "--days", "1e300"], "the days of a plan must be above 0 and at most 36500, not 1e+300"),
        (["plan", "--alpha", "nan"], "alpha and beta are 0 to 1,000,000, and one of them is above 0, not nan and 1"),
        (["plan", "--budget", "1e300/s"], "a budget in pages is 1e-06 to 1e+09 per second, not 1e+300"),
        (["replay", "--rate", "1e300"], "a budget in pages is 1e-06 to 1e+09 per second, not 1e+300"),
        (["replay", "--seed", "-5"], "a seed is a number from 0 to 2^63 - 1, not -5"),
        (["replay", "--days", "nan"], "the days to measure must be above 0 and at most 36500, not nan"),
        (
            ["replay", "--policy", "best"],
            "unknown policy 'best'; the policies are uniform, paper, nutch, storm, optimal, oracle, or all",
        ),
        (["replay", "--days", "30"], "the history lasts 4.75 days; measure fewer days than that, not 30"),
        (["replay", "--rate", "1/s", "--bandwidth", "1MB/day"], "a budget is in pages or in bytes: give one of them"),
        (["replay", "--rate", "0/s"], "a budget in pages is 1e-06 to 1e+09 per second, not 0"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments: list[str], sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(app, [arguments[0], str(folder), *arguments[1:]]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("command", ["plan", "replay"])
def test_a_folder_without_a_crawl_is_refused(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(app, [command, str(tmp_path / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
