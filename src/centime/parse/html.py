"""HTML to a document, by the parser of lexbor.

Links are `a` and `area` (NOFOLLOW by rel nofollow, ugc or sponsored), and what `parse/about.py` finds. Visible text makes the
signature: scripts, styles, hidden elements, `nav`, `footer` and `aside` are left out, unless nothing else is there.

Lessons measured on documentation pages of 25 KB:
- mutation events cost more than the parse itself: WO_EVENTS brings it from 230 to 120 microseconds;
- one query for all elements costs 30 microseconds however many kinds it asks for, two cost twice that, walking the tree in Python ten
  times that;
- `attrs.sget` builds no dictionary: a third of the time of `attributes`;
- rel of every `a` costs less than searching the page once for `nofollow`: 12 microseconds;
- the parser takes bytes for UTF-8, and builds trees in more than linear time: see `parse/encoding.py` and `parse/tame.py`.
"""

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from centime.model.document import NOFOLLOW, Document
from centime.model.outcome import PageKind
from centime.parse.about import About, not_followed
from centime.parse.gathering import LONGEST_ANCHOR
from centime.parse.signature import signature_of
from centime.parse.tame import flattened, is_tame

_LINKS = "a[href],area[href],base[href],link[href],meta,iframe[src],frame[src],head title"
_UNSEEN = "script,style,noscript,nav,footer,aside,[hidden],[style*='display:none'],[style*='display: none']"
_ANCHOR_NODES = 60  # of one link: nested anchors would make the whole quadratic


def read_html(text: bytes, *, url: str, encoding: str, digest: bytes, anchors: bool = False, trouble: str = "") -> Document:
    """The document that valid UTF-8 of HTML says."""
    if not is_tame(text):
        text, anchors = flattened(text), False
        trouble = trouble or "Nested so deeply or so badly that only its links and its text were read."
    try:
        tree = LexborHTMLParser(text, options=LexborDocumentOptions.WO_EVENTS)
    except SelectolaxError as error:
        return Document(kind=PageKind.HTML, encoding=encoding, base=url, digest=digest, trouble=f"The parser gave up: {error}")
    page = About(url)
    _gather(tree, page, anchors)
    language = tree.root.attrs.sget("lang") if tree.root is not None else ""
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
        title=page.title,
        language=language.strip()[:40],
        signature=signature_of(_visible(tree) or _whole(text)),
        digest=digest,
        trouble=trouble,
    )


def _visible(tree: LexborHTMLParser) -> str:
    """The text that a reader came for, nothing if it is all white space; takes the rest out of the tree."""
    body = tree.body
    if body is None:
        return ""
    gone = 0
    for node in reversed(tree.css(_UNSEEN)):  # what lies inside others first, and what is there for two reasons once
        if node.mem_id != gone:
            gone = node.mem_id
            node.decompose()
    text = body.text_lexbor()
    return "" if text.isspace() else text


def _whole(text: bytes) -> str:
    """All text of a page where nothing is left without what is unseen: rare, so that parsing it again costs less than keeping it."""
    body = LexborHTMLParser(text, options=LexborDocumentOptions.WO_EVENTS).body
    return "" if body is None else body.text_lexbor()


def _gather(tree: LexborHTMLParser, page: About, anchors: bool) -> None:
    """Adds the links that people follow, and what the page says about itself."""
    links = page.links
    add, followed = links.add, links.is_followed
    for node in tree.css(_LINKS):
        tag, attributes = node.tag, node.attrs
        if tag == "a" or tag == "area":
            href = attributes.sget("href")
            if followed(href):  # four in ten: it is there already, and no rel takes that back
                continue
            rel = attributes.sget("rel")
            if add(href, NOFOLLOW if rel and not_followed(rel) else 0) and anchors:
                links.call_last(_anchor(node))
        elif tag == "title":
            page.entitle(node.text_lexbor())
        else:
            page.take(tag or "", attributes.sget)


def _anchor(node: LexborNode) -> str:
    """The text of a link, white space collapsed; the alternative text of an area or of a picture."""
    if node.tag == "area":
        return " ".join(node.attrs.sget("alt").split())[:LONGEST_ANCHOR]
    pieces: list[str] = []
    waiting = [node.first_child]
    for _ in range(_ANCHOR_NODES):
        if not waiting:
            break
        child = waiting.pop()
        if child is None:
            continue
        waiting.append(child.next)
        if child.tag == "-text":
            pieces.append(child.text_content or "")
        elif child.tag == "img":
            pieces.append(child.attrs.sget("alt"))
        else:
            waiting.append(child.first_child)
    return " ".join("".join(pieces).split())[:LONGEST_ANCHOR]
