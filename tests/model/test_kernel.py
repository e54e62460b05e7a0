import numpy as np
import numpy.typing as npt

from centime.model.kernel import bare_inlined, bare_kernel, inlined, kernel


@inlined
def _half(x: float) -> float:
    return x / 2


@kernel
def _sum_of_halves(numbers: npt.NDArray[np.float64]) -> float:
    total = 0.0
    for number in numbers:
        total += _half(number)
    return total


@kernel
def _ratio(numbers: npt.NDArray[np.float64]) -> float:
    return float(numbers[0] / numbers[1])


@bare_inlined
def _add(numbers: npt.NDArray[np.int64], place: int) -> None:
    numbers[place] += 1


@bare_kernel
def _add_to_all(numbers: npt.NDArray[np.int64]) -> None:
    for place in range(len(numbers)):
        _add(numbers, place)


def test_a_kernel_gives_what_its_python_gives() -> None:
    assert _sum_of_halves(np.array([1.0, 2.0, 4.0])) == 3.5


def test_a_bare_kernel_changes_the_arrays_it_is_given() -> None:
    numbers = np.arange(4)
    _add_to_all(numbers)
    assert numbers.tolist() == [1, 2, 3, 4]


def test_a_division_by_zero_is_a_number_as_in_numpy_and_not_an_exception() -> None:
    with np.errstate(divide="ignore"):
        assert _ratio(np.array([1.0, 0.0])) == np.inf


def test_floating_sums_keep_their_order() -> None:
    assert _sum_of_halves(np.array([2e16, 2.0, -2e16])) == 0.0
