"""Records of WAT files: what Common Crawl and archives extract from each response: status, headers, links, digest.

Only what is used is decoded; the rest of the JSON is skipped by its parser. A link is one that a reader can follow
(`A@/href`, `AREA@/href`, frames and `LINK@/href` with a relation that leads to pages), as `parse/page_links.py` takes
them. `<meta name="robots">` is obeyed.
"""

import msgspec

from centime.crawl.imports.decoding import NotJson, decoder_of
from centime.crawl.imports.finding import Finding, Item, Trouble, moment_of, number_of
from centime.model.document import ALTERNATE, CANONICAL, EMBEDDED, NOFOLLOW


class _Link(msgspec.Struct, gc=False):
    path: str = ""
    url: str = ""
    rel: str = ""


class _Meta(msgspec.Struct, gc=False):
    name: str = ""
    content: str = ""


class _Head(msgspec.Struct, gc=False):
    metas: list[_Meta] = msgspec.field(name="Metas", default_factory=list)
    links: list[_Link] = msgspec.field(name="Link", default_factory=list)
    base: str = msgspec.field(name="Base", default="")


class _Html(msgspec.Struct, gc=False):
    head: _Head = msgspec.field(name="Head", default_factory=_Head)
    links: list[_Link] = msgspec.field(name="Links", default_factory=list)


class _Status(msgspec.Struct, gc=False):
    status: str | int = msgspec.field(name="Status", default=0)


class _Response(msgspec.Struct, gc=False):
    message: _Status = msgspec.field(name="Response-Message", default_factory=_Status)
    headers: dict[str, str | list[str]] = msgspec.field(name="Headers", default_factory=dict)
    html: _Html | None = msgspec.field(name="HTML-Metadata", default=None)
    digest: str = msgspec.field(name="Entity-Digest", default="")
    size: str | int = msgspec.field(name="Entity-Length", default=0)


class _WarcHead(msgspec.Struct, gc=False):
    url: str = msgspec.field(name="WARC-Target-URI", default="")
    date: str = msgspec.field(name="WARC-Date", default="")
    digest: str = msgspec.field(name="WARC-Payload-Digest", default="")
    truncated: str = msgspec.field(name="WARC-Truncated", default="")


class _Payload(msgspec.Struct, gc=False):
    response: _Response | None = msgspec.field(name="HTTP-Response-Metadata", default=None)


class _Envelope(msgspec.Struct, gc=False):
    head: _WarcHead = msgspec.field(name="WARC-Header-Metadata", default_factory=_WarcHead)
    payload: _Payload = msgspec.field(name="Payload-Metadata", default_factory=_Payload)


class _Record(msgspec.Struct, gc=False):
    envelope: _Envelope = msgspec.field(name="Envelope", default_factory=_Envelope)


_decode = decoder_of(_Record)
_FLAGS = {  # of links, by element and attribute; other links do not lead to pages
    "A@/href": 0,
    "AREA@/href": 0,
    "IFRAME@/src": EMBEDDED,
    "FRAME@/src": EMBEDDED,
}
_RELATIONS = {"alternate": ALTERNATE, "canonical": CANONICAL, "next": 0, "prev": 0}


def is_of_response(content: bytes) -> bool:
    """Whether metadata describe a response; others describe requests and metadata."""
    return b'"HTTP-Response-Metadata"' in content


def finding_of_metadata(content: bytes) -> Item:
    """The visit that the metadata of a response describe."""
    try:
        envelope = _decode(content).envelope
    except NotJson as wrong:
        return Trouble(f"the metadata of a response are not valid JSON: {wrong}")
    response, head = envelope.payload.response, envelope.head
    if response is None or not head.url.startswith(("http://", "https://")):
        return None
    time = moment_of(head.date)
    if not time:
        return Trouble(f"{head.url[:200]}: its record has no date")
    headers = tuple((name.lower(), value) for name, values in response.headers.items() for value in _listed(values))
    hrefs, flags, base = _links(response.html) if response.html is not None else ((), b"", "")
    return Finding(
        head.url,
        time,
        number_of(response.message.status),
        headers,
        None,
        bool(head.truncated),
        hrefs,
        flags,
        base,
        head.digest or response.digest,
        number_of(response.size),
    )


def _links(html: _Html) -> tuple[tuple[str, ...], bytes, str]:
    """The links of a page, their flags, and its base."""
    head = html.head
    page_nofollow = False
    for meta in head.metas:
        if meta.name.lower() == "robots":
            said = meta.content.lower()
            page_nofollow = page_nofollow or "nofollow" in said or "none" in said
    usual = NOFOLLOW if page_nofollow else 0
    links = [link for link in html.links if link.url and link.path in _FLAGS]
    hrefs = [link.url for link in links]
    flags = bytearray(
        [_FLAGS[link.path] | usual | (NOFOLLOW if link.rel and _forbids(link.rel) else 0) for link in links]
    )
    for link in head.links:
        flag = _RELATIONS.get(link.rel.lower()) if link.rel else None
        if flag is not None and link.url:
            hrefs.append(link.url)
            flags.append(flag | usual)
    return tuple(hrefs), bytes(flags), head.base


def _forbids(rel: str) -> bool:
    """Whether a relation asks crawlers not to follow a link."""
    return not {"nofollow", "ugc", "sponsored"}.isdisjoint(rel.lower().split())


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
