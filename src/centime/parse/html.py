"""HTML to a document in one pass over its bytes (`parse/scan.py`), without a tree.

Links are `a` and `area` (NOFOLLOW if rel has nofollow, ugc or sponsored), and the elements of `parse/about.py`. Those
of a page that is written in the `srcdoc` of a frame belong to the page around it, and so do those in a template that
browsers show (declarative shadow DOM). Other templates have no links.

Differences from the tree that the rules of WHATWG build:

- Links and frames count everywhere, also where the tree drops them: inside `select`, a `frame` outside a `frameset`.
- The first `title` outside SVG counts, wherever it is.
- Formatting elements that overlap or stay open are not copied into the following paragraphs, and text that the tree
  would move out of a table stays in its place: both matter only for the paths of words (`parse/words.py`).
- In the head, `noscript` may contain anything and ends at its end tag.
- Below a depth of 512 elements, paths no longer change.
"""

import re

from centime.model.document import EMBEDDED, NOFOLLOW, Document
from centime.model.outcome import PageKind
from centime.parse.about import MOST_FRAMES, About, not_followed
from centime.parse.gathering import LONGEST_ANCHOR
from centime.parse.names import AREA, BASE, FRAME, HTML, IFRAME, LINK, META, TITLE
from centime.parse.references import without_references
from centime.parse.scan import Scan, scan

DEEPEST_FRAME = 4  # of frames in `srcdoc` in one another

_NOT_AS_WRITTEN = re.compile(rb"[&\r\0]").search


def read_html(
    text: bytes, *, url: str, encoding: str, digest: bytes, anchors: bool = False, trouble: str = ""
) -> Document:
    """The document of an HTML page in valid UTF-8."""
    found = scan(text, anchors=anchors)
    page = About(url)
    language = _gather(text, found, page, anchors=anchors)
    if page.frames > MOST_FRAMES:
        trouble = trouble or f"Only the first {MOST_FRAMES} of {page.frames} frames with srcdoc were read."
    links = page.links
    return Document(
        kind=PageKind.HTML,
        encoding=encoding,
        base=page.base,
        hrefs=links.hrefs,
        flags=links.flags,
        anchors=links.anchors if anchors else (),
        links_found=links.found,
        canonical=page.canonical,
        noindex=page.noindex,
        nofollow=page.nofollow,
        noarchive=page.noarchive,
        title=page.title,
        language=language.strip()[:40],
        signature=found.words.signature,
        digest=digest,
        trouble=trouble,
        words=found.words,
    )


def include_frame(srcdoc: str, page: About, *, anchors: bool = False, depth: int = 1) -> None:
    """Adds the links of the page that is written in the `srcdoc` of a frame to the page around it."""
    page.frames += 1
    if page.frames > MOST_FRAMES or depth > DEEPEST_FRAME:
        return
    text = srcdoc.encode("utf-8", "replace")
    frame = About(page.base)
    frame.frames = page.frames
    _gather(text, scan(text, anchors=anchors), frame, anchors=anchors, depth=depth)
    page.frames = frame.frames
    page.include(frame)


def _gather(text: bytes, found: Scan, page: About, *, anchors: bool, depth: int = 0) -> str:
    """Adds the links and the descriptive elements to `page`; returns its language."""

    def value(place: int) -> str:
        start = row[place]
        if start < 0:
            return ""
        written = text[start : row[place + 1]]
        return without_references(written, attribute=True) if _NOT_AS_WRITTEN(written) else written.decode()

    links = page.links
    language = ""
    taken = 0
    for row in found.rows:
        kind, before = row[0], row[7]
        if before > taken:
            links.extend(found.hrefs[taken:before])
            taken = before
        if kind == LINK:
            page.relate(value(3), value(1), value(5))
        elif kind == META:
            page.direct(value(5), value(3), value(1))
        elif kind == TITLE:
            page.entitle(without_references(text[row[1] : row[2]], attribute=False))
        elif kind == HTML:
            language = language or value(1)
        elif kind == BASE:
            page.rebase(value(1))
        elif kind in (IFRAME, FRAME):
            links.add(value(1), EMBEDDED)
            if row[3] >= 0:
                include_frame(value(3), page, anchors=anchors, depth=depth + 1)
        elif links.add(value(1), NOFOLLOW if not_followed(value(3)) else 0):
            anchor = (
                value(5)
                if kind == AREA
                else found.anchor_text[row[5] : row[6]].decode("utf-8", "ignore").replace("\0", "")
                if found.anchor_text
                else ""
            )
            links.set_last_anchor(" ".join(anchor.split())[:LONGEST_ANCHOR])
    links.extend(found.hrefs[taken:])
    return language
