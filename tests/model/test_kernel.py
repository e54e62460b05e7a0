import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest
from numba import config

from centime.model.kernel import (
    _KERNEL,
    MOST_LATE_BYTES,
    Kernel,
    activity,
    bare_inlined,
    bare_kernel,
    bare_part,
    inlined,
    kernel,
    kernel_of,
    late_kernel,
    part,
)


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


def _double(x: float) -> float:
    return 2 * x


PROGRAM = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
from centime.model.kernel import inlined, kernel

@inlined
def half(x):
    return x / 2

@kernel
def quarter(x):
    return half(half(x))

@kernel
def eighth(x):
    return half(quarter(x))

assert eighth(8.0) == 1.0
"""


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("centime.model.kernel._is_disabled", False)  # also where all other kernels run as plain Python


@pytest.mark.usefixtures("compiles")
@pytest.mark.parametrize("decorate", [inlined, part, bare_inlined, bare_part])
def test_a_part_is_plain_python_to_python_and_compiled_as_a_kernel(decorate: Callable[..., Any]) -> None:
    decorated = decorate(_double)
    assert decorated("a") == "aa"
    assert decorated.dispatcher.signatures == []
    assert kernel_of(decorated)(1.5) == 3.0
    assert len(decorated.dispatcher.signatures) == 1


@pytest.mark.usefixtures("compiles")
@pytest.mark.parametrize("decorate", [inlined, kernel])
def test_what_kernels_call_is_compiled_once_for_integers_of_all_sizes(decorate: Callable[..., Any]) -> None:
    decorated: Any = decorate(_double)
    made = kernel_of(decorated)
    for number in (np.int8(3), np.int32(3), np.uint16(3), 3, True):
        assert made(number) == 2 * number
    assert len(decorated.dispatcher.signatures) == 2  # int64 and bool


@pytest.mark.usefixtures("compiles")
@pytest.mark.parametrize("decorate", [inlined, kernel])
def test_what_kernels_call_is_compiled_once_for_all_constants(decorate: Callable[..., Any]) -> None:
    decorated: Any = decorate(_double)

    def doubled_constants() -> Any:
        return decorated(2) + decorated(3)

    assert kernel_of(part(doubled_constants))() == 10
    assert len(decorated.dispatcher.signatures) == 1


@pytest.fixture
def late(compiles: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A late kernel that was never compiled, of 0.2 seconds as plain Python."""
    monkeypatch.setattr("centime.model.kernel.LateKernel.at_once", False)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return late_kernel(0.2)(_sum_of_all)


def _sum_of_all(numbers: npt.NDArray[np.int64]) -> tuple[np.int64, np.bool_]:
    total = np.int64(0)
    for number in numbers:
        total += number
    return total, total > 10


def test_a_late_kernel_is_plain_python_until_it_has_taken_its_time(late: Any) -> None:
    numbers = np.arange(10_000)
    calls = 0
    while not late.dispatcher.signatures:
        found = late(numbers)
        calls += 1
        assert found == (49_995_000, True)
        assert [type(one) for one in found] == [int, bool]
        assert calls < 10_000
    assert calls > 10
    assert type(late).__name__ == "Kernel"


