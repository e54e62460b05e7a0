"""Evaluates an XQuery in stored pages, the most important first (`xquerying.py` is the process that does it)."""

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec

from centime.crawl.documents.examiner import examiner
from centime.crawl.documents.examining import Task
from centime.crawl.documents.querying import LONGEST_XPATH, Answer, kinds_of
from centime.crawl.documents.xquerying import STATIC
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.bodies import capture_at, captures_of, typed_body_of
from centime.model.errors import BadSetting, CentimeError, UnknownPage
from centime.store.versions.database import keeping_open

MODULE = "centime.crawl.documents.xquerying"
MOST_BYTES = 64 << 20  # of a page


def query_by_xquery(
    opened: CrawlState,
    text: str,
    pages: Iterable[tuple[str, float]],
    *,
    kind: str = "any",
    at: str | None = None,
    step: Callable[[int], None] = lambda done: None,
) -> Iterator[Answer]:
    """The pages whose stored body is of a kind and in which an XQuery finds something, and those in which it could not
    be evaluated; BadSetting if the query is invalid.
    """
    if find_spec("saxonche") is None:
        raise BadSetting("XQuery needs the package saxonche: pip install 'centime[xquery]'")
    if len(text) > LONGEST_XPATH:
        raise BadSetting(f"an XQuery has at most {LONGEST_XPATH} characters, not {len(text)}")
    kinds = kinds_of(kind)
    path = opened.folder.path
    with examiner(path, module=MODULE) as asking, keeping_open():
        tried = asking.examine(Task("", text, body=b"<a/>", content_type="application/xml"))
        if tried.error.startswith(STATIC):
            raise BadSetting(f"{text!r} is not an XQuery (3.1): {tried.error.removeprefix(STATIC)}")
        for url, importance in pages:
            step(1)
            try:
                body, content_type = typed_body_of(path, capture_at(captures_of(path, url), at))
            except UnknownPage:
                continue
            except (CentimeError, OSError) as error:
                yield Answer(url, importance, [], 0, f"{type(error).__name__}: {error}"[:500])
                continue
            if len(body) > MOST_BYTES:
                yield Answer(url, importance, [], 0, f"it has {len(body)} bytes, more than {MOST_BYTES}")
                continue
            found = asking.examine(Task(url, text, kinds=kinds, body=body, content_type=content_type))
            if found.count or found.error:
                yield Answer(url, importance, found.found, found.count, found.error)
