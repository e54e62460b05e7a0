"""Links in the head of an answer: `Link` and `Refresh`, by the rules of `<link>` and `<meta http-equiv=refresh>`.

A `Link` header is a list of `<URL>; rel="next"; title="..."`. Its URLs are relative to the URL of the page, whatever
`<base>` says. A link with `anchor` starts at another page, and is skipped.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import ada_url

from centime.model.document import Document
from centime.parse.about import About
from centime.parse.requisites import names_a_file

_REL = re.compile(r";\s*+rel\s*+=\s*+(?:\"([^\"]*)\"|([^\s;,\"]*))", re.IGNORECASE).search
_ANCHOR = re.compile(r";\s*+anchor\s*+=", re.IGNORECASE).search


def with_header_links(document: Document, headers: Iterable[tuple[str, str]], url: str) -> Document:
    """The document of a page at `url` with the links of the answer's headers, whose names are in lower case."""
    about = About(url)
    for name, value in headers:
        if name == "link":
            _relate(about, value)
        elif name == "refresh":
            about.direct("", "refresh", value)
    found = about.links
    if not found.found:
        return document
    targets = [(_joined(url, href), flags) for href, flags in zip(found.hrefs, found.flags, strict=True)]
    targets = [target for target in targets if target[0]]
    return replace(
        document,
        hrefs=document.hrefs + tuple(target for target, _ in targets),
        flags=document.flags + bytes(flags for _, flags in targets),
        anchors=document.anchors and document.anchors + ("",) * len(targets),
        links_found=document.links_found + len(targets),
        canonical=document.canonical or _joined(url, about.canonical),
    )


def header_requisites(headers: Iterable[tuple[str, str]], url: str) -> tuple[str, ...]:
    """The files that a page at `url` needs by its `Link` headers, as absolute URLs: style sheets, preloads, icons."""
    links = [link for name, value in headers if name == "link" for link in _links(value)]
    return tuple(joined for rel, href in links if names_a_file(rel) and (joined := _joined(url, href)))


def header_relations(headers: Iterable[tuple[str, str]], url: str, relations: Collection[str]) -> list[tuple[str, str]]:
    """Those of the `Link` headers of a page at `url` that have one of these relations, as relation and absolute URL."""
    links = [link for name, value in headers if name == "link" for link in _links(value)]
    found = [(one, _joined(url, href)) for rel, href in links for one in rel.lower().split() if one in relations]
    return [(relation, target) for relation, target in found if target]


def _relate(about: About, value: str) -> None:
    """Records the links of one header."""
    for rel, href in _links(value):
        about.relate(rel, href, "")


def _links(value: str) -> Iterator[tuple[str, str]]:
    """The rel and the URL of each link of one header."""
    begin = value.find("<")
    while begin >= 0:
        end = value.find(">", begin)
        if end < 0:
            return
        after = value.find("<", end)
        parameters = value[end + 1 : after if after >= 0 else len(value)]
        rel = _REL(parameters)
        if rel and not _ANCHOR(parameters):
            yield rel[1] or rel[2] or "", value[begin + 1 : end]
        begin = after


def _joined(url: str, href: str) -> str:
    """An absolute URL, empty if unparsable."""
    try:
        return ada_url.join_url(url, href) if href else ""
    except ValueError:
        return ""