def test_a_late_kernel_is_not_due_while_numba_is_not_there_and_time_is_left(
    late: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    late.seconds = 0.0
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr("centime.model.kernel.LateKernel.preparing", 1.0)
    assert late(np.arange(5)) == (10, False)
    assert late.dispatcher.signatures == []


def test_a_late_kernel_is_compiled_at_once_for_large_arrays(late: Any) -> None:
    assert late(np.ones(MOST_LATE_BYTES // 8, dtype=np.int64)) == (MOST_LATE_BYTES // 8, True)
    assert late.dispatcher.signatures == []
    late(np.ones(MOST_LATE_BYTES // 8 + 1, dtype=np.int64))
    assert len(late.dispatcher.signatures) == 1


def test_a_late_kernel_that_is_in_the_cache_is_loaded_at_its_first_call(late: Any) -> None:
    late.seconds = 0.0
    late(np.arange(10))
    again: Any = late_kernel(100.0)(_sum_of_all)
    again(np.arange(10))
    assert len(again.dispatcher.signatures) == 1


def test_arrays_in_tuples_count_too(late: Any) -> None:
    of_pairs: Any = late_kernel(100.0)(_first_of_pair)
    assert of_pairs((np.arange(3), 7)) == 7
    assert of_pairs.dispatcher.signatures == []
    assert of_pairs((np.ones(MOST_LATE_BYTES // 8 + 1), 7)) == 7
    assert len(of_pairs.dispatcher.signatures) == 1


def _first_of_pair(pair: tuple[npt.NDArray[np.int64], int]) -> int:
    return pair[1]


@pytest.mark.usefixtures("compiles")
def test_a_kernel_is_compiled_even_if_its_source_cannot_be_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError))
    assert kernel(_double)(1.5) == kernel_of(inlined(_double))(1.5) == 3.0


@pytest.mark.usefixtures("compiles")
def test_compiling_is_reported_once_for_each_kernel(caplog: pytest.LogCaptureFixture) -> None:
    made: Any = kernel_of(kernel_of(inlined(_double)))  # one kernel calls the other
    with caplog.at_level(logging.INFO, "centime.compiling"):
        assert made(1.5) == 3.0
        made.dispatcher.compile(*made.dispatcher.signatures)
    assert [record.message for record in caplog.records] == [
        "compiling centime.model.kernel.kernel_of.<locals>.alone"
    ] * 2


@pytest.mark.usefixtures("compiles")
def test_a_process_knows_that_it_compiles_and_when_it_last_did(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(fcntl, "flock", lambda *given: seen.append(activity.within(0.0)))
    assert not activity.within(0.0)
    assert kernel_of(inlined(_double))(1.5) == 3.0
    assert seen == [True]
    assert not activity.within(0.0)
    assert activity.within(60.0)


def test_a_kernel_of_a_part_gives_what_the_part_gives() -> None:
    assert kernel_of(_half)(3.0) == 1.5


def test_environments_of_a_user_share_compiled_kernels_and_the_last_few_versions_are_kept(tmp_path: Path) -> None:
    from centime.model.compiling import KEPT, make_dispatcher

    def versions() -> int:
        return len(list(tmp_path.glob("*.nbi")))

    def used(digest: str) -> Any:
        found: Any = make_dispatcher(Kernel(_double, dict(_KERNEL), cache=True))
        found.keep_in(tmp_path, digest)
        before = found.is_cached()
        assert found(2.5) == 5.0
        assert found.is_cached()
        return before, len(found.stats.cache_hits), len(found.stats.cache_misses)

    assert used("first") == (False, 0, 1)
    assert used("first") == (True, 1, 0)
    assert used("second") == (False, 0, 1)
    assert versions() == 2
    for number in range(KEPT):
        used(f"later {number}")
    assert versions() == KEPT
    assert len(list(tmp_path.glob("*.nbc"))) == KEPT
    assert used("first") == (False, 0, 1)


def test_compiled_kernels_are_shared_only_where_nobody_else_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from centime.model.compiling import _shared_folder

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shared = tmp_path / "centime" / "kernels"
    assert _shared_folder("centime.parse.scan") == shared
    assert _shared_folder("a_module_of_somebody") is None
    shared.chmod(0o777)
    assert _shared_folder("centime.parse.scan") is None
    shared.rmdir()
    shared.write_text("")
    assert _shared_folder("centime.parse.scan") is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert _shared_folder("centime.parse.scan") is None


@pytest.mark.compiled
def test_two_processes_that_need_a_kernel_compile_it_once(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, str(tmp_path / "program.py")]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [line for process in both for line in process.communicate()[0].splitlines()]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(said) == ["compiling __main__.eighth", "compiling __main__.quarter"]


FIRST = """
import sys
import numpy as np
from centime.model.kernel import LateKernel, late_kernel

@late_kernel(0.0)
def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found

calls = 0
while "numba" not in sys.modules:
    assert total(np.arange(1000)) == 499500
    calls += 1
assert LateKernel.preparing <= 0.0 and calls > 10
assert len(total.dispatcher.signatures) == 1
"""


@pytest.mark.compiled
def test_numba_is_not_even_imported_while_late_kernels_take_little_time(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"}
    (tmp_path / "program.py").write_text(FIRST)
    subprocess.run([sys.executable, str(tmp_path / "program.py")], env=environment, check=True)


def test_compiling_a_kernel_does_not_import_scipy_and_a_product_of_matrices_still_finds_it(tmp_path: Path) -> None:
    script = tmp_path / "product.py"
    script.write_text(
        "import sys\n"
        "import numpy as np\n"
        "from centime.model.kernel import kernel\n"
        "@kernel\n"
        "def doubled(numbers):\n"
        "    return numbers * 2.0\n"
        "@kernel\n"
        "def product(numbers):\n"
        "    return np.dot(numbers, numbers)\n"
        "doubled(np.ones(3))\n"
        "print('scipy.linalg' in sys.modules, product(np.ones(3)))\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert found.stdout == "False 3.0\n"
