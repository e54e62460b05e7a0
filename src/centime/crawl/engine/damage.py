"""Damage found when a crawl is opened: files that it can do without are logged, others raise `DamagedCrawl`."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from centime.model.errors import DamagedCrawl, DamagedFile

_log = logging.getLogger("centime.damage")


def log_damage(sentences: Iterable[str]) -> None:
    """Logs a warning for each damaged file that was not needed."""
    for sentence in sentences:
        _log.warning("damaged, and not needed: %s; its content was restored from other files", sentence)


def log_loss(sentences: Iterable[str]) -> None:
    """Logs a warning for each thing that is lost."""
    for sentence in sentences:
        _log.warning("lost: %s", sentence)


@contextmanager
def damage_closes(folder: Path) -> Iterator[None]:
    """Turns DamagedFile of a crawl into `DamagedCrawl`, which names the folder."""
    try:
        yield
    except DamagedFile as trouble:
        raise DamagedCrawl(str(trouble), folder) from trouble
