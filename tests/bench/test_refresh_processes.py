"""The command line of the benchmark of change processes."""

import pytest

from bench.refresh_processes import BUDGETS, SEEDS, chosen
from centime.simulate.processes import WORLDS


def test_without_names_all_processes_are_measured() -> None:
    assert chosen([]) == (tuple(WORLDS), SEEDS, BUDGETS)


def test_named_processes_run_on_the_given_seeds_and_budgets() -> None:
    assert chosen(["pareto", "births", "--seeds", "4,5", "--budgets", "0.1"]) == (("pareto", "births"), (4, 5), (0.1,))


def test_a_process_that_does_not_exist_is_refused_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        chosen(["paretto"])
    assert "'paretto' is not one of pareto, correlated" in capsys.readouterr().err
