"""Exports stored bodies: what `centime export` does for the formats that need them."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from centime.crawl.engine.damage import damage_closes
from centime.crawl.engine.state import CrawlState
from centime.crawl.export.archives import archives_of, write_wacz, write_warc
from centime.crawl.export.corpus import Corpus, write_json_lines, write_table
from centime.crawl.export.history import History
from centime.crawl.export.markdown import write_markdown
from centime.crawl.search.updating import must_have_bodies
from centime.files.listing import files_below
from centime.files.replacement import STANDARD_OUTPUT, is_stream, replacing_file

Step = Callable[[float], None]
Facts = dict[str, Any]


def export_bodies(opened: CrawlState, form: str, path: Path, step: Step) -> Facts:
    """Writes stored bodies in a format; returns what was written. BadInput if there are none."""
    must_have_bodies(opened)
    with damage_closes(opened.folder.path):
        facts = _FORMATS[form](opened, path, step)
    files = files_below(path) if path.is_dir() else [path]
    size = None if is_stream(path) else sum(file.stat().st_size for file in files)
    return {name: value for name, value in facts.items() if value or name != "unreadable"} | {
        "bytes": size,
        "files": [str(path)],
    }


def _json_lines(opened: CrawlState, path: Path, step: Step) -> Facts:
    corpus = Corpus(opened, step)
    with _written(path) as file:
        write_json_lines(corpus, file)
    return {"pages": corpus.rows, "unreadable": corpus.unreadable}


def _parquet(opened: CrawlState, path: Path, step: Step) -> Facts:
    corpus = Corpus(opened, step)
    write_table(iter(corpus), path)
    return {"pages": corpus.rows, "unreadable": corpus.unreadable}


def _markdown(opened: CrawlState, path: Path, step: Step) -> Facts:
    pages, unreadable = write_markdown(opened, path, step)
    return {"pages": pages, "unreadable": unreadable}


def _git(opened: CrawlState, path: Path, step: Step) -> Facts:
    history = History(opened)
    with _written(path) as file:
        history.write(file, step)
    return {"versions": history.commits, "unreadable": history.unreadable}


def _warc(opened: CrawlState, path: Path, step: Step) -> Facts:
    with archives_of(opened) as archives, _written(path) as file:
        return {"warc_files": write_warc(archives.folders, file, step), "unreadable": archives.unreadable}


def _wacz(opened: CrawlState, path: Path, step: Step) -> Facts:
    with archives_of(opened) as archives, _written(path) as file:
        pages = write_wacz(opened, archives.folders, file, time.time(), step)
        return {"pages": pages, "unreadable": archives.unreadable}


_FORMATS: dict[str, Callable[[CrawlState, Path, Step], Facts]] = {
    "jsonl": _json_lines,
    "parquet": _parquet,
    "markdown": _markdown,
    "git": _git,
    "warc": _warc,
    "wacz": _wacz,
}


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """A file that appears when it is complete; or a stream, which takes the bytes as they come."""
    if not is_stream(path):
        with replacing_file(path) as file:
            yield file
        return
    with os.fdopen(os.dup(1), "wb") if path == STANDARD_OUTPUT else path.open("wb") as stream:
        yield stream
