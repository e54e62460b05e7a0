"""The folders of any crawl, plain or in partitions, for callers that need no state: which folders there are, which one
owns a page, and the settings of the whole crawl.
"""

from collections.abc import Container, Mapping
from pathlib import Path

from msgspec import structs

from centime.cluster.folder import DIVIDED, is_cluster, partition_folders, read_about, refuse_headless
from centime.crawl.commands.inbox import running
from centime.crawl.report.opening import check_folder, folder_of
from centime.discover.canonical import canonical
from centime.model.address import partition_of
from centime.model.errors import BadInput
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import decode_settings
from centime.store.folder import is_crawl


def check_any_folder(path: Path) -> None:
    """Refuses a path that is neither the folder of a crawl nor that of one in partitions."""
    if is_cluster(path):
        return
    if not is_crawl(path):
        refuse_headless(path)
    check_folder(path)


def refuse_part(path: Path) -> None:
    """Refuses a path that is the folder of one partition: its engine shares limits and addresses with the others."""
    if is_crawl(path):
        settings = decode_settings(folder_of(path).settings, where=str(path))
        if settings.partitions > 1:
            whole = path.resolve().parent.parent
            raise BadInput(f"{path}: this is partition {settings.partition} of a crawl; use centime crawl {whole}")


def missing_partitions(path: Path) -> list[int]:
    """The partitions whose folder is not there, though it was opened before and no other machine has it."""
    about = read_about(path)
    if about.homes:
        return []
    folders = zip(partition_folders(path), about.incarnations, strict=False)
    return [number for number, (folder, begun) in enumerate(folders) if begun and not is_crawl(folder)]


def missing_in_words(path: Path) -> list[str]:
    """A sentence for each partition that is missing from a crawl in partitions that does not run: a run replaces them.

    Figures without a missing partition are too small, so every report must show these sentences.
    """
    if not is_cluster(path) or running(path):
        return []
    way = "centime crawl continues it from its replica" if read_about(path).replicas else "restore its folder"
    return [
        f"partition {number} is missing ({partition_folders(path)[number]}): its pages are not shown, and nothing is "
        f"certified; {way}"
        for number in missing_partitions(path)
    ]


def folders_of(path: Path) -> list[Path]:
    """The folder of a plain crawl, or those of all partitions that were opened."""
    check_any_folder(path)
    if not is_cluster(path):
        return [path]
    begun = [folder for folder in partition_folders(path) if is_crawl(folder)]
    if not begun and read_about(path).homes:
        raise BadInput(f"{path}: its partitions are on other machines; centime cluster gather {path} copies them here")
    if not begun:
        raise BadInput(f"{path}: no partition of this crawl was opened yet; centime crawl {path} continues it")
    return begun


def owner_of(path: Path, url: str) -> Path:
    """The folder that has a page: that of the crawl, or of the partition that owns its host."""
    if not is_cluster(path):
        return path
    folders = partition_folders(path)
    name = canonical(url)
    owner = 0 if name is None else partition_of(name, len(folders))
    if not is_crawl(folders[owner]):
        raise BadInput(f"{path}: partition {owner}, which owns {url}, was never opened")
    return folders[owner]


def settings_of(path: Path) -> CrawlSettings:
    """The settings of a crawl; of one in partitions, with the totals of all partitions."""
    first = folders_of(path)[0]
    settings = decode_settings(folder_of(first).settings, where=str(first))
    if not is_cluster(path):
        return settings
    return whole_settings(settings, read_about(path).totals)


def whole_settings(settings: CrawlSettings, totals: Mapping[str, float | None]) -> CrawlSettings:
    """The settings of a crawl, from those of one of its partitions and the totals of all."""
    values = {name.replace("-", "_"): _number(name, total) for name, total in totals.items()}
    return structs.replace(settings, partition=0, **values)


def totals_in(settings: CrawlSettings, names: Container[str]) -> dict[str, float | None]:
    """The values of those options of these names that are divided among partitions."""
    values = {name: getattr(settings, name.replace("-", "_")) for name in DIVIDED if name in names}
    return {name: None if value is None else float(value) for name, value in values.items()}


def _number(name: str, total: float | None) -> float | int | None:
    """A total as settings have it: whole if it counts something."""
    return int(total) if total is not None and name in ("most-pages", "most-memory", "workers") else total
