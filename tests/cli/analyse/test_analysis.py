"""The commands of analysis: what they find, what they refuse, and what docs/analysis.md says of them."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from centime.cli.ending import run
from centime.cli.main import app
from centime.lab.synthetic.graphs import weblike

DOCUMENT = (Path(__file__).parents[3] / "docs/analysis.md").read_text()
LINKS = re.findall(r"^```text\n(http.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The graph of the document, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in zip(["web.txt", "add.txt", "remove.txt"], LINKS, strict=True):
        Path(name).write_text(text)
    return Path("web.txt")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON of a command."""
    assert run(app, [*arguments, "--json"]) == 0
    printed, complaints = capsys.readouterr()
    assert complaints == ""
    found: dict[str, Any] = json.loads(printed)
    return found


@pytest.mark.long
def test_every_command_of_the_document_runs_and_prints_what_it_shows(
    web: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = re.findall(r"^\$ centime (.+)$", DOCUMENT, re.MULTILINE)
    assert len(commands) == 4
    printed = []
    for command in commands:
        assert run(app, command.split()) == 0
        printed += [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    shown = [
        line
        for block in re.findall(r"^```console\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    unsteady = re.compile(r"error|seconds|e-\d\d|^\.\.\.$|^\$|not followed|links followed")
    missing = [line for line in shown if not unsteady.search(line) and " ".join(line.split()) not in printed]
    assert missing == []


def test_energy_balances_communities_and_draws_them(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choices = ["--community", "Library=host:library.example", "--community", "Shop=domain:shop.example"]
    found = answer(capsys, "energy", str(web), *choices, "--figure", "flow.png")
    library, shop = found["communities"]
    assert (library["name"], library["pages"], shop["pages"]) == ("Library", 4, 3)
    balance = library["pages"] + library["received"] - library["spread"] - library["lost"]
    assert library["energy"] == pytest.approx(balance, abs=1e-6)
    assert library["residual"] == pytest.approx(0, abs=found["certified_error"])
    assert library["internal"] + library["external"] == pytest.approx(library["energy"])
    assert [source["page"] for source in library["sources"]] == ["http://town.example/", "http://town.example/news"]
    assert library["leaks"][0]["why"] == "dangles"
    assert {advice["rule"] for advice in library["advice"]} == {"link back", "move links", "split"}
    assert {(flow["from"], flow["to"]) for flow in found["flows"]} >= {
        ("rest of the web", "Library"),
        ("Shop", "rest of the web"),
    }
    assert Path("flow.png").read_bytes().startswith(b"\x89PNG")


def test_energy_by_site_takes_every_site_and_tells_sources_by_site(
    web: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites = answer(capsys, "energy", str(web), "--by", "site", "--figure", "sites.png")["communities"]
    assert [site["name"] for site in sites] == ["library.example", "shop.example", "town.example"]
    found = answer(capsys, "energy", str(web), "--community", "Library=host:library.example", "--by", "site")
    [library] = found["communities"]
    assert library["sources"] == [{"site": "town.example", "brought": pytest.approx(library["received"])}]
    assert library["leaks"] == [{"site": "town.example", "leaks": pytest.approx(library["spread"])}]


def test_energy_of_communities_that_overlap_has_no_flows(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choices = ["--community", "All=pattern:.", "--community", "Shop=host:shop.example"]
    found = answer(capsys, "energy", str(web), *choices)
    assert (found["flows"], found["communities"][0]["received"]) == ([], 0.0)
    assert (found["shared_pages"], found["scale"]) == (3, "plain")
    assert run(app, ["energy", str(web), *choices]) == 0
    assert re.search(r"^flows +none: communities share pages", capsys.readouterr().out, re.MULTILINE)
    assert run(app, ["energy", str(web), *choices, "--figure", "flow.png"]) == 2
    assert "communities All and Shop share 3 pages" in capsys.readouterr().err
    assert not Path("flow.png").exists()


def test_energy_says_how_many_sites_its_table_and_its_figure_leave_out(
    web: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("centime.cli.analyse.energy.MOST_SITES_DRAWN", 2)
    found = answer(capsys, "energy", str(web), "--by", "site", "--top", "1", "--figure", "flow.png")
    assert (found["sites_shown"], found["sites_drawn"], len(found["communities"])) == (1, 2, 1)
    assert found["sites"] == len(answer(capsys, "energy", str(web), "--by", "site", "--top", "99")["communities"]) > 2


@pytest.mark.parametrize(
    "command",
    [["energy", "--by", "site"], ["explain", "http://library.example/"], ["whatif", "--add", "add.txt"]],
)
def test_the_error_of_the_scores_can_be_given(
    web: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    name, *others = command
    coarse = answer(capsys, name, str(web), *others, "--error", "0.1")["certified_error"]
    fine = answer(capsys, name, str(web), *others, "--error", "1e-12")["certified_error"]
    assert fine < 1e-9 < coarse


def test_whatif_tells_who_gains_and_keeps_to_the_bound(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "whatif", str(web), "--add", "add.txt", "--remove", "remove.txt")
    assert found["change"] <= found["bound_of_theorem_5_3"] <= found["coarse_bound"]
    assert found["change_error"] < 1e-4
    first = found["gains_and_losses"][0]
    assert first["after"] - first["before"] == pytest.approx(first["gained"])
    gained = sum(row["gained"] for row in found["gains_and_losses"])
    changed = Path("web.txt").read_text().replace(Path("remove.txt").read_text(), "") + Path("add.txt").read_text()
    Path("changed.txt").write_text(changed)
    after = answer(capsys, "explain", "changed.txt", "http://library.example/books")
    assert after["energy"] - found["energy"] == pytest.approx(gained, abs=1e-4)
    row = next(row for row in found["gains_and_losses"] if row["page"] == "http://library.example/books")
    assert (row["after"], row["rank_after"]) == (pytest.approx(after["score"], abs=1e-4), after["rank"])


def test_explain_adds_up_to_the_score(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "explain", str(web), "http://library.example/", "--top", "99")
    assert found["default"] + sum(row["brought"] for row in found["sources"]) == pytest.approx(found["score"])
    assert found["internal"] + found["external"] == pytest.approx(found["score"])
    assert sum(row["brought"] for row in found["distances"]) + found["not_followed"] == pytest.approx(found["score"])
    assert found["community"] == "host:library.example"
    other = answer(capsys, "explain", str(web), "http://library.example/", "--community", "All=pattern:.")
    assert (other["community"], other["external"]) == ("All", pytest.approx(0, abs=1e-6))


def test_sensitivity_tells_taus_moves_and_crossings(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "sensitivity", str(web), "--damping", "0.77")
    assert [row["damping"] for row in found["dampings"]] == [
        0.5,
        0.55,
        0.6,
        0.65,
        0.7,
        0.75,
        0.77,
        0.8,
        0.85,
        0.9,
        0.95,
    ]
    assert next(row for row in found["dampings"] if row["damping"] == 0.77)["kendall_tau"] == 1.0
    assert {"damping", "better_above", "better_below"} == set(found["crossings"][0])
    assert found["moves"][0]["page"].startswith("http://")


def test_promotion_finds_what_is_planted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = weblike(5000, 0)
    ones = np.ones(graph.links, dtype=np.int8)
    path = tmp_path / "web.npz"
    scipy.sparse.save_npz(
        path, scipy.sparse.csr_matrix((ones, graph.targets, graph.offsets), shape=(graph.pages, graph.pages))
    )
    found = answer(capsys, "promotion", str(path), "--plant", "5", "--seed", "1")
    [planting] = found["planting"]
    assert planting["planted"] == 5
    assert planting["recall"] >= 0.8
    assert found["found"] == planting["found"]
    assert found["communities"][0]["among_them"][0].startswith("planted ")
    around = answer(capsys, "explain", str(path), "0")
    assert around["community"] == "cluster:0"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["energy", "web.txt"],
            "give a community, as in --community Library=host:library.example.org, or use --by site for every site",
        ),
        (["energy", "web.txt", "--community", "x"], "a community is NAME=FILE"),
        (
            ["energy", "web.txt", "--by", "site", "--figure", "flow.jpg"],
            "flow.jpg: the name of a figure must end in .png",
        ),
        (
            ["energy", "web.txt", "--by", "site", "--figure", "no/flow.png"],
            "no/flow.png: the name of a figure must end in .png",
        ),
        (["energy", "web.txt", "--by", "site", "--damping", "1"], "damping must be at least 0 and below 1, not 1"),
        (["energy", "missing.txt", "--by", "site"], "missing.txt"),
        (
            ["energy", "numbers.txt", "--by", "site"],
            "the pages of the graph have no names, so their sites are unknown",
        ),
        (["whatif", "web.txt"], "give links to --add or to --remove"),
        (["whatif", "web.txt", "--add", "nothing.txt"], "nothing.txt: no links to add or to remove"),
        (
            ["whatif", "web.txt", "--add", "nothing.txt", "--remove", "nothing.txt"],
            "nothing.txt and nothing.txt: no links",
        ),
        (["whatif", "web.txt", "--add", "missing.txt"], "missing.txt: the file cannot be read"),
        (["whatif", "web.txt", "--remove", "add.txt"], "there is no link from http://library.example/list.pdf to"),
        (["explain", "web.txt", "http://nowhere.example/"], "the graph has no page http://nowhere.example/"),
        (["explain", "web.txt", "http://town.example/", "--community", "L=host:library.example"], "is not in it"),
        (
            ["promotion", "web.txt", "--plant", "3"],
            "planting communities needs a graph without weights, with 100 pages or more",
        ),
        (["sensitivity", "web.txt", "--damping", "nan"], "damping"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    arguments: list[str], sentence: str, web: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("numbers.txt").write_text("0 1\n1 0\n")
    Path("nothing.txt").write_text("# no link\n\n")
    assert run(app, arguments) == 2
    printed, complaint = capsys.readouterr()
    assert printed == ""
    assert re.fullmatch(r"centime: [^\n]+\n", complaint)
    assert sentence in complaint
