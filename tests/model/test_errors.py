import inspect
from pathlib import Path

import pytest

from centime.model import errors
from centime.model.errors import BadInput, CentimeError, DamagedCrawl

OURS = [thing for _, thing in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("error", OURS)
def test_every_error_of_ours_is_a_centime_error_with_a_docstring(error: type[Exception]) -> None:
    assert issubclass(error, CentimeError)
    assert error.__doc__


@pytest.mark.parametrize("error", OURS)
def test_the_drawing_at_the_top_shows_every_error_under_its_parent(error: type[Exception]) -> None:
    lines = (errors.__doc__ or "").splitlines()
    drawn = {line.strip("│├└─ ").split(" ")[0]: line for line in lines}
    depth = {name: len(line) - len(line.lstrip("│├└─ ")) for name, line in drawn.items()}
    place = lines.index(drawn[error.__name__])
    above = [line.strip("│├└─ ").split(" ")[0] for line in lines[:place]]
    parents = [name for name in above if name and depth[name] < depth[error.__name__]]
    if error is not CentimeError:
        assert parents[-1] == error.__bases__[0].__name__


def test_bad_graphs_rows_and_settings_are_the_callers_to_mend() -> None:
    assert {error.__name__ for error in OURS if issubclass(error, BadInput)} == {
        "BadInput",
        "BadGraph",
        "BadRow",
        "BadSetting",
    }


def test_a_damaged_crawl_names_its_folder() -> None:
    damaged = DamagedCrawl("c/journal: missing", Path("c"))
    assert (str(damaged), damaged.folder) == ("c/journal: missing", Path("c"))
