"""The fuzzers work: good inputs are good, the same number is the same input, and a broken law is a finding."""

from pathlib import Path

import pytest

from bench import fuzz
from bench.fuzz_mutation import mutated
from bench.fuzz_targets import Target, must, targets


def test_every_reader_obeys_its_law_for_good_and_for_mutated_inputs(tmp_path: Path) -> None:
    for name, target in targets(tmp_path).items():
        for number in range(len(target.seeds) + 25):
            data = mutated(name, target, number)
            assert data == mutated(name, target, number)
            target.read(data)


def test_a_finding_is_counted_and_kept_and_a_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "fuzz")

    def read(data: bytes) -> None:
        must(data.count(b"\xff") < 3, "no such byte")

    made = {"strict": Target([b"a" * 100], read, (b"\xff",))}
    run = fuzz.Run(made)
    run.go_on(float("inf"), 100)
    found = len(run.done["strict"].findings)
    assert (run.done["strict"].inputs, found > 0) == (100, True)
    assert len(list((tmp_path / "fuzz").glob("strict-*.bin"))) == found
    again = fuzz.Run(made)
    again.go_on(float("inf"), 150)
    assert (again.done["strict"].inputs, len(again.done["strict"].findings) >= found) == (150, True)
    again.show()
    assert "Broken: no such byte" in capsys.readouterr().out
