from pathlib import Path
from typing import Any

import numpy as np
import pytest

from centime.lab import rates
from centime.lab.rates_belief import believed, fold_in
from centime.lab.rates_known import known_rates
from centime.lab.rates_seen import Law, Pages, make_pages, read_pages
from centime.lab.synthetic.graphs import poisson
from centime.lab.webbox.change_process import SITE_SPREAD, SPREAD
from tests.lab.carried_out import carried_out


def at(
    found: dict[str, Any], estimator: str, observations: int, reading: str = "paper's rule", law: str = "uniform"
) -> dict[str, Any]:
    wanted = (estimator, observations, reading, law)
    columns = ("estimator", "observations", "reading", "intervals")
    (row,) = [row for row in found["results"] if tuple(row[column] for column in columns) == wanted]
    return dict(row)


@pytest.mark.long
def test_ours_is_near_the_truth_after_ten_observations_and_the_printed_formulas_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = carried_out("rates", tmp_path, capsys, pages=1000)
    for name in rates.OURS.values():
        assert at(found, name, 10)["median_error_percent"] < 35
        assert abs(at(found, name, 10)["median_bias_percent"]) < 5
        assert at(found, name, 50)["median_error_percent"] < at(found, name, 10)["median_error_percent"] < 60
        assert at(found, name, 1)["without_percent"] == 0
        for reads in (1, 2, 3, 5, 10):
            plain = "Eq. 10 corrected" if "dates" in name else "Eq. 9 product"
            for reading in rates.READINGS:
                own, other = (at(found, each, reads, reading)["median_error_percent"] for each in (name, plain))
                assert other is None or own < other
    assert at(found, "Eq. 9 printed", 50)["median_bias_percent"] < -80
    assert at(found, "Eq. 10 printed", 50)["median_bias_percent"] > 100
    assert abs(at(found, "Eq. 9 product", 50)["median_bias_percent"]) < 4
    assert abs(at(found, "Eq. 10 corrected", 50)["median_bias_percent"]) < 2
    assert at(found, "Eq. 9 product", 1)["without_percent"] == 100
    for known, ours in zip(rates.KNOWN.values(), rates.OURS.values(), strict=True):
        assert abs(at(found, known, 10)["median_error_percent"] - at(found, ours, 10)["median_error_percent"]) < 5
    for row in found["facts"]["observations until a five-fold jump is followed"]:
        for kind in ("changes only", "with dates"):
            fading, not_fading = row[f"{kind}, fading"], row[f"{kind}, not fading"]
            assert fading <= (not_fading or rates.LONGEST_WAIT)
            assert fading < 200


@pytest.mark.long
def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    web = poisson(100, 0)
    first, again, other = (rates.run(web, seed, lambda share: None) for seed in (3, 3, 4))
    assert first == again
    assert first.rows != other.rows


def test_pages_have_the_spread_of_the_webbox() -> None:
    pages = make_pages(np.random.default_rng(0), 100_000)
    logs = np.log(pages.rates)
    of_host = np.bincount(pages.hosts, weights=logs) / np.bincount(pages.hosts)
    assert logs.std() == pytest.approx(np.hypot(SPREAD, SITE_SPREAD), rel=0.02)
    assert of_host.std() == pytest.approx(np.hypot(SITE_SPREAD, SPREAD / 10), rel=0.1)


@pytest.mark.parametrize("law", rates.LAWS)
def test_reads_see_as_many_changes_as_the_process_makes_and_dates_within_their_interval(law: Law) -> None:
    chance = np.random.default_rng(1)
    for reading in rates.READINGS:
        seen = read_pages(chance, np.full(2000, 3.0), 50, reading, law)
        assert seen.intervals.mean() == pytest.approx(1.0 if reading == "same interval" else 3**-0.5, rel=0.02)
        assert seen.changed.mean() == pytest.approx(-np.expm1(-3.0 * seen.intervals).mean(), abs=0.005)
        assert (seen.since[seen.changed] <= seen.intervals[seen.changed] * (1 + 1e-9)).all()
        quiet = seen.intervals[~seen.changed].sum() + seen.since[seen.changed].sum()
        assert seen.changed.sum() / quiet == pytest.approx(3.0, rel=0.02)


def test_a_page_hardly_seen_has_nearly_the_rate_of_its_host() -> None:
    chance = np.random.default_rng(2)
    hosts = np.arange(4000) // 2000
    truth = np.where(hosts == 0, 0.2, 2.0)
    seen = read_pages(chance, truth, 5, "same interval", "uniform")
    ((reads, believes),) = believed(Pages(truth, hosts, truth), seen, with_dates=False, moments=[5])
    assert reads == 5
    assert np.median(believes[hosts == 0]) == pytest.approx(0.2, rel=0.25)
    assert np.median(believes[hosts == 1]) == pytest.approx(2.0, rel=0.25)


def test_without_fading_evidence_is_only_added_up() -> None:
    s, b = np.array([4.0, 4.0]), np.array([8.0, 8.0])
    ones, moved = np.ones(2), np.array([False, True])
    fold_in(s, b, 1.0, ones, 2 * ones, moved, 0.5 * ones, True, False)
    assert s == pytest.approx([4.0, 5.0])
    assert b == pytest.approx([10.0, 8.5])
    fold_in(s, b, 1.0, ones, 2 * ones, moved, 0.5 * ones, True, True)
    assert s == pytest.approx([4.0, 6.0], rel=0.05)
    fold_in(s, b, 1.0, ones, 1e9 * ones, np.zeros(2, dtype=np.bool_), ones, True, True)
    assert (s < 0.01).all(), "a long rest contradicts what was seen"


@pytest.mark.parametrize("with_dates", [False, True])
def test_who_knows_the_law_has_as_much_of_the_truth_above_as_below_and_without_reads_the_host_alone(
    with_dates: bool,
) -> None:
    chance = np.random.default_rng(6)
    pages = make_pages(chance, 5000)
    seen = read_pages(chance, pages.rates, 10, "same interval", "uniform")
    found = np.empty(5000)
    known_rates(*seen, pages.host_rates, with_dates, found)
    assert (found < pages.rates).mean() == pytest.approx(0.5, abs=0.02)
    known_rates(seen.intervals[:, :0], seen.changed[:, :0], seen.since[:, :0], pages.host_rates, with_dates, found)
    assert found == pytest.approx(pages.host_rates, rel=1e-9)
