"""The processes of the tests divide among them what pytest makes of each file with tests before it runs it: assertions
that say what was wrong. In a fresh clone this takes as long as everything else until the first test, and every process
would do it for every file."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_own_share(config: pytest.Config) -> None:
    """Makes, in a process of several, what is not there yet of its share of the files; pytest finds it there."""
    given: dict[str, object] = getattr(config, "workerinput", {})
    if not given or sys.dont_write_bytecode:
        return
    number, count = int(str(given["workerid"]).removeprefix("gw")), int(str(given["workercount"]))
    for path in sorted(set(_files(config.args)))[number::count]:
        made = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
        if not made.exists() and rewrite.try_makedirs(made.parent):
            digest, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, made)


def _files(arguments: Iterable[str]) -> Iterator[Path]:
    for argument in arguments:
        path = Path(argument.partition("::")[0]).absolute()
        yield from path.rglob("test_*.py") if path.is_dir() else [path]
