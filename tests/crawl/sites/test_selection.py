import csv
import json
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from centime import pagerank
from centime.cli.ending import run
from centime.cli.main import app
from centime.cluster.report.parts import Parts
from centime.crawl.report.graph import crawl_graph
from centime.crawl.sites.metadata import check_metadata, write_metadata
from centime.crawl.sites.proposal import Budget
from centime.crawl.sites.ranked import ranked_sites, site_names
from centime.crawl.sites.selection import Selection
from centime.model.errors import BadInput, BadSetting
from tests.crawl.report.made import NOW
from tests.crawl.sites.conftest import SITES, site

LATER = NOW + 10 * 86_400


@cache
def selected(library: Parts, marks: Path | None = None, **more: Any) -> Selection:
    return library.select(marks, now=LATER, **more)


def test_without_marks_sites_come_by_importance_and_the_report_says_so(library: Parts) -> None:
    facts = selected(library).facts
    assert facts["proposed_by"].startswith("importance alone")
    importance = [row["importance"] for row in facts["proposals"]]
    assert importance == sorted(importance, reverse=True)
    assert facts["proposals"][0]["site"] == site(SITES - 1)
    assert {"judge_scores", "predictions", "coefficients"}.isdisjoint(facts)
    assert sum(importance) == pytest.approx(library.known)


def test_the_importance_of_sites_is_that_of_rank_by_site(library: Parts) -> None:
    sites = ranked_sites(library.linked, 0.85)
    truth = pagerank(crawl_graph(library.linked), by="site", error=1e-10)
    assert sites.certified_error <= 1e-8
    difference = [abs(x - truth[name]) for name, x in zip(sites.names, sites.importance, strict=True)]
    assert sum(difference) / len(difference) <= sites.certified_error + 1e-10
    shown = {row["site"]: row["site_importance"] for row in selected(library).facts["proposals"]}
    assert shown == pytest.approx(truth.to_dict(), abs=1e-6)


def test_the_criteria_of_a_site_are_those_of_its_pages(library: Parts) -> None:
    sites = selected(library).sites
    values = {name: dict(zip(sites.names, column.tolist(), strict=True)) for name, column in sites.values.items()}
    for number in range(SITES):
        name = site(number)
        assert values["pages"][name] == 2
        assert values["bytes"][name] == 1000 * (number + 1) + (500 if number % 3 else 0)
        assert values["linking_sites"][name] == number
        assert values["age_days"][name] == pytest.approx(10, abs=0.01)
        assert values["html_share"][name] == 1.0
    assert sites.bytes_expected[sites.names.index(site(3))] == 8000  # the page that is missing is like the other one
    assert "language_share" not in values, "no body is stored"


def test_judges_and_predictions_have_the_measures_of_the_paper(library: Parts, marks: Path) -> None:
    facts = selected(library, marks).facts
    assert (facts["marked"], facts["judges"]) == (20, 3)
    assert facts["all_judges_agree_share"] == pytest.approx(17 / 20)  # 3 of the 4 strict marks: no mark is below 1
    scores = {row["judge"]: (row["score"], row["score_of_others"]) for row in facts["judge_scores"]}
    assert scores == {"anna": (1.0, 1.0), "ben": (1.0, 1.0), "carla": (pytest.approx(17 / 20), pytest.approx(17 / 20))}
    rows = {row["prediction"]: row for row in facts["predictions"]}
    assert rows["always 1"] == {"prediction": "always 1", "score": 0.25, "tau_b": None, "auc": None}
    assert rows["linking_sites alone"]["auc"] == 1.0
    assert 0.9 < rows["importance alone"]["auc"] < 1.0, "a page that is missing pays the virtual page"
    assert rows["linking_sites alone"]["tau_b"] > 0.75
    assert rows["all criteria together"]["score"] >= 0.7
    assert {row["criterion"] for row in facts["coefficients"]} == {
        name.removesuffix(" alone") for name in rows if "alone" in name
    }
    assert 0.7 < facts["precision_at_recall"][-1]["importance"] < 1.0
    assert facts["curves"]["importance"][0] == {"sites": 1, "precision": 1.0, "recall": 0.1}


def test_sites_without_marks_are_proposed_by_the_model_with_reasons(library: Parts, marks: Path) -> None:
    rows = {row["site"]: row for row in selected(library, marks).facts["proposals"]}
    assert set(rows) == {site(number) for number in range(10, SITES)}
    assert rows[site(12)]["by"] == "judges"
    assert rows[site(12)]["why"] == "marked: anna 3, ben 3, carla 3"
    assert rows[site(SITES - 1)]["by"] == "model"
    assert rows[site(SITES - 1)]["why"].count("deviations, log-odds") == 3
    assert 3.5 < rows[site(SITES - 1)]["value"] <= 4


def test_a_budget_takes_the_best_sites_that_fit(library: Parts, marks: Path) -> None:
    facts = selected(library, marks, budget=Budget(pages=7)).facts
    assert (facts["proposed"], facts["pages_of_proposed"], facts["passed_over_by_budget"]) == (3, 6, 11)
    every = [row["site"] for row in selected(library, marks).facts["proposals"]]
    assert [row["site"] for row in facts["proposals"]] == every[:3]
    small = selected(library, budget=Budget(bytes=9000)).facts
    assert small["bytes_of_proposed"] <= 9000
    assert small["passed_over_by_budget"] > 0, "the best sites are larger"
    assert 0 < small["proposed"] < 9
    with pytest.raises(BadSetting, match="budget of pages must be 1 or more, not 0"):
        Budget(pages=0)


