import pytest

from centime.model.outcome import PageKind
from centime.parse.kind import is_pdf, kind_of
from centime.warehouse.comparison import BINARY, Document

XML = b'<?xml version="1.0"?>'


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<html><body>", "text/html", PageKind.HTML),
        (b"anything", "text/html; charset=utf-8", PageKind.HTML),
        (b"", "text/html", PageKind.HTML),
        (XML + b"<catalogue/>", "text/html", PageKind.XML),
        (XML + b"<!-- c --><!DOCTYPE rss><rss/>", "text/html", PageKind.XML),
        (XML + b"<html><body>", "text/html", PageKind.HTML),
        (XML + b'<html xmlns="http://www.w3.org/1999/xhtml">', "text/html", PageKind.HTML),
        (XML + b'<html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml", PageKind.XML),
        (XML + b"<!ELEMENT a (b)>", "text/html", PageKind.HTML),
        (XML + b"<html><body>", "application/xml", PageKind.HTML),
        (XML + b'<html xmlns="http://www.w3.org/1999/xhtml">', "application/xml", PageKind.XML),
        (b'<html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml", PageKind.XML),
        (b'<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml", PageKind.XML),
        (b"<html><body>", "application/xhtml+xml; charset=utf-8", PageKind.HTML),
        (b"anything", "application/xhtml+xml", PageKind.XML),
        (b"<rss/>", "text/xml", PageKind.XML),
        (b"<feed/>", "application/atom+xml; charset=utf-8", PageKind.XML),
        (b"<a><b/></a>", "application/xml", PageKind.XML),
        (b"<svg/>", "image/svg+xml", PageKind.XML),
        (b"", "text/xml", PageKind.XML),
        (b"<!ELEMENT a (b)>", "application/xml-dtd", PageKind.DTD),
        (b"<!-- a DTD -->\n<!ELEMENT a (b)>", "text/plain", PageKind.DTD),
        (XML + b'<!ENTITY % x "y">', "", PageKind.DTD),
        (b"<!doctype html><p>", "", PageKind.HTML),
        (b"  <HTML>", "application/octet-stream", PageKind.HTML),
        (b"<catalogue/>", "", PageKind.XML),
        (b"just words", "", PageKind.OTHER),
        (b"just words", "text/plain", PageKind.OTHER),
        (b"<a href=/x>source code</a>", "text/plain", PageKind.OTHER),
        (XML + b"<catalogue/>", "text/plain", PageKind.XML),
        (b"%PDF-1.7", "text/html", PageKind.OTHER),
        (b"\x89PNG\r\n", "text/xml", PageKind.OTHER),
        (b"<html>", "application/pdf", PageKind.OTHER),
        (b"<html>", "image/png", PageKind.OTHER),
        (b"a\x00b", "text/html", PageKind.HTML),
        (b"a\x00b", "", PageKind.OTHER),
        (b"<p>price\x00list</p>", "", PageKind.HTML),
        (b"<p>price\x00list</p>", "text/plain", PageKind.OTHER),
        (b"<list>price\x00list</list>", "", PageKind.OTHER),
        (b"<list>price\x00list</list>", "text/xml", PageKind.XML),
        (b"BMW sells cars.", "text/html", PageKind.HTML),
        (b"BM\x36\x00\x0c\x00\x00\x00\x00\x00\x36", "text/html", PageKind.OTHER),
        (b"RIFF is a format.", "text/html", PageKind.HTML),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "text/html", PageKind.OTHER),
        (b"\x00\x00\x00\x18ftypmp42", "text/html", PageKind.OTHER),
        (b"\x00\x00\x01\x00\x01\x00", "text/html", PageKind.OTHER),
        (b"<a href=/x>x</a>", "text/html, text/html; charset=utf-8", PageKind.HTML),
        (b"<a href=/x>x</a>", "text/plain, text/html", PageKind.HTML),
        (b"<a href=/x>x</a>", "text/html, text/plain", PageKind.OTHER),
        (b"<a href=/x>x</a>", "html", PageKind.HTML),
        (b"just words", "html", PageKind.OTHER),
        (b"just words", "text/html charset=utf-8", PageKind.HTML),
        (b"<list/>", "*/*", PageKind.XML),
        ("\ufeff<html>".encode("utf-16-le"), "", PageKind.HTML),
        ("<rss/>".encode("utf-16-be"), "text/xml", PageKind.XML),
        (b"\xef\xbb\xbf<html>", "", PageKind.HTML),
    ],
)  # fmt: skip
def test_a_page_is_what_its_type_and_its_beginning_say(body: bytes, content_type: str, kind: PageKind) -> None:
    assert kind_of(body, content_type) is kind


JUNK = b"junk\n" * 100


@pytest.mark.parametrize(
    ("body", "content_type", "pdf"),
    [
        (b"%PDF-1.4\n", "", True),
        (b"\n%PDF-1.4\n", "text/html", True),
        (JUNK + b"%PDF-1.4\n", "application/pdf", True),
        (JUNK + b"%PDF-1.4\n", "application/x-pdf; charset=utf-8", True),
        (JUNK + b"%PDF-1.4\n", "application/octet-stream", True),
        (JUNK + b"%PDF-1.4\n", "", True),
        (JUNK * 3 + b"%PDF-1.4\n", "", False),
        (b"A PDF begins with %PDF-1.4", "", False),
        (b"A PDF begins with\n%PDF-1.4\n", "text/plain", False),
        (b"no header at all", "application/pdf", True),
        (b"words", "text/plain", False),
    ],
)  # fmt: skip
def test_a_pdf_is_what_is_declared_as_one_or_has_its_header_among_the_first_bytes(
    body: bytes, content_type: str, pdf: bool
) -> None:
    assert is_pdf(body, content_type) == pdf
    assert (Document(body, content_type).form() == BINARY) == pdf
