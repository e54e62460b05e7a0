"""Verifies a crawl: every checksum, then the replay of the journal, then every law of the resulting state.

A running crawl can be checked too, as of the last frame that was flushed. What cannot be detected: damage of frames of
the last second before a kill, which were never confirmed to be on disk.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.crawl.check.archive import check_archive, check_imported
from centime.crawl.check.files import check_appended, check_journal, check_snapshots
from centime.crawl.check.findings import Findings
from centime.crawl.check.state import check_state
from centime.crawl.check.versions import check_against, check_versions
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.crawl.report.opening import check_folder
from centime.model.errors import CentimeError, DamagedFile
from centime.store.folder import CrawlFolder
from centime.store.places import misplaced

ATTEMPTS = 5


def check_crawl(path: Path, step: Callable[[float, str], None] = lambda done, what: None) -> Findings:
    """Verifies a crawl; returns the findings. `step` receives each further share of the work and its name."""
    check_folder(path)
    for _ in range(ATTEMPTS - 1):
        try:
            return _check(path, step)
        except FileNotFoundError:
            continue  # a running crawl has written a newer snapshot and removed older files
    return _check(path, step)


def _check(path: Path, step: Callable[[float, str], None]) -> Findings:
    findings = Findings()
    try:
        folder = CrawlFolder.open(path, writable=False)
    except CentimeError as trouble:
        findings.caught("folder", trouble, path / "centime.json")
        for sentence in misplaced(path).values():
            findings.caught("folder", DamagedFile(sentence))
        return findings
    if folder.trouble:
        name, _, what = folder.trouble.partition(": ")
        findings.wrong("folder", what, Path(name))
    step(0.0, "snapshots and their files")
    with _said("snapshot", findings):
        for name, (_, arrays) in check_snapshots(folder, findings).items():
            check_appended(folder, name, arrays, findings)
    step(0.1, "the journal")
    with _said("journal", findings):
        check_journal(folder, findings)
    step(0.1, "replaying")
    reader = None
    if any(problem.part == "state" for problem in findings.problems):
        findings.notes.append("the state was not replayed and not checked, because some of its files are damaged")
    else:  # kernels do not check where they write, so they get verified files only
        reader = _replay(path, findings)
    if reader is not None:
        step(0.3, "the state")
        pages = max(1, 3 * reader.shard.pages.count)
        try:
            check_state(reader, findings, lambda done: step(0.3 * done / pages, "the state"))
            check_against(reader, findings)
        finally:
            reader.close()
    step(0.1, "bodies")
    with _said("bodies", findings):
        check_archive(folder.bodies, findings)
        check_imported(folder.imported, findings)
    check_versions(folder.versions, findings)
    return findings


@contextmanager
def _said(part: str, findings: Findings) -> Iterator[None]:
    """Reports a file that cannot be read as a problem; a missing file may have been removed by a running crawl."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as trouble:
        findings.caught(part, trouble)


def _replay(path: Path, findings: Findings) -> CrawlReader | None:
    """The crawl, opened for reading, or None if its journal cannot be replayed."""
    try:
        reader = read_crawl(path)
    except Exception as trouble:  # damaged state can raise anything: it is reported, and the check continues
        findings.caught("replay", trouble)
        return None
    findings.holds("replay", "frames after the newest snapshot grant the same leases again", reader.folded)
    return reader
