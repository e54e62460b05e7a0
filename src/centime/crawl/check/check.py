"""A crawl proven right, or all that is wrong with it: every checksum, then the replay, then every law of the state it
leads to.

It works on a running crawl, and then speaks of what was flushed when it looked. What it cannot see: a change of
`centime.json` that leaves it readable (people may edit it, so it has no checksum), and a damaged last frame of the
journal, which looks like one that was never finished.
"""

from collections.abc import Callable
from pathlib import Path

from centime.crawl.check.archive import check_archive
from centime.crawl.check.files import check_growing, check_journal, check_snapshots
from centime.crawl.check.findings import Proof
from centime.crawl.check.state import check_state
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import check_folder
from centime.model.errors import CentimeError
from centime.store.folder import CrawlFolder

ATTEMPTS = 5


def check_crawl(path: Path, step: Callable[[float, str], None] = lambda done, what: None) -> Proof:
    """All that was proven and all that is wrong; `step` is told what share of the work is done, and what comes next."""
    check_folder(path)
    for _ in range(ATTEMPTS - 1):
        try:
            return _check(path, step)
        except FileNotFoundError:
            continue  # a running crawl has written a newer snapshot and tidied up
    return _check(path, step)


def _check(path: Path, step: Callable[[float, str], None]) -> Proof:
    proof = Proof()
    try:
        folder = CrawlFolder.open(path, writable=False)
    except CentimeError as trouble:
        proof.caught("folder", trouble, path / "centime.json")
        return proof
    step(0.0, "snapshots and their files")
    for name, (_, arrays) in check_snapshots(folder, proof).items():
        check_growing(folder, name, arrays, proof)
    step(0.1, "the journal")
    check_journal(folder, proof)
    step(0.1, "replaying")
    opened = None
    if any(problem.part == "state" for problem in proof.problems):
        proof.notes.append("the state was not replayed and its laws not looked at, because files of it are damaged")
    else:  # kernels do not look where they write: they are given what is proven only
        opened = _replay(path, proof)
    if opened is not None:
        step(0.3, "the state")
        pages = max(1, 3 * opened.shard.pages.count)
        try:
            check_state(opened, proof, lambda done: step(0.3 * done / pages, "the state"))
        finally:
            opened.shard.pages.close()
    step(0.1, "bodies")
    check_archive(folder.bodies, proof)
    return proof


def _replay(path: Path, proof: Proof) -> CrawlState | None:
    """The crawl, opened as a crawler would."""
    try:
        opened = read_crawl(path)
    except Exception as trouble:  # of damaged state anything may come; it is reported, and must not end the report
        proof.caught("replay", trouble)
        return None
    proof.holds("replay", "frames behind the newest snapshot lead to the same leases again", opened.folded)
    return opened
