"""XML to a document: the links of each vocabulary, and its words.

| vocabulary | links |
|---|---|
| XLink | `xlink:href` of simple links and locators; EMBEDDED with `xlink:show="embed"` |
| XInclude | `include/@href`: EMBEDDED |
| instructions | `href` of `xml-stylesheet` and of any other: EMBEDDED |
| document type | its system identifier and those of external entities: EMBEDDED |
| RDF | `rdf:resource`, `rdf:about` if they are http |
| Atom | `link/@href`, `content/@src`, `uri` |
| RSS | `link`, `comments`, `docs`, `guid` if it is a permanent link, `enclosure/@url`, `source/@url` |
| sitemaps | `loc` |
| SVG | `a/@href`, besides XLink |
| XHTML | as in HTML |

The `xml:base` of the root counts. Words, by which reads are compared, are those of the text and of some attributes
(`parse/words.py`).

Memory is bounded: the parser streams elements and builds no tree, the document type is removed before (`parse/dtd.py`),
so no entity is ever expanded, and the text of an element is kept up to LONGEST_TEXT. A broken document yields its
readable part, and `trouble` says what is wrong. Trap: libxml2 must get all of a document at once, see
`discover/records.py`.

A document with errors is parsed a second time with its ampersands as character references (`model/ampersands.py`).
"""

import re

from lxml import etree

from centime.model.ampersands import by_number
from centime.model.document import EMBEDDED, NOFOLLOW, Document
from centime.model.outcome import PageKind
from centime.parse.about import About, not_followed
from centime.parse.dtd import DocumentType, document_type_of
from centime.parse.html import include_frame
from centime.parse.scan import words_of

LONGEST_TEXT = 4_096

