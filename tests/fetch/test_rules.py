import codecs
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from centime.fetch.rules import MOST_BYTES, MOST_LINE_BYTES, MOST_SITEMAPS, parse_rules

HOST = "http://a.example"


def _allows(text: str, path: str, product: str = "centime") -> bool:
    return parse_rules(text.encode(), product).allows(HOST + path)


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/", True),
        ("User-agent: *\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow:", "/x", True),
        ("user-AGENT: *\ndisALLOW: /x", "/x", False),
        ("User-agent: other\nDisallow: /", "/x", True),
        ("Disallow: /", "/x", True),
        # agents by product token
        ("User-agent: CENTIME\nDisallow: /", "/x", False),
        ("User-agent: Centime/2.0 beta\nDisallow: /", "/x", False),
        ("User-agent: centime robot\nDisallow: /", "/x", False),
        ("User-agent: centimeter\nDisallow: /", "/x", True),
        ("User-agent: cent\nDisallow: /", "/x", True),
        # the group for us, not the one for all; several groups for us are one
        ("User-agent: *\nDisallow: /\n\nUser-agent: centime\nDisallow: /a", "/x", True),
        ("User-agent: centime\nDisallow: /a\n\nUser-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: centime\nDisallow:", "/x", True),
        ("User-agent: centime\n\nUser-agent: other\nDisallow: /x", "/x", False),
        (
            "User-agent: centime\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: centime\nDisallow: /c",
            "/c",
            False,
        ),
        (
            "User-agent: centime\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: centime\nDisallow: /c",
            "/b",
            True,
        ),
        # other lines do not end a list of agents
        ("User-agent: centime\nCrawl-delay: 3\nUser-agent: b\nDisallow: /", "/x", False),
        ("User-agent: centime\nSitemap: http://a/\nUnknown: line\n\nUser-agent: b\nDisallow: /", "/x", False),
        # longest match, allow before disallow
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/x", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        # wildcards and the end
        ("User-agent: *\nDisallow: /*.php$", "/a/b.php", False),
        ("User-agent: *\nDisallow: /*.php$", "/a/b.php?x", True),
        ("User-agent: *\nDisallow: /a*b*c", "/axxbxxc/d", False),
        ("User-agent: *\nDisallow: /a*b*c", "/axxcxxb", True),
        ("User-agent: *\nDisallow: /*?", "/x?y", False),
        ("User-agent: *\nDisallow: /x?a=1&b", "/x?a=1&b=2", False),
        # percent-encoding
        ("User-agent: *\nDisallow: /ä", "/%C3%A4", False),
        ("User-agent: *\nDisallow: /%c3%a4", "/%C3%A4", False),
        ("User-agent: *\nDisallow: /%61", "/a", False),
        ("User-agent: *\nDisallow: /a", "/%61", False),
        ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        ("User-agent: *\nDisallow: /~joe", "/%7Ejoe", False),
        # as people write it
        ("User-agent: *\r\nDisallow: /x\r\n", "/x", False),
        ("User-agent: *\rDisallow: /x", "/x", False),
        ("User-agent : *\n Disallow : /x # not this", "/x", False),
        ("User-agent: *\nDisallow /x", "/x", False),
        ("User-agent: *\nDissallow: /x", "/x", False),
        ("User-agent: *\nDisallow: /x", "/robots.txt", True),
    ],
)
def test_a_page_is_allowed_as_the_standard_has_it(text: str, path: str, allowed: bool) -> None:
    assert _allows(text, path) is allowed


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_a_byte_order_mark_is_passed_over(mark: bytes, encoding: str) -> None:
    assert not parse_rules(mark + "User-agent: *\nDisallow: /".encode(encoding), "centime").allows(f"{HOST}/x")


