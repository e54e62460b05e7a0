"""Loading XML documents: states, facts, and that nothing but what is held is ever read."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.warehouse import loader
from centime.warehouse.loader import Loaded, State, load, longest_path

URL = "http://h.example/dir/a.xml"
PARTS = {
    "http://h.example/dir/a.dtd": b"<!ELEMENT a (b|c)*><!ATTLIST a k CDATA 'd'><!ELEMENT b (#PCDATA)>"
    b"<!ELEMENT c (b*)><!ENTITY x SYSTEM 'deep/x.ent'><!ENTITY % more SYSTEM 'more.dtd'>%more;",
    "http://h.example/dir/more.dtd": b"<!ELEMENT d EMPTY>",
    "http://h.example/dir/deep/x.ent": b"<b>hello</b>",
}


def loaded(body: bytes, parts: dict[str, bytes] = PARTS) -> Loaded:
    return load(body, URL, lambda url, public: parts.get(url))


def test_an_error_names_its_part_if_that_is_external() -> None:
    dtd = {"http://h.example/dir/a.dtd": b"<!ELEMENT a EMPTY>"}
    assert loaded(b"<!DOCTYPE a SYSTEM 'a.dtd'><a>x</a>", dtd).error.endswith("line 1, column 36")
    assert loaded(b"<a>").error.endswith("line 1, column 4")
    broken = {"http://h.example/dir/a.dtd": b"<!ELEMENT a >"}
    assert loaded(b"<!DOCTYPE a SYSTEM 'a.dtd'><a/>", broken).error.endswith("(a.dtd, line 1)")


def test_a_document_with_its_dtd_and_entities_is_valid_and_says_what_it_is_made_of() -> None:
    found = loaded(
        b"<?xml version='1.0'?><?xml-stylesheet href='s.xsl'?><!DOCTYPE a PUBLIC '-//X' 'a.dtd'>"
        b"<a><c><b>1</b></c>&x;</a>"
    )
    assert (found.state, found.error, found.wanted) == (State.VALID, "", [])
    assert found.facts["parts"] == list(PARTS)
    expected: dict[str, Any] = {
        "root": "a",
        "root_namespace": "",
        "public_id": "-//X",
        "system_id": "a.dtd",
        "dtd": {"elements": 4, "depth": 3},
        "entities": ["more", "x"],
        "stylesheets": ["s.xsl"],
        "elements": 4,
        "names": 3,
        "attributes": 1,
        "depth": 3,
    }
    assert {name: found.facts[name] for name in expected} == expected


def test_namespaces_links_and_includes_are_told() -> None:
    found = loaded(
        b"<a xmlns='urn:a' xmlns:l='http://www.w3.org/1999/xlink' l:href='t'><b xmlns='urn:b'/>"
        b"<i:include xmlns:i='http://www.w3.org/2001/XInclude' href='file:///etc/passwd'/></a>"
    )
    assert (found.state, found.facts["namespaces"]) == (
        State.WELL_FORMED,
        ["urn:a", "urn:b", "http://www.w3.org/2001/XInclude"],
    )
    assert (found.facts["xlinks"], found.facts["includes"]) == (["t"], ["file:///etc/passwd"])
    assert found.facts["dtd"] is None


@pytest.mark.parametrize(
    ("body", "state", "said"),
    [
        (b"<!DOCTYPE a SYSTEM 'a.dtd'><a><z/></a>", State.INVALID, "No declaration for element z"),
        (b"<!DOCTYPE a [<!ELEMENT a EMPTY><!ELEMENT a EMPTY>]><a/>", State.INVALID, "Redefinition of element a"),
        (b"<a><b></a>", State.BROKEN, "mismatch"),
        (b"<a:b/>", State.BROKEN, "Namespace prefix a"),
        (b"", State.BROKEN, ""),
        (b"\0\0\0", State.BROKEN, ""),
        (b"<!DOCTYPE a SYSTEM 'missing.dtd'><a>&y;</a>", State.WAITING, "Entity 'y' not defined"),
        (b"<!DOCTYPE a SYSTEM 'missing.dtd'><a/>", State.WAITING, ""),
    ],
)
def test_every_document_gets_a_state_and_its_first_error(body: bytes, state: State, said: str) -> None:
    found = loaded(body)
    assert found.state is state
    assert said in found.error
    assert found.wanted == (["http://h.example/dir/missing.dtd"] if state is State.WAITING else [])


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ("<?xml version='1.0' encoding='iso-8859-1'?><a/>".encode("utf-8-sig"), State.BROKEN),
        ("<?xml version='1.0' encoding='UTF-8'?><a/>".encode("utf-8-sig"), State.WELL_FORMED),
        ("<?xml version='1.0' encoding='utf-8'?><a/>".encode("utf-16"), State.BROKEN),
        ("<?xml version='1.0' encoding='UTF-16'?><a/>".encode("utf-16"), State.WELL_FORMED),
        ("<?xml version='1.0'?><a/>".encode("utf-16"), State.WELL_FORMED),
    ],
)
def test_a_mark_and_a_declaration_of_two_encodings_contradict_each_other(body: bytes, state: State) -> None:
    assert loaded(body).state == state
    if state is State.BROKEN:
        assert "by its byte order mark" in loaded(body).error
        assert load(body, URL, lambda url, public: None, is_recoded=True).state is State.WELL_FORMED


@pytest.mark.parametrize(("value", "state"), [("b", State.VALID), (" b ", State.INVALID)])
def test_a_document_that_says_to_stand_alone_must_do_so(value: str, state: State) -> None:
    dtd = b"<!ELEMENT a EMPTY><!ATTLIST a t NMTOKEN #IMPLIED>"
    body = f"<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'a.dtd'><a t='{value}'/>".encode()
    assert load(body, URL, lambda url, public: dtd).state == state
    assert load(body.replace(b" standalone='yes'", b""), URL, lambda url, public: dtd).state == State.VALID


def test_a_document_that_waited_is_loaded_when_its_part_has_come() -> None:
    body = b"<!DOCTYPE a SYSTEM 'missing.dtd'><a>&y;</a>"
    parts = {"http://h.example/dir/missing.dtd": b"<!ELEMENT a (#PCDATA)><!ENTITY y 'yes'>"}
    assert loaded(body, parts).state is State.VALID


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE a [<!ENTITY x SYSTEM '%s'>]><a>&x;</a>",
        b"<!DOCTYPE a [<!ENTITY %% x SYSTEM '%s'>%%x;]><a/>",
        b"<!DOCTYPE a SYSTEM '%s'><a/>",
        b"<!DOCTYPE a PUBLIC '-//X' '%s'><a/>",
    ],
)
def test_nothing_is_read_from_the_disk(body: bytes, tmp_path: Path) -> None:
    canary = tmp_path / "canary.dtd"
    canary.write_text("<!ELEMENT a EMPTY>")
    for place in (canary.as_uri(), str(canary)):
        found = loaded(body % place.encode())
        assert found.state in (State.GIVEN_UP, State.WAITING)
        assert found.state is State.GIVEN_UP or place not in str(found.wanted[0]).removeprefix("http://h.example")[:7]


def test_bombs_are_refused() -> None:
    steps = b"".join(b"<!ENTITY a%d '%s'>" % (one, b"&a%d;" % (one - 1) * 10) for one in range(1, 12))
    found = loaded(b"<!DOCTYPE a [<!ENTITY a0 'lol'>" + steps + b"]><a>&a11;</a>")
    assert (found.state, "amplification" in found.error) == (State.GIVEN_UP, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<a>" * 5000 + b"</a>" * 5000, "depth"),
        (b"<a>" + b"x" * 11_000_000 + b"</a>", "Text node too long"),
        (b"<a><!--" + b"x" * 11_000_000 + b"--></a>", "Comment too big"),
        (b"<a" + b"x" * 60_000 + b"/>", "Name too long"),
        (b"<?xml version='1.0' encoding='x-none'?><a>\xe9</a>", "Unsupported encoding"),
        ("<?xml version='1.0' encoding='cp037'?><a/>".encode("cp037"), "Unsupported encoding"),
    ],
    ids=["depth", "text", "comment", "name", "encoding", "ebcdic"],
)
def test_what_the_parser_cannot_do_is_no_fault_of_the_document(body: bytes, said: str) -> None:
    found = loaded(body)
    assert (found.state, found.error.startswith("a limit of the parser")) == (State.GIVEN_UP, True)
    assert said in found.error


def test_a_loop_of_entities_is_a_fault_of_the_document() -> None:
    assert loaded(b"<!DOCTYPE a [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><a>&a;</a>").state is State.BROKEN


def test_the_parts_of_a_part_are_relative_to_where_it_was_redirected() -> None:
    body = b"<!DOCTYPE a SYSTEM 'old.dtd'><a>&x;</a>"
    ends = {"http://h.example/dir/old.dtd": "http://g.example/new/a.dtd"}
    parts = {
        "http://g.example/new/a.dtd": b"<!ELEMENT a (#PCDATA)><!ENTITY x SYSTEM 'x.ent'>",
        "http://g.example/new/x.ent": b"hello",
    }
    assert load(body, URL, lambda url, public: parts.get(url)).wanted == list(ends)
    assert load(body, URL, lambda url, public: parts.get(url), ends).state is State.VALID


def test_too_many_parts_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "MOST_PARTS", 2)
    found = loaded(b"<!DOCTYPE a SYSTEM 'a.dtd'><a>&x;</a>")
    assert (found.state, "more than 2 external parts" in found.error) == (State.GIVEN_UP, True)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.text("<>a &;!'\"[]%DOCTYPENIL=/?-x", max_size=200).map(str.encode))
def test_any_bytes_have_a_state(body: bytes) -> None:
    assert loaded(body).state in State


def test_the_longest_path_ends_or_is_told_to_have_no_end() -> None:
    assert longest_path({}) == 0
    assert longest_path({"a": ["b", "c"], "b": ["c"], "c": []}) == 3
    assert longest_path({"a": ["b"], "b": ["a"]}) is None
    assert longest_path({str(number): [str(number + 1)] for number in range(5000)}) == 5001
