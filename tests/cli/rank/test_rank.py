import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pyarrow.parquet as pq
import pytest

import centime
from centime.cli.ending import run
from centime.cli.main import app
from centime.rank.pagerank import Method
from centime.rank.ranking import VectorName

LINKS = """\
source,target
http://a.org/,http://a.org/x
http://a.org/,http://b.org/
http://a.org/x,http://b.org/
http://b.org/,http://a.org/
http://b.org/,http://b.org/data.xml
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "links.csv"
    path.write_text(LINKS)
    return path


def rank(*arguments: object) -> int:
    return run(app, ["rank", *map(str, arguments)])


def scores_of(facts: dict[str, Any]) -> dict[str, float]:
    """The scores of the best pages; two of the graph are equal, so their order means nothing."""
    return {page["page"]: page["score"] for page in facts["top"]}


def test_people_get_the_facts_and_the_best_pages(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(graph, "--top", 2) == 0
    said = capsys.readouterr()
    lines = [line.split() for line in said.out.splitlines()]
    assert ["pages", "4"] in lines
    assert ["certified", "error"] in [line[:2] for line in lines]
    assert lines[-2][0] == "http://b.org/"
    assert lines[-1][0] in ("http://a.org/", "http://b.org/data.xml")  # they are equal
    assert said.err == ""


def test_json_has_the_facts_of_the_ranking(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(graph, "--json", "--error", "1e-10", "--top", 3) == 0
    facts = json.loads(capsys.readouterr().out)
    expected = centime.pagerank(graph, error=1e-10).facts(3)
    changing = ("seconds", "peak_memory_bytes", "reached")
    assert {name: facts[name] for name in facts if name not in changing} == {
        name: expected[name] for name in expected if name not in changing
    }
    assert set(facts["seconds"]) == {"read", "build", "solve"}


@pytest.mark.parametrize("vector", get_args(VectorName))
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_every_vector_is_written_to_a_table(
    vector: VectorName, suffix: str, graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bias = graph.with_name("xml.txt")
    bias.write_text("http://b.org/data.xml\n")
    output = graph.with_name(f"scores{suffix}")
    arguments = ["--bias", bias] if "interest" in vector else []
    assert rank(graph, "--vector", vector, "-o", output, "--top", 0, *arguments) == 0
    if suffix == ".csv":
        with output.open(newline="") as file:
            scores = {row["page"]: float(row["score"]) for row in csv.DictReader(file)}
    else:
        table = pq.read_table(output).to_pydict()
        scores = dict(zip(table["page"], table["score"], strict=True))
    assert len(scores) == 4
    assert sum(scores.values()) == pytest.approx(4)
    expected = centime.pagerank(graph, vector=vector, bias=bias if arguments else None)
    assert all(score == expected[page] for page, score in scores.items())


@pytest.mark.parametrize("method", get_args(Method))
def test_every_method_and_option_is_taken(method: str, graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(graph, "--method", method, "--damping", 0.5, "--threads", 2, "--normalise", "plain", "--json") == 0
    assert json.loads(capsys.readouterr().out)["method"] == ("push" if method == "auto" else method)
    assert rank(graph, "--stop-change", "1e-3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["method"] == "jacobi"
    assert rank(graph, "--stable-top", 2, "--by", "site", "--json") == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 2


def test_a_memory_cap_gives_the_same_and_leaves_nothing_but_what_was_asked_for(
    graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rank(graph, "--memory", "64MB", "--json", "-o", graph.with_name("capped.csv")) == 0
    capped = json.loads(capsys.readouterr().out)
    assert rank(graph, "--json", "-o", graph.with_name("free.csv")) == 0
    free = json.loads(capsys.readouterr().out)
    assert capped["method"] == "sliced"
    assert set(capped) == set(free)
    assert scores_of(capped) == pytest.approx(scores_of(free), abs=1e-6)
    assert sorted(path.name for path in graph.parent.iterdir()) == ["capped.csv", "free.csv", "links.csv"]
    assert rank(graph, "--memory", "64MB", "--work", graph.with_name("work"), "--top", 1) == 0
    assert graph.with_name("work").is_dir()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--damping", "1"], "damping must be at least 0 and below 1, not 1.0"),
        (["--damping", "nan"], "damping must be at least 0 and below 1, not nan"),
        (["--error", "0"], "the error must be a number above 0, not 0.0"),
        (["--method", "magic"], "unknown method 'magic'; the methods are auto"),
        (["--vector", "beauty"], "unknown vector 'beauty'; the vectors are importance"),
        (["--by", "planet"], "unknown kind of ranking 'planet'; the kinds are page"),
        (["--normalise", "max"], "unknown normalisation 'max'; the normalisations are mean"),
        (["--vector", "interest"], "interest needs a bias"),
        (["--vector", "hubs", "--stable-top", "3"], "hubs is an eigenvector"),
        (["--stable-top", "0"], "a stable top needs at least one page, not 0"),
        (["--threads", "0"], "the number of threads must be from 1 to 256, not 0"),
        (["--top", "-1"], "--top must be 0 or more, not -1"),
        (["--top", "many"], "Invalid value for '--top'"),
        (["--bias", "missing.txt"], "missing.txt: there is no such file"),
        (["--memory", "much"], "--memory needs a size like 400MB or 2GB, not 'much'"),
        (["--memory", "1MB"], "ranking needs at least 8 MB of memory"),
        (
            ["--memory", "64MB", "--damping", "0"],
            "damping must be at least 1e-06 and below 1 with a memory cap, not 0.0",
        ),
        (
            ["--memory", "64MB", "--by", "site"],
            "--by site does not work with --memory, which ranks importance or interest by page",
        ),
        (["--memory", "64MB", "--stop-change", "0.1"], "--stop-change 0.1 does not work with --memory"),
        (["--memory", "64MB", "--vector", "hubs"], "--vector hubs does not work with --memory"),
        (["--memory", "64MB", "--vector", "interest"], "interest needs a bias"),
        (["--memory", "64MB", "--normalise", "max"], "unknown normalisation 'max'; the normalisations are mean"),
        (["--memory", "64MB", "--bias", "missing.txt"], "missing.txt: there is no such file"),
        (["--work", "somewhere"], "--work needs --memory"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(
    arguments: list[str], sentence: str, graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rank(graph, "-o", graph.with_name("scores.csv"), *arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"centime: {sentence}")
    assert said.err.count("\n") == 1
    assert list(graph.parent.iterdir()) == [graph]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("no.csv", None, "there is no such file"),
        ("negative.tsv", "0\t1\t-2\n", "line 1"),
        ("nan.tsv", "0\t1\t2\n1\t0\tnan\n", "line 2"),
        ("empty.txt", "", "the file is empty"),
        ("late.txt", "0 1\n" * 100_000 + "0 one\n", "line 100001"),
        ("mislabelled.parquet", "0 1\n", "this is not a Parquet file"),
        ("links.xyz", "0 1\n", "not the name of a graph file"),
    ],
)
def test_a_file_that_is_no_graph_is_one_sentence_with_its_place(
    name: str, text: str | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    before = list(tmp_path.iterdir())
    for memory in ([], ["--memory", "64MB"], ["--memory", "64MB", "--work", tmp_path / "work"]):
        assert rank(tmp_path / name, "-o", tmp_path / "scores.csv", *memory) == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"centime: {tmp_path / name}")
        assert sentence in said.err
        assert said.err.count("\n") == 1
        assert list(tmp_path.iterdir()) == before


def test_an_output_that_cannot_be_is_said_before_the_graph_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("scores.json", "no/scores.csv"):
        assert rank(tmp_path / "missing.csv", "-o", tmp_path / name) == 2
        assert capsys.readouterr().err.startswith(f"centime: {tmp_path / name}: ")


def test_its_help_loads_nothing_heavy() -> None:
    code = "import sys; from centime.cli.main import app, run; run(app, ['rank', '--help']); print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not {"numpy", "numba", "pyarrow", "matplotlib"} & loaded


@pytest.mark.parametrize("memory", [[], ["--memory", "8MB"]])
def test_pages_keep_the_numbers_that_the_file_gives_them(
    memory: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "links.txt"
    path.write_text("1 3\n2 3\n3 1\n")
    assert rank(path, "--json", "--top", 1, "-o", tmp_path / "scores.csv", *memory) == 0
    assert json.loads(capsys.readouterr().out)["top"][0]["page"] == 3
    with (tmp_path / "scores.csv").open() as file:
        assert [row["page"] for row in csv.DictReader(file)] == ["1", "2", "3"]
    (tmp_path / "bias.txt").write_text("2\n")
    assert rank(path, "--json", "--top", 3, "--bias", tmp_path / "bias.txt") == 0
    assert 2 in [page["page"] for page in json.loads(capsys.readouterr().out)["top"]]
    assert run(app, ["explain", str(path), "4", "--json"]) == 2
    assert run(app, ["explain", str(path), "3", "--json"]) == 0


def test_a_memory_cap_takes_a_bias_by_name_and_interest(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bias = graph.with_name("xml.txt")
    bias.write_text("http://b.org/data.xml\n")
    for vector in ("importance", "interest"):
        options = ["--vector", vector, "--bias", bias, "--normalise", "sum", "--json", "--error", "1e-10"]
        assert rank(graph, *options) == 0
        free = json.loads(capsys.readouterr().out)
        assert rank(graph, *options, "--memory", "64MB") == 0
        capped = json.loads(capsys.readouterr().out)
        assert capped["vector"] == vector
        assert capped["dangling"] == free["dangling"]
        assert [page["page"] for page in capped["top"]] == [page["page"] for page in free["top"]]
        assert [page["score"] for page in capped["top"]] == pytest.approx(
            [page["score"] for page in free["top"]], abs=1e-9
        )


def test_scores_never_replace_the_graph(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = graph.read_bytes()
    assert rank(graph, "-o", graph) == 2
    assert "would replace the graph" in capsys.readouterr().err
    assert graph.read_bytes() == before


def test_an_error_that_is_not_reached_is_a_problem_and_says_so(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(graph, "--error", "1e-30", "--json") == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["reached"] is False
    assert "1e-30" in said.err


def test_the_spread_of_scores_becomes_a_picture(graph: Path, tmp_path: Path) -> None:
    assert rank(graph, "--figure", tmp_path / "spread.png") == 0
    assert (tmp_path / "spread.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "folder.png").mkdir()
    for wrong in (["spread.jpg"], ["no/spread.png"], ["folder.png"], ["other.png", "--memory", "64MB"]):
        assert rank(graph, "--figure", tmp_path / wrong[0], *wrong[1:], "-o", tmp_path / "scores.csv") == 2
    assert not (tmp_path / "scores.csv").exists()


@pytest.mark.parametrize("method", ["bsp", "chaotic"])
def test_a_ranking_on_a_cluster_says_what_was_exchanged(
    method: str, graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(app, ["rank", str(graph), "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    scores = tmp_path / "scores.csv"
    words = ["--cluster", "local:2", "--method", method, "--json", "-o", str(scores)]
    assert run(app, ["rank", str(graph), *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert scores_of(found) == pytest.approx(scores_of(alone))
    assert found["workers"] == 2
    assert found["exchanged_bytes"] > found["boundary_values"] > 0
    assert len(scores.read_text().splitlines()) == 1 + found["pages"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cluster", "10.0.0.1"], "ADDRESS:PORT of the head of a cluster, not '10.0.0.1'"),
        (["--cluster", "local:2", "--by", "site"], "--by does not work with --cluster"),
        (["--cluster", "local:2", "--threads", "2"], "--threads does not work with --cluster"),
        (["--cluster", "local:2", "--method", "push"], "bsp or chaotic"),
        (["--method", "bsp"], "bsp"),
    ],
)
def test_what_a_cluster_does_not_rank_is_refused(
    words: list[str], said: str, graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(app, ["rank", str(graph), *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
