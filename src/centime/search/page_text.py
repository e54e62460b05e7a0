"""The text of a page for the index: title, main text, language and kind.

Guarantee: time and memory are at most in proportion to MOST_BYTES, for any bytes. The passes over HTML and XML are
linear for any nesting, entities are not expanded, and bytes behind MOST_BYTES are not read. XML that is not well
formed, or is cut, is read as HTML: that never fails.

The main text leaves out parts that all pages of a site repeat: elements for navigation, asides and footers. A page that
has nothing else has all of its text.
"""

from dataclasses import dataclass

from centime.parse.document import read_document
from centime.parse.encoding import as_utf8
from centime.parse.kind import is_pdf
from centime.warehouse.comparison import BINARY, HTML, TEXT, XML, Document
from centime.warehouse.contents import Contents
from centime.warehouse.sentences import paragraphs_of
from centime.warehouse.tree import NotWellFormed, Tree, html_tree, xml_tree

MOST_BYTES = 8 << 20  # of a body
MOST_CHARACTERS = 2 << 20  # of its text
LONGESTTITLE = 500
PDF, OTHER = "pdf", "other"
KINDS = (HTML, XML, TEXT, PDF, OTHER)
TITLE = frozenset({"title"})
ASIDE = TITLE | frozenset({"nav", "aside", "footer", "button", "select", "datalist", "textarea", "dialog"})


@dataclass(frozen=True, slots=True)
class PageText:
    """The fields of a page in the index."""

    kind: str
    text: str = ""  # a paragraph in each line
    title: str = ""
    language: str = ""  # "en", "zh"
    trouble: str = ""  # why it has no text, if it should have one


def page_text(body: bytes, content_type: str, url: str) -> PageText:
    """The text of a body; empty for formats that this module does not read, such as PDF."""
    cut = body[:MOST_BYTES]
    form = Document(cut, content_type, url).form()
    if form == BINARY:
        return PageText(PDF if is_pdf(body, content_type) else OTHER)
    if form == TEXT:
        lines = as_utf8(cut, content_type, url=url)[0].decode(errors="replace").splitlines()
        return PageText(TEXT, _together([" ".join(line.split()) for line in lines]))
    read = read_document(cut, url=url, content_type=content_type, truncated=len(cut) < len(body))
    tree, is_html = _tree(cut, form, content_type, url)
    lines = paragraphs_of(tree, html=is_html, left_out=ASIDE) if is_html else []
    text = _together(lines or paragraphs_of(tree, html=is_html, left_out=TITLE))
    title = " ".join(read.title.split())[:LONGESTTITLE]
    return PageText(form, text, title, read.language.partition("-")[0].strip().lower()[:8])


def _tree(body: bytes, form: str, content_type: str, url: str) -> tuple[Tree, bool]:
    """The tree of a page, and whether it was read as HTML."""
    if form == XML:
        try:
            return xml_tree(body, Contents(), content_type), False
        except NotWellFormed:
            pass
    return html_tree(body, Contents(), content_type, url), True


def _together(lines: list[str]) -> str:
    return "\n".join(filter(None, lines))[:MOST_CHARACTERS]
