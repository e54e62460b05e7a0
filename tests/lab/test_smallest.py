"""The smallest web that an experiment takes: a crawl of it may know everything exactly."""

from centime.lab.experiment import FEWEST_PAGES, carry_out


def test_a_web_that_is_known_exactly_is_no_error() -> None:
    assert carry_out("growth", FEWEST_PAGES, 0).findings.rows
