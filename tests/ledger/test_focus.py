"""Focus weights are whole sixteenths within bounds, and classes have numbers."""

import pytest

from centime.ledger.focus import FOCUS_CLASSES, FOCUS_UNIT, MOST_FOCUS_UNITS, check_class, focus_units
from centime.model.errors import BadSetting


def test_a_weight_is_a_whole_number_of_sixteenths() -> None:
    assert [focus_units(weight) for weight in (1 / 16, 1, 2.5, 65_536.0)] == [1, FOCUS_UNIT, 40, MOST_FOCUS_UNITS]


@pytest.mark.parametrize("weight", [0.0, 0.03, 0.1, -1.0, 65_536.0625, 1e308, float("inf"), float("nan")])
def test_other_weights_are_refused(weight: float) -> None:
    with pytest.raises(BadSetting, match="a multiple of 1/16 from 1/16 to 65536, not"):
        focus_units(weight)


def test_a_class_has_a_number_below_the_number_of_classes() -> None:
    check_class(0)
    check_class(FOCUS_CLASSES - 1)
    for focus in (-1, FOCUS_CLASSES):
        with pytest.raises(BadSetting, match="focus classes 0 to 127"):
            check_class(focus)
