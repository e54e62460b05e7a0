import time

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from centime.model.document import MOST_LINKS, Document
from centime.model.outcome import PageKind
from centime.parse.document import read_document

TYPES = st.sampled_from(
    [
        "",
        "text/html",
        "text/html; charset=utf-16",
        "text/xml",
        "application/rss+xml",
        "application/xml-dtd",
        "text/plain",
    ]
)
WORDS = (
    "<html> <p> </p> <b> </b> <a /a> </a> <table> <td> <svg> </svg> <script> </script> <!-- --> <title>x</title>"
    " <base/href=/b/> <frameset> <template> <?xml?> <![CDATA[ ]]> <!DOCTYPE [ ]> <!ENTITY SYSTEM 'e' & &amp; &#0; \" '"
    " = < > / <r> </r> <rss> <link> <select> <math> é"
)
PIECES = [
    *WORDS.split(),
    " ",
    "<a href=/x>",
    "<a href='/y' rel=nofollow>",
    "<meta http-equiv=refresh content='0;url=/z'>",
    '<?xml version="1.0"?>',
]
MARKUP = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def check(document: Document, body: bytes) -> None:
    assert document.digest == xxhash.xxh3_128_digest(body)
    assert len(document.hrefs) == len(document.flags) == min(document.links_found, MOST_LINKS)
    assert len(set(document.hrefs)) == len(document.hrefs)
    assert 0 <= document.signature < 2**64
    for href in document.hrefs:
        href.encode()  # no surrogates


@given(st.binary(max_size=300), TYPES, st.booleans())
def test_any_bytes_are_some_document(body: bytes, content_type: str, anchors: bool) -> None:
    check(read_document(body, url="https://h/", content_type=content_type, anchors=anchors), body)


@given(MARKUP, TYPES, st.sampled_from(["utf-8", "utf-16", "latin-1"]), st.booleans())
def test_any_markup_is_some_document(text: str, content_type: str, encoding: str, anchors: bool) -> None:
    body = text.encode(encoding, "replace")
    document = read_document(body, url="https://h/", content_type=content_type, anchors=anchors)
    check(document, body)
    assert document == read_document(body, url="https://h/", content_type=content_type, anchors=anchors)
    assert len(document.anchors) in (0, len(document.hrefs))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "unit",
    [
        b"<div>", b"<a href=x><object>", b"<b><div>", b"<font size=1><p>", b"<table><a href=x>", b"<svg><input>",
        b"<a ", b"<!--", b"<span><div></span></div>", b"<div><object></div></object>", b"<i><b></i></b><p>",
        b"<ul><li>", b"</br>", b"\xff", b"<template>", b"<a href=x>", b"&", b"&a", b"&#1", b"<", b"</", b"<a href='",
        b"<title>", b"<script><!--<script>", b"<p hidden>", b"<svg><title>", b"<x ", b"<p hidden><button>",
        b"<table><tr hidden>", b"<li hidden></ul>", b"<b hidden></i>", b"<svg></p>", b"<div style=display:", b"a=b ",
    ],
)  # fmt: skip
def test_a_megabyte_of_anything_takes_a_second_at_most(unit: bytes) -> None:
    read_document(b"<p>", url="https://h/", content_type="text/html")
    body = unit * (1_000_000 // len(unit))
    start = time.process_time()
    check(read_document(body, url="https://h/", content_type="text/html"), body)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("unit", [b"<i", b"<i a='b' ", b"<!DOCTYPE a [", b"<!ENTITY a SYSTEM '", b"</", b"<a>", b"&a;"])
def test_xml_without_end_takes_linear_time(unit: bytes) -> None:
    body = b"<r>" + unit * (300_000 // len(unit)) + b">"
    start = time.process_time()
    check(read_document(body, url="https://h/", content_type="text/xml"), body)
    assert time.process_time() - start < 2.0


@pytest.mark.compiled
def test_unclosed_formatting_does_not_multiply() -> None:
    body = (
        b"<p>"
        + b"".join(b"<b id=%d>" % number for number in range(5_000))
        + b"</p>"
        + b"<p>x</p>" * 5_000
        + b"<a href=/found>y</a>"
    )
    start = time.process_time()
    document = read_document(body, url="https://h/", content_type="text/html")
    assert time.process_time() - start < 1.0
    assert document.hrefs == ("/found",)
    assert not document.trouble


@pytest.mark.compiled
def test_a_hundred_thousand_attributes_do_not_stop_the_reader() -> None:
    body = b"<a " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b" href=x>y</a><a href=/found>z</a>"
    start = time.process_time()
    assert "/found" in read_document(body, url="https://h/", content_type="text/html").hrefs
    assert time.process_time() - start < 1.0


@pytest.mark.compiled
def test_links_beyond_the_cap_are_counted_and_not_kept() -> None:
    body = b"".join(b"<a href=/%d>x</a>" % number for number in range(70_000))
    document = read_document(body, url="https://h/", content_type="text/html")
    assert document.links_found == 70_000
    assert len(document.hrefs) == MOST_LINKS
    assert document.hrefs[-1] == f"/{MOST_LINKS - 1}"
    assert document.trouble == "Only the first 65534 of 70000 links were read."


def test_a_cut_body_is_said_to_be_one() -> None:
    assert read_document(b"<p>x", url="https://h/", content_type="text/html", truncated=True).trouble
    assert read_document(b"%PDF-1.4", url="https://h/", truncated=True).trouble
    assert not read_document(b"<p>x", url="https://h/", content_type="text/html").trouble


def test_what_is_no_page_has_a_digest_and_no_links() -> None:
    document = read_document(b"%PDF-1.4 <a href=x>", url="https://h/", content_type="text/html")
    assert document.kind is PageKind.OTHER
    assert document.hrefs == ()
    assert document.signature == int.from_bytes(document.digest[:8], "big")


XHTML = b'<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="a.js"/></head><body>%b</body></html>'


@pytest.mark.parametrize("before", [b"", b"<!DOCTYPE html>\n", b'<?xml version="1.0"?>'])
def test_a_script_that_closes_itself_swallows_no_links_of_a_page_served_as_xhtml(before: bytes) -> None:
    body = before + XHTML % b"<p><a href='/x'>one</a> <a href='/y'>two</a></p>"
    document = read_document(body, url="http://h/", content_type="application/xhtml+xml; charset=utf-8")
    assert document.kind is PageKind.XML
    assert {"/x", "/y"} <= set(document.hrefs)
    swallowed = read_document(body, url="http://h/", content_type="text/html")
    assert "/x" not in swallowed.hrefs


def test_broken_xhtml_gives_the_links_that_html_would_give_and_says_that_it_is_broken() -> None:
    body = XHTML.replace(b"/>", b"></script>") % b"<p>a < b & c<a href=/x>one<br><a href='/y'>two</a><a href=/z>"
    document = read_document(body, url="http://h/", content_type="application/xhtml+xml")
    assert {"/x", "/y", "/z"} <= set(document.hrefs)
    assert "broken" in document.trouble
