"""HTML to a document, by one pass over its bytes (`parse/scan.py`): no tree is built.

Links are `a` and `area` (NOFOLLOW by rel nofollow, ugc or sponsored), and what `parse/about.py` finds. Visible text makes the
signature: scripts, styles, hidden elements, `nav`, `footer` and `aside` are left out, unless nothing else is there.

Where this differs from the tree that WHATWG's rules would build:
- links and frames count wherever they are written, also where the tree drops them: within `select`, a `frame` outside a `frameset`;
- the first `title` outside SVG counts, wherever it stands;
- formatting elements that overlap or are never closed are not copied into the paragraphs behind: what a hidden one of them hides
  ends with the block it is in;
- text that the tree would move out of a table stays in its place; text in an `iframe`, `noembed` or `noframes` is not visible;
- in the head, `noscript` may hold anything and ends where it is closed;
- deeper than 512 elements nothing more is hidden or shown.
"""

from centime.model.document import NOFOLLOW, Document
from centime.model.outcome import PageKind
from centime.parse.about import About, not_followed
from centime.parse.gathering import LONGEST_ANCHOR
from centime.parse.names import AREA, BASE, FRAME, HTML, IFRAME, LINK, META, TITLE
from centime.parse.references import without_references
from centime.parse.scan import Scan, scan
from centime.parse.signature import NOTHING, signature_of

_ABOUT = {  # the elements about a page, with the attributes that a row has of them
    BASE: ("base", {"href": 1}),
    LINK: ("link", {"href": 1, "rel": 3, "title": 5}),
    META: ("meta", {"content": 1, "http-equiv": 3, "name": 5}),
    IFRAME: ("iframe", {"src": 1}),
    FRAME: ("frame", {"src": 1}),
}


def read_html(text: bytes, *, url: str, encoding: str, digest: bytes, anchors: bool = False, trouble: str = "") -> Document:
    """The document that valid UTF-8 of HTML says."""
    found = scan(text, anchors=anchors)
    page = About(url)
    language = _gather(text, found, page)
    links = page.links
    signature = signature_of(found.text)
    if signature is None:
        signature = signature_of(scan(text, everything=True).text)
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
        title=page.title,
        language=language.strip()[:40],
        signature=NOTHING if signature is None else signature,
        digest=digest,
        trouble=trouble,
    )


def _gather(text: bytes, found: Scan, page: About) -> str:
    """Adds the links that people follow, and what the page says about itself; gives its language."""
    links = page.links
    language = ""
    taken = 0
    for row in found.rows:
        if row[7] > taken:
            links.extend(found.hrefs[taken : row[7]])
            taken = row[7]
        kind = row[0]
        if kind in _ABOUT:
            tag, places = _ABOUT[kind]
            page.take(tag, lambda name, row=row, places=places: _value(text, row, places[name]))  # type: ignore[misc]
        elif kind == TITLE:
            page.entitle(without_references(text[row[1] : row[2]], attribute=False))
        elif kind == HTML:
            language = language or _value(text, row, 1)
        elif links.add(_value(text, row, 1), NOFOLLOW if not_followed(_value(text, row, 3)) else 0):
            call = _value(text, row, 5) if kind == AREA else found.calls[row[5] : row[6]].decode("utf-8", "ignore") if found.calls else ""
            links.call_last(" ".join(call.split())[:LONGEST_ANCHOR])
    links.extend(found.hrefs[taken:])
    return language


def _value(text: bytes, row: list[int], place: int) -> str:
    """The value of an attribute, nothing if the element has none."""
    return without_references(text[row[place] : row[place + 1]], attribute=True) if row[place] >= 0 else ""
