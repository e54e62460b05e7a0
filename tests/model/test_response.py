"""Requests and responses are plain values."""

from centime.model.address import fingerprint, host_of
from centime.model.document import MOST_LINKS, Document
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Request, Response


def test_the_first_header_of_a_name_counts() -> None:
    response = Response(
        url="http://a.example/", outcome=Outcome.READ, headers=(("etag", "1"), ("vary", "x"), ("etag", "2"))
    )
    assert response.header("etag") == "1"
    assert response.header("age") == ""


def test_a_request_without_a_copy_is_not_conditional_and_a_document_begins_empty() -> None:
    request = Request(url="http://a.example/")
    assert request.etag == request.modified == ""
    document = Document(kind=PageKind.OTHER)
    assert document.hrefs == ()
    assert MOST_LINKS == 65_534


def test_a_fingerprint_is_64_bits_that_follow_from_the_url_and_never_nothing() -> None:
    assert fingerprint("http://a.example/") == fingerprint("http://a.example/") != fingerprint("http://b.example/")
    assert 0 < fingerprint("http://a.example/") < 2**64


def test_a_host_has_its_scheme_and_port() -> None:
    assert host_of("https://a.example:8443/x/y?z#") == "https://a.example:8443"