def test_with_few_marks_there_is_no_model_and_only_marked_sites_are_proposed(library: Parts, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text(
        f"site,judge,mark\nhttp://{site(5).upper()}:8080/x,anna,4\n{site(6)},anna,1\nelsewhere.example,ben,2\n"
    )
    facts = selected(library, path).facts
    assert facts["proposed_by"].startswith("marks alone: a model needs 20 marked sites")
    assert [row["site"] for row in facts["proposals"]] == [site(5)]
    assert (facts["marked_sites_not_in_the_crawl"], facts["not_in_the_crawl"]) == (1, ["elsewhere.example"])


def test_what_cannot_be_selected_is_refused_in_a_sentence(library: Parts, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("site,judge,mark\nelsewhere.example,ben,2\n")
    with pytest.raises(BadInput, match="the crawl knows none of the 1 sites, such as elsewhere"):
        selected(library, path)
    with pytest.raises(BadSetting, match="2 to 4, not 5"):
        selected(library, keep=5)
    with pytest.raises(BadSetting, match="not by 'page'"):
        selected(library, by="page")


def test_the_proposed_sites_are_written_as_dublin_core(library: Parts, tmp_path: Path) -> None:
    made = selected(library, budget=Budget(pages=4))
    for suffix in (".xml", ".json", ".csv", ".txt"):
        check_metadata(tmp_path / f"keep{suffix}", library.path)
        write_metadata(made, "library", tmp_path / f"keep{suffix}")
    names = [site(SITES - 1), site(SITES - 2)]
    assert (tmp_path / "keep.txt").read_text().split() == names
    space = {"dc": "http://purl.org/dc/elements/1.1/", "dcterms": "http://purl.org/dc/terms/"}
    found = ElementTree.parse(tmp_path / "keep.xml").getroot().findall("record")
    assert [one.findtext("dc:publisher", namespaces=space) for one in found] == names
    assert found[0].findtext("dc:date", namespaces=space) == "2027-01-15T08:00:00Z/2027-01-15T08:00:02Z"
    assert found[0].findtext("dcterms:extent", namespaces=space) == "2 pages known, 2 found with 24500 bytes"
    records = json.loads((tmp_path / "keep.json").read_text())
    assert records[0]["dc:identifier"] == f"http://{names[0]}/"
    with (tmp_path / "keep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["site"] for row in rows] == names
    assert rows[0]["dc:format"] == "text/html (2)"
    for wrong, why in (("keep.doc", "ends in .xml, .json, .csv or .txt"), ("no/keep.xml", "no such folder")):
        with pytest.raises(BadInput, match=why):
            check_metadata(tmp_path / wrong, library.path)
    with pytest.raises(BadInput, match="inside the crawl's own folder"):
        check_metadata(library.path / "keep.xml", library.path)


def test_a_domain_is_selected_as_one_site(library: Parts, tmp_path: Path) -> None:
    made = selected(library, by="domain")
    assert len(made.facts["proposals"]) == SITES, "example is a top-level domain, and each site a domain of it"
    write_metadata(made, "library", tmp_path / "keep.txt")
    assert (tmp_path / "keep.txt").read_text().splitlines()[0] == f"*.{site(SITES - 1)}"
    assert site_names(["https://www.museum.co.uk/x", "museum.co.uk:80", "[::1]"], "domain") == [
        "museum.co.uk",
        "museum.co.uk",
        "[::1]",
    ]
    assert np.isfinite(made.sites.matrix(list(made.sites.values))).all()


def test_the_command_writes_tables_for_people_and_everything_for_programs(
    library: Parts, marks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["select", str(library.path), "--marks", str(marks)]
    assert run(app, [*command, "-n", "2", "--bytes", "1MB"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("judge scores", "predictions", "coefficients", "precision at recall"))
    assert "curves" not in shown
    assert run(app, [*command, "--json", "-n", "2", "-o", str(tmp_path / "keep.txt")]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["proposals"]) == len((tmp_path / "keep.txt").read_text().split()) == 14
    assert facts["curves"]["all_criteria"]
    assert run(app, [*command, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("rank,site,value,by,")
    assert run(app, ["top", str(library.path), "--by", "site-importance", "-n", "1", "--json"]) == 0
    (first,) = json.loads(capsys.readouterr().out)["top"]
    assert (first["site"], first["linking_sites"]) == (site(SITES - 1), SITES - 1)
    for wrong in (["-n", "-1"], ["--pages", "0"], ["--bytes", "much"], ["-o", "keep.doc"]):
        assert run(app, [*command, *wrong]) == 2
    folder = str(library.path)
    assert run(app, ["export", folder, "--sites", str(tmp_path / "keep.txt"), "-o", str(tmp_path / "x.parquet")]) == 2
    assert "--sites chooses stored pages" in capsys.readouterr().err
