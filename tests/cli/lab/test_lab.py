import json
from pathlib import Path

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from centime.lab.catalogue import CATALOGUE
from centime.lab.experiment import Experiment, experiment_named


def lab(*arguments: str) -> int:
    return run(app, ["lab", *arguments])


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_name_of_the_catalogue_is_an_experiment(name: str) -> None:
    assert isinstance(experiment_named(name), Experiment)


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert lab("--list") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(CATALOGUE)


@pytest.mark.long
def test_people_get_a_table_and_the_places_of_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab("convergence", "--pages", "200", "--out", str(tmp_path / "new" / "folder")) == 0
    said = capsys.readouterr()
    assert "mean relative error, percent" in said.out
    assert str(tmp_path / "new" / "folder" / "convergence.png") in said.out
    assert said.err == ""


@pytest.mark.long
@pytest.mark.parametrize("name", ["convergence", "greedy-cash", "growth"])
def test_the_same_seed_gives_the_same_results_and_another_seed_others(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for seed in ("3", "3", "4"):
        assert lab(name, "--pages", "150", "--seed", seed, "--out", str(tmp_path), "--json") == 0
        found.append(json.loads(capsys.readouterr().out))
        del found[-1]["seconds"]
    assert found[0] == found[1]
    assert found[0]["results"] != found[2]["results"]


def test_a_graph_file_has_its_own_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring = tmp_path / "ring.txt"
    ring.write_text("".join(f"{page} {(page + 1) % 150}\n" for page in range(150)))
    assert lab("convergence", "--graph", str(ring), "--out", str(tmp_path / "out"), "--json") == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["pages"], settings["links"], settings["graph"]) == (150, 150, str(ring))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fusion"], "unknown experiment 'fusion'; the experiments are convergence, convergence-top, "),
        (["growth", "--pages", "99"], "an experiment needs 100 pages or more, not 99"),
        (["growth", "--pages", "-5"], "an experiment needs 100 pages or more, not -5"),
        (["growth", "--seed", "-1"], "the seed must be a whole number from 0 to 4294967295, not -1"),
        (
            ["growth", "--graph", "cobweb"],
            "unknown graph model 'cobweb'; the models are poisson, power-law, weblike, or give a graph file",
        ),
        (["growth", "--graph", "missing.txt"], "missing.txt: there is no such file"),
        (["all", "--pages", "many"], "Invalid value for '--pages'"),
        ([], "Missing argument 'NAME'"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab(*arguments, "--out", str(tmp_path)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"centime: {sentence}")
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_graph_file_of_few_pages_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.txt").write_text("0 1\n1 0\n")
    assert lab("growth", "--graph", str(tmp_path / "small.txt"), "--out", str(tmp_path / "out")) == 2
    assert (
        capsys.readouterr().err
        == f"centime: {tmp_path}/small.txt: an experiment needs 100 pages or more, this graph has 2\n"
    )


def test_a_folder_that_cannot_be_written_to_is_said_before_the_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert lab("all", "--out", str(tmp_path / "file")) == 2
    assert capsys.readouterr().err.startswith(f"centime: {tmp_path}/file: the folder is not writable (")