def test_what_is_beyond_the_limit_is_not_read() -> None:
    filler = b"# filler\n" * (MOST_BYTES // 9 - 10)
    start = b"User-agent: *\nDisallow: /first\n"
    rules = parse_rules(start + filler + b"Disallow: /" + b"x" * MOST_BYTES + b"\nDisallow: /last\n", "centime")
    assert not rules.allows(f"{HOST}/first")
    assert rules.allows(f"{HOST}/last")
    assert rules.allows(f"{HOST}/xxxxx")


def test_the_delay_is_found() -> None:
    text = b"Sitemap: http://a/1.xml\nUser-agent: *\nCrawl-delay: 2.5\nDisallow: /x\nsitemap: /2.xml\nSitemap: http://a/1.xml"
    rules = parse_rules(text, "centime")
    assert rules.crawl_delay == 2.5
    assert not rules.allows(f"{HOST}/x"), "a sitemap in between ends no group"
    assert (
        parse_rules(b"User-agent: centime\nDisallow: /a\n\nUser-agent: *\nCrawl-delay: 9", "centime").crawl_delay == 0
    )
    for bad in (b"-1", b"nan", b"inf", b"soon", b""):
        assert parse_rules(b"User-agent: *\nCrawl-delay: " + bad, "centime").crawl_delay == 0


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8[:size] for size in range(4)])
def test_a_byte_order_mark_does_not_hide_the_first_line_even_if_it_was_cut(mark: bytes) -> None:
    assert not parse_rules(mark + b"User-agent: *\nDisallow: /x", "centime").allows(f"{HOST}/x")


def test_a_line_is_cut_where_google_cuts_it() -> None:
    fits = "/" + "a" * (MOST_LINE_BYTES - len("Disallow: /"))
    rules = parse_rules(f"User-agent: *\nDisallow: {fits}b\nDisallow: /x\n".encode(), "centime")
    assert not rules.allows(HOST + fits)
    assert rules.allows(HOST + fits[:-1])
    assert not rules.allows(f"{HOST}/x")


@pytest.mark.parametrize(
    "line", ["Dissallow: /x", "diasllow:/x", "Disallows: /x", "Disallow /x", "disallow\t/x", "DISALLAW : /x # no"]
)
@pytest.mark.parametrize("agent", ["User-agent: *", "useragent: *", "User agent: *", "User-Agents: *", "user-agent *"])
def test_fields_are_understood_as_google_understands_them(agent: str, line: str) -> None:
    assert not _allows(f"{agent}\n{line}\n", "/x")


@pytest.mark.parametrize("line", ["Disallow /x y", "Disallow/x", "# Disallow: /x", "Noindex: /x"])
def test_other_lines_are_no_rules(line: str) -> None:
    assert _allows(f"User-agent: *\n{line}\n", "/x")


def test_sitemaps_belong_to_no_group_and_are_bounded() -> None:
    text = "Sitemap: http://a/1\nUser-agent: other\nDisallow: /\nsite-map:http://a/2\nSITEMAP : /3\nSitemap: http://a/1"
    assert parse_rules(text.encode(), "centime").sitemaps == ("http://a/1", "http://a/2", "/3")
    many = "".join(f"Sitemap: http://a/{number}\n" for number in range(MOST_SITEMAPS + 1))
    assert len(parse_rules(many.encode(), "centime").sitemaps) == MOST_SITEMAPS


_PATTERN = st.text("/ab*$?=%6", max_size=8).map(lambda text: "/" + text)
_PATH = st.text("/ab?=&c$", max_size=10).map(lambda text: "/" + text)


@given(st.lists(st.tuples(st.booleans(), _PATTERN), max_size=6), _PATH)
@settings(max_examples=200)
def test_the_quick_way_never_lets_through_what_protego_would_not(lines: list[tuple[bool, str]], path: str) -> None:
    text = "User-agent: *\n" + "\n".join(f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in lines)
    assert _allows(text, path) == Protego.parse(text).can_fetch(HOST + path, "centime")


@given(st.binary(max_size=300) | st.text("User-agent: *\nDisallow: /abc#\r", max_size=300).map(str.encode))
def test_whatever_the_bytes_there_is_an_answer(body: bytes) -> None:
    assert parse_rules(body, "centime").allows(f"{HOST}/x") in (True, False)


@pytest.mark.parametrize(
    "line", ["Disallow: /" + "*a" * 200 + "\n", "Disallow: /" + "a" * 30 + "*a*b\n", "User-agent: *\n", "x" * 80 + "\n"]
)
def test_a_hostile_file_does_not_take_long(line: str) -> None:
    text = ("User-agent: *\n" + line * (MOST_BYTES // len(line))).encode()
    begun = time.process_time()
    rules = parse_rules(text, "centime")
    rules.allows(f"{HOST}/{'a' * 2000}")
    assert time.process_time() - begun < 5
