import sys

import pytest

from centime.model.arrow import arrow
from centime.model.errors import BadInput


def test_pyarrow_is_loaded_when_it_is_there() -> None:
    assert arrow("sys") is sys


def test_a_missing_pyarrow_is_said_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"pip install 'centime\[arrow\]'"):
        arrow()
