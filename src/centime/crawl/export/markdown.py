"""The stored pages as Markdown files in a folder, each with its metadata in front (YAML)."""

import json
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

import ada_url

from centime.crawl.export.corpus import Corpus
from centime.crawl.export.naming import markdown_name
from centime.crawl.report.opening import moment
from centime.search.page_text import ASIDE, MOST_BYTES, TITLE
from centime.warehouse.comparison import HTML
from centime.warehouse.contents import Contents
from centime.warehouse.markdown import markdown_of
from centime.warehouse.tree import html_tree


def write_markdown(corpora: Sequence[Corpus], folder: Path) -> None:
    """Writes a file for each page into a new folder, which appears when it is complete; the corpora count pages, and
    bodies that could not be read.
    """
    place = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.part")
    place.mkdir()
    try:
        for corpus in corpora:
            _write_all(corpus, place)
        if folder.exists():
            folder.rmdir()  # it is empty
        place.rename(folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write_all(corpus: Corpus, place: Path) -> None:
    for body, data, content_type, importance, made in corpus.texts():
        facts = {
            "url": body.url,
            "title": made.title,
            "language": made.language or None,
            "importance": importance,
            "changed": moment(body.time),
        }
        head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in facts.items())
        text = _markdown(data, content_type, body.url) if made.kind == HTML else f"{made.text}\n"
        path = place / markdown_name(body.url)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{head}---\n\n{text}", errors="replace")


def _markdown(data: bytes, content_type: str, url: str) -> str:
    tree = html_tree(data[:MOST_BYTES], Contents(), content_type, url)
    made = (markdown_of(tree, lambda href: _absolute(href, url), left_out) for left_out in (ASIDE, TITLE))
    return next(filter(None, made), "")


def _absolute(href: str, url: str) -> str:
    """A link that works outside the site; # for a script and the like."""
    try:
        joined = str(ada_url.join_url(url, href))
    except ValueError:
        return "#"
    return joined if joined.startswith(("http:", "https:", "mailto:")) else "#"