_XLINK = "{http://www.w3.org/1999/xlink}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_XHTML = "{http://www.w3.org/1999/xhtml}"
_ATOM = "{http://www.w3.org/2005/Atom}"
_SVG_LINK = "{http://www.w3.org/2000/svg}a"
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_INCLUDES = ("{http://www.w3.org/2001/XInclude}include", "{http://www.w3.org/2003/XInclude}include")
_RSS = (
    "",
    "{http://purl.org/rss/1.0/}",
    "{http://my.netscape.com/rdf/simple/0.9/}",
    "{http://channel.netscape.com/rdf/simple/0.9/}",
)
_TEXT_LINKS = frozenset(
    [f"{space}{name}" for space in _RSS for name in ("link", "comments", "docs", "guid")]
    + [
        f"{{http://www.{site}/schemas/sitemap/0.{version}}}loc"
        for site in ("sitemaps.org", "google.com")
        for version in ("9", "84")
    ]
    + ["{http://www.google.com/schemas/sitemap/0.84}loc", "loc", _ATOM + "uri", _XHTML + "title"]
)
_ROOTS_OF_TEXT_LINKS = frozenset(["rss", "RDF", "urlset", "sitemapindex", "feed", "entry", "html"])
_HREF = re.compile(r"\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


def read_xml(
    text: bytes, *, url: str, encoding: str, digest: bytes, anchors: bool = False, trouble: str = ""
) -> Document:
    """The document of XML in UTF-8."""
    kind = document_type_of(text)
    rest = text[: kind.start] + text[kind.end :] if kind.end else text
    rest = rest.replace(b"<!DOCTYPE", b"<!doctype")  # disables a second document type in a broken document
    reader, parser, broken = _read(rest, url, kind)
    if broken or parser.error_log:
        escaped = by_number(rest)
        if escaped != rest:
            reader = _read(escaped, url, kind)[0]
    page = reader.page
    words = words_of(text, xml=True)
    return Document(
        kind=PageKind.XML,
        encoding=encoding,
        base=page.base,
        hrefs=page.links.hrefs,
        flags=page.links.flags,
        anchors=page.links.anchors if anchors else (),
        links_found=page.links.found,
        canonical=page.canonical,
        noindex=page.noindex,
        nofollow=page.nofollow,
        noarchive=page.noarchive,
        title=page.title,
        language=reader.language,
        root=reader.root,
        signature=words.signature,
        digest=digest,
        trouble=trouble or broken,
        words=words,
    )


def _read(text: bytes, url: str, kind: DocumentType) -> tuple["_Reader", etree.XMLParser, str]:
    """The result of one pass over the text, the parser, and what is wrong with the text."""
    reader = _Reader(url)
    for system in (kind.system, *kind.entities):
        reader.page.links.add(system, EMBEDDED)
    parser = etree.XMLParser(
        target=reader, recover=True, resolve_entities=False, no_network=True, huge_tree=False, encoding="utf-8"
    )
    return reader, parser, _parse(parser, text)


def _parse(parser: etree.XMLParser, text: bytes) -> str:
    """Parses a text; returns what is wrong with it in one sentence, empty if nothing is."""
    try:
        etree.fromstring(text, parser)
    except (etree.LxmlError, ValueError, AssertionError) as error:
        return f"The XML is broken: {error}"
    errors = [error for error in parser.error_log if error.type_name != "ERR_UNDECLARED_ENTITY"]
    return f"The XML is broken in line {errors[0].line}: {errors[0].message}." if errors else ""


class _Reader:
    """Handles the parser's events: collects the links."""

    def __init__(self, url: str) -> None:
        self.page = About(url)
        self.root = ""
        self.language = ""
        self._reads_text = False
        self._open = ""  # the element whose text is a link
        self._kept: list[str] = []  # its text
        self._kept_length = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handles the beginning of an element."""
        if attributes:
            attributes = {name: value.replace("&#38;", "&") for name, value in attributes.items()}
        if not self.root:
            self._begin(tag, attributes)
        if attributes:
            self._links(tag, attributes)
        self._open = ""
        if self._reads_text and tag in _TEXT_LINKS and attributes.get("isPermaLink", "").lower() != "false":
            self._open, self._kept, self._kept_length = tag, [], 0

    def end(self, tag: str) -> None:
        """Handles the end of an element."""
        if self._open and tag == self._open:
            text = "".join(self._kept)
            if tag == _XHTML + "title":
                self.page.entitle(text)
            elif not tag.endswith("guid") or text.strip().startswith("http"):
                self.page.links.add(text)
        self._open = ""

    def data(self, data: str) -> None:
        """More text of an element."""
        if self._open and self._kept_length < LONGEST_TEXT:
            self._kept.append(data[:LONGEST_TEXT])
            self._kept_length += len(data)

    def pi(self, target: str, data: str | None = None) -> None:
        """A processing instruction."""
        found = _HREF.search(data or "")
        if found:
            self.page.links.add(found[1] or found[2] or "", EMBEDDED)

    def close(self) -> None:
        """Handles the end of the document."""

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        """Records the name, the base and the language of the root element."""
        self.root = tag.rpartition("}")[2]
        self._reads_text = self.root in _ROOTS_OF_TEXT_LINKS
        self.page.rebase(attributes.get(_XML_BASE, ""))
        self.language = (attributes.get("{http://www.w3.org/XML/1998/namespace}lang") or attributes.get("lang", ""))[
            :40
        ]

    def _links(self, tag: str, attributes: dict[str, str]) -> None:
        """Adds the links in the attributes of an element."""
        add = self.page.links.add
        get = attributes.get
        if _XLINK + "href" in attributes:
            add(attributes[_XLINK + "href"], EMBEDDED if get(_XLINK + "show") == "embed" else 0)
        for name in (_RDF + "resource", _RDF + "about"):
            if get(name, "").startswith(("http://", "https://")):
                add(attributes[name])
        if tag.startswith(_XHTML):
            self._xhtml(tag.removeprefix(_XHTML), attributes)
        elif tag == _SVG_LINK:
            add(get("href", ""))
        elif tag in _INCLUDES:
            add(get("href", ""), EMBEDDED)
        elif tag == _ATOM + "link":
            add(get("href", ""))
        elif tag == _ATOM + "content":
            add(get("src", ""))
        elif tag in ("enclosure", "source") and self.root == "rss":
            add(get("url", ""))

    def _xhtml(self, tag: str, attributes: dict[str, str]) -> None:
        """Adds the links and directives of an XHTML element."""
        if tag in ("a", "area"):
            self.page.links.add(attributes.get("href", ""), NOFOLLOW if not_followed(attributes.get("rel", "")) else 0)
        else:
            self.page.take(tag, lambda name: attributes.get(name, ""))
            if tag == "iframe" and "srcdoc" in attributes:
                include_frame(attributes["srcdoc"], self.page)
