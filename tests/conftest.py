"""Tests draw the same examples in every run; `make fuzz` draws new ones, many more."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from typer import testing
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from centime.model.kernel import compile_at_once
from tests.forked_children import fork_children, start_children
from tests.quick_compiling import compile_quickly
from tests.rewritten_once import rewrite_own_share

if TYPE_CHECKING:
    from tests.cluster.crawled import Crawled

settings.register_profile("ci", max_examples=50, derandomize=True, deadline=None, database=None)
settings.register_profile("fuzz", max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("ci")
# Hypothesis also draws constants that it finds in the modules that are loaded, so examples would depend on which tests
# a process has run before.
providers._get_local_constants = providers.Constants  # type: ignore[attr-defined]

# Thousands of small crawls sync their files: on a disk, this is a tenth of the CPU time of all tests. The tests that
# need a disk of a certain kind simulate it.
IN_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > 4 << 30:
    os.environ["TMPDIR"] = str(IN_MEMORY)
    tempfile.tempdir = None  # pytest has asked for it already

# The secret by which crawls are recognised as one's own is not that of whoever runs the tests.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="centime-tests-")

# What runs a command makes the program anew each time, with all its options: this takes longer than many a command.
testing._get_command = cache(testing._get_command)  # type: ignore[attr-defined]

fork_children()
compile_quickly()
compile_at_once()  # commands that tests start, and `NUMBA_DISABLE_JIT=1`, run late kernels as plain Python


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Crawled"]:
    """A web that was crawled in one folder and in partitions, for all tests that compare the two."""
    from tests.cluster.crawled import crawled_twice  # few processes need it

    with crawled_twice(tmp_path_factory.mktemp("local")) as found:
        yield found


@pytest.fixture
def children_are_programs() -> Iterator[None]:
    """Starts children as a Python program does that has other threads."""
    start_children()
    yield
    fork_children()


def pytest_collection_finish() -> None:
    """Spares the collector what all tests share: modules, kernels and the tests themselves."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


class _Files:
    """Lets go of crawls that tests left open: some of what they use can have no file above 1023."""

    step = 200  # files that tests may open before it looks for them: looking takes as long as a test
    most = step

    def pytest_runtest_logfinish(self) -> None:
        if _open_files() > self.most:
            gc.collect()
            self.most = _open_files() + self.step


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


SLOW = (  # these start processes, serve HTTP, compile much or run for long: `make test-fast` leaves them out
    "analyse/",
    "api/",
    "bench/",
    "cli/",
    "cluster/nodes/",
    "cluster/report/test_parts.py",
    "cluster/test_local.py",
    "cluster/test_orders.py",
    "cluster/test_requisites.py",
    "crawl/check/",
    "crawl/documents/test_choice.py",
    "crawl/documents/test_xquery.py",
    "crawl/engine/test_isolation.py",
    "crawl/engine/test_loop.py",
    "crawl/engine/test_memory.py",
    "crawl/engine/test_reader.py",
    "crawl/engine/test_transport.py",
    "crawl/notify/",
    "crawl/repair/",
    "crawl/report/",
    "crawl/test_",
    "crawl/worker/test_xpath.py",
    "discover/test_sitemap.py",
    "fetch/test_connection.py",
    "frontier/test_frontier_law.py",
    "graphs/",
    "lab/",
    "ledger/test_matrix.py",
    "ledger/test_opic.py",
    "ledger/test_opic_growth.py",
    "ledger/test_refused.py",
    "ledger/history/test_window.py",
    "model/test_kernel.py",
    "processes/",
    "rank/",
    "refresh/learning/test_regularity.py",
    "refresh/test_book.py",
    "refresh/test_book_freshness.py",
    "refresh/learning/test_rhythm.py",
    "serve/test_partitions.py",
    "shard/limits/test_bounds.py",
    "shard/test_placement.py",
    "simulate/",
    "store/archives/test_archive.py",
    "store/test_journal.py",
    "store/test_link_rows.py",
    "store/test_upgrade.py",
    "test_documents.py",
    "testing/",
)


# These come first, so that no process is left alone with them at the end.
LONG = ("test_documents.py", "cli/", "crawl/")

# The files of a group run in one process, one after the other: what they share takes seconds to make.
GROUPS = (
    ("cluster/test_local.py", "cluster/report/test_parts.py", "serve/test_browser.py", "serve/test_partitions.py"),
    ("crawl/report/",),
    ("crawl/sites/",),
)


class _ByGroup(LoadFileScheduling):
    """Gives a process one file after the other, and those of a group at once."""

    def _split_scope(self, nodeid: str) -> str:
        place = nodeid.partition("::")[0].removeprefix("tests/")
        return next((group[0] for group in GROUPS if place.startswith(group)), place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    return _ByGroup(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Refuses names in the lists above that no file has: a test that moved would become quick unnoticed."""
    missing = [name for name in (*SLOW, *LONG, *chain(*GROUPS)) if not any(Path(__file__).parent.glob(f"{name}*"))]
    if missing:
        raise pytest.UsageError(f"tests/conftest.py names what is not there: {', '.join(missing)}")
    config.pluginmanager.register(_Files())
    rewrite_own_share(config)


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _place(item).startswith(SLOW):
            item.add_marker("slow")
    items.sort(key=lambda item: not _place(item).startswith(LONG))


def _place(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0].removeprefix("tests/")
