"""Exports stored bodies: what `centime export` does for the formats that need them."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from centime.crawl.engine.damage import damage_closes
from centime.crawl.engine.state import CrawlState
from centime.crawl.export.archives import Archives, archives_of, write_wacz, write_warc
from centime.crawl.export.chosen import Chosen, chosen_records, every_url, read_sites
from centime.crawl.export.corpus import Corpus, write_json_lines, write_table
from centime.crawl.export.history import History
from centime.crawl.export.markdown import write_markdown
from centime.crawl.search.updating import must_have_bodies
from centime.files.listing import files_below
from centime.files.replacement import STANDARD_OUTPUT, is_stream, replacing_file
from centime.model.errors import BadSetting
from centime.store.versions.database import keeping_open

Step = Callable[[float], None]
Facts = dict[str, Any]


def export_bodies(
    states: Sequence[CrawlState], name: str, form: str, path: Path, step: Step, sites: Path | None = None
) -> Facts:
    """Writes stored bodies of a crawl of this name, or of all its partitions, in a format; returns what was written.
    `sites` is a file that names the sites to write. BadInput if there are none.
    """
    chosen = None if sites is None else read_sites(sites)
    if chosen is not None and form == "git":
        raise BadSetting("--sites is for jsonl, markdown, warc, wacz, and parquet with --text, not for git")
    for opened in states:
        must_have_bodies(opened)
    with ExitStack() as closing, keeping_open():
        for opened in states:
            closing.enter_context(damage_closes(opened.folder.path))
        facts = _WRITERS[form](states, name, path, step, chosen)
    files = files_below(path) if path.is_dir() else [path]
    size = None if is_stream(path) else sum(file.stat().st_size for file in files)
    return {name: value for name, value in facts.items() if value or name != "unreadable"} | {
        "bytes": size,
        "files": [str(path)],
    }


def _json_lines(states: Sequence[CrawlState], name: str, path: Path, step: Step, chosen: Chosen | None) -> Facts:
    corpora = _corpora(states, step, chosen)
    with _written(path) as file:
        write_json_lines(chain.from_iterable(corpora), file)
    return _counts(corpora)


def _parquet(states: Sequence[CrawlState], name: str, path: Path, step: Step, chosen: Chosen | None) -> Facts:
    corpora = _corpora(states, step, chosen)
    write_table(chain.from_iterable(corpora), path)
    return _counts(corpora)


def _corpora(states: Sequence[CrawlState], step: Step, chosen: Chosen | None) -> list[Corpus]:
    which = every_url if chosen is None else chosen
    return [Corpus(opened, lambda share: step(share / len(states)), which) for opened in states]


def _counts(corpora: Sequence[Corpus]) -> Facts:
    return {"pages": sum(one.rows for one in corpora), "unreadable": sum(one.unreadable for one in corpora)}


def _markdown(states: Sequence[CrawlState], name: str, path: Path, step: Step, chosen: Chosen | None) -> Facts:
    corpora = _corpora(states, step, chosen)
    write_markdown(corpora, path)
    return _counts(corpora)


def _git(states: Sequence[CrawlState], name: str, path: Path, step: Step, chosen: Chosen | None) -> Facts:
    history = History(states)
    with _written(path) as file:
        history.write(file, step)
    return {"versions": history.commits, "unreadable": history.unreadable}


def _warc(states: Sequence[CrawlState], name: str, path: Path, step: Step, chosen: Chosen | None) -> Facts:
    with _archives(states, chosen) as archives, _written(path) as file:
        return {"warc_files": write_warc(archives.folders, file, step), "unreadable": archives.unreadable}


def _wacz(states: Sequence[CrawlState], name: str, path: Path, step: Step, chosen: Chosen | None) -> Facts:
    corpora = _corpora(states, lambda share: step(0.3 * share), chosen)
    with _archives(states, chosen) as archives, _written(path) as file:
        write_wacz(name, corpora, archives.folders, file, time.time(), lambda share: step(0.7 * share))
        return {"pages": sum(one.rows for one in corpora), "unreadable": archives.unreadable}


@contextmanager
def _archives(states: Sequence[CrawlState], chosen: Chosen | None) -> Iterator[Archives]:
    """The archives of all states, as one; of the chosen URLs alone if there is a choice."""
    with ExitStack() as closing:
        found = [closing.enter_context(archives_of(opened)) for opened in states]
        folders = tuple(folder for one in found for folder in one.folders)
        if chosen is not None:
            folders = (closing.enter_context(chosen_records(folders, chosen)),)
        yield Archives(folders, sum(one.unreadable for one in found))


_WRITERS: dict[str, Callable[[Sequence[CrawlState], str, Path, Step, Chosen | None], Facts]] = {
    "jsonl": _json_lines,
    "parquet": _parquet,
    "warc": _warc,
    "markdown": _markdown,
    "git": _git,
    "wacz": _wacz,
}


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """A file that appears when it is complete; or a stream, which receives the bytes as they are written."""
    if not is_stream(path):
        with replacing_file(path) as file:
            yield file
        return
    with os.fdopen(os.dup(1), "wb") if path == STANDARD_OUTPUT else path.open("wb") as stream:
        yield stream
