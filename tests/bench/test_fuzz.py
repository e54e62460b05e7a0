"""The fuzzers work: good inputs are good, the same number is the same input, and a broken law is a finding."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.fuzz_failures import FAILURES
from bench.fuzz_mutation import mutated
from bench.fuzz_run import Run, show, written
from bench.fuzz_target import Target, must
from bench.fuzz_targets import targets


@pytest.mark.long
def test_every_reader_obeys_its_law_for_good_and_for_mutated_inputs(tmp_path: Path) -> None:
    for name, target in targets(tmp_path).items():
        for number in range(len(target.seeds) + 25):
            data = mutated(name, target, number)
            assert data == mutated(name, target, number)
            target.read(data)


def _strict(most: int) -> dict[str, Target]:
    def read(data: bytes) -> None:
        must(data.count(b"\xff") < most, "no such byte")

    return {name: Target([b"a" * 100], read, (b"\xff",), share) for name, share in (("strict", 1), ("other", 3))}


def test_a_finding_is_counted_and_kept_and_a_run_goes_on_where_it_was_until_all_is_mended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(_strict(4), tmp_path)
    run.go_on(float("inf"), 200)
    found = len(run.done["strict"].findings)
    assert (run.done["strict"].inputs, run.done["other"].inputs, found > 0) == (50, 150, True)
    assert len(list(tmp_path.glob("strict-*.bin"))) == found
    again = Run(_strict(4), tmp_path)
    again.go_on(float("inf"), 240)
    assert (again.done["strict"].inputs, len(again.done["strict"].findings) >= found) == (60, True)
    assert show(written(tmp_path)) == 1
    assert "Broken: no such byte" in capsys.readouterr().out
    mended = Run(_strict(1000), tmp_path)
    assert (mended.done["strict"].findings, len(mended.done["strict"].mended) >= found) == ([], True)


def test_the_result_does_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    runs = [Run(_strict(4), tmp_path / str(jobs)) for jobs in (1, 3)]
    for run, jobs in zip(runs, (1, 3), strict=True):
        run.go_on(float("inf"), 200, jobs)
    one, three = ({name: (done.inputs, done.findings) for name, done in run.done.items()} for run in runs)
    assert one == three


def test_a_property_test_that_failed_is_reported_even_if_the_run_is_ended_before_its_end(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(
        "import os\nimport signal\nfrom hypothesis import given\nfrom hypothesis import strategies as st\n\n"
        "@given(st.none())\ndef test_first(nothing):\n    assert nothing == 'the law is broken'\n\n"
        "@given(st.none())\ndef test_second(nothing):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "bench.fuzz_failures", "-p", "no:cacheprovider", str(tmp_path)]
    failures = tmp_path / "failures"

    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # of these tests
    ended = subprocess.run(command, env=outside | {FAILURES: str(failures)}, capture_output=True)

    assert ended.returncode == -signal.SIGKILL
    assert "test_first" in failures.read_text()
    assert "the law is broken" in failures.read_text()
