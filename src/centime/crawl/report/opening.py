"""Opens a crawl for a report, or raises an error that says in one sentence why that fails."""

from datetime import UTC, datetime
from pathlib import Path

from centime.crawl.engine.damage import damage_closes
from centime.crawl.engine.reader import CrawlReader, read_crawl
from centime.model.errors import BadInput
from centime.store.folder import CrawlFolder, is_crawl, not_a_crawl


def look_at(path: Path) -> CrawlReader:
    """The crawl in a folder, opened for reading, as of the last frame that was flushed."""
    check_folder(path)
    return read_crawl(path)


def folder_of(path: Path) -> CrawlFolder:
    """The folder of a crawl, without its state."""
    check_folder(path)
    with damage_closes(path):
        return CrawlFolder.open(path, writable=False)


def check_folder(path: Path) -> None:
    """Refuses a path that is not the folder of a crawl."""
    if not path.exists():
        raise BadInput(f"{path}: there is no such folder")
    if not path.is_dir():
        raise BadInput(f"{path}: this is a file; a crawl is a folder")
    if not is_crawl(path):
        raise BadInput(not_a_crawl(path))


def moment(seconds: float) -> str | None:
    """A time in ISO 8601 and UTC; None for 0, which means never."""
    if not 0 < seconds < 253_402_300_800:  # the end of year 9999, beyond which a date cannot be written
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
