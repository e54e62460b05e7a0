import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.fetch.cookies import LONGEST, MOST_COOKIES, Cookies, Jar

URL = "https://shop.example/a/b?q=1"


def sent(*texts: str, url: str = URL, to: str = URL, at: float = 0.0) -> str:
    cookies = Cookies()
    cookies.take(url, [("set-cookie", text) for text in texts], 0.0)
    return cookies.header(to, at)


@pytest.mark.parametrize(
    ("texts", "header"),
    [
        (["a=1"], "a=1"),
        (["a=1", "b=2; HttpOnly; SameSite=Lax"], "a=1; b=2"),
        (["a=1", "a=2"], "a=2"),
        (["a=1; Path=/", "a=2; Path=/a/b"], "a=2; a=1"),
        (["a=x=y"], "a=x=y"),
        (["only"], "only"),
        (["=1"], "1"),
        ([""], ""),
        (["a=1; Max-Age=0"], ""),
        (["a=1", "a=; Max-Age=-5"], ""),
        (["a=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT"], ""),
        (["a=1; Expires=never"], "a=1"),
        (["a=1; Domain=.example; Secure"], "a=1"),
        (["a=1; Domain=shop.example"], "a=1"),
        (["a=1; Domain=other.example"], ""),
        (["a=1; Domain=hop.example"], ""),
        (["a=1\r\nX: y"], ""),
        (["a=\xe9"], ""),
        (["a=" + "x" * LONGEST], ""),
    ],
)
def test_what_is_set_is_sent(texts: list[str], header: str) -> None:
    assert sent(*texts) == header


@pytest.mark.parametrize(
    ("path", "to", "is_sent"),
    [
        ("", "/a/c", True),  # the folder of the page that set it
        ("", "/b", False),
        ("/a/b", "/a/b/c", True),
        ("/a/b", "/a/bc", False),
        ("/a/", "/a/x", True),
        ("x", "/a/x", True),
    ],
)
def test_a_cookie_is_sent_below_its_path(path: str, to: str, is_sent: bool) -> None:
    assert bool(sent(f"a=1; Path={path}" if path else "a=1", to=f"https://shop.example{to}")) == is_sent


def test_a_cookie_ends_in_time_and_a_secure_one_needs_tls() -> None:
    assert sent("a=1; Max-Age=10", at=9.0) == "a=1"
    assert sent("a=1; Max-Age=10", at=11.0) == ""
    assert sent("a=1; Secure", url="http://h/", to="http://h/") == ""


def test_a_host_has_no_more_cookies_than_allowed_and_a_jar_no_more_bytes() -> None:
    assert len(sent(*(f"c{number}=1" for number in range(99))).split("; ")) == MOST_COOKIES
    jar = Jar(most_bytes=5_000)
    for number in range(100):
        cookies = Cookies()
        cookies.take(URL, [("set-cookie", "a=" + "x" * 500)], 0.0)
        jar.keep(f"https://h{number}", cookies)
    assert 1 <= len(jar) < 10
    assert jar.of("https://h99").header(URL, 0.0)
    assert not jar.of("https://h0").header(URL, 0.0)


@given(st.lists(st.text(max_size=40) | st.text("ab=;, \t\r\n/", max_size=40), max_size=5))
def test_whatever_is_set_the_header_is_one_line(texts: list[str]) -> None:
    header = sent(*texts)
    assert header.isprintable()
    assert header.isascii()


def test_requests_that_overlap_share_the_cookies_of_their_host() -> None:
    jar = Jar()
    first, second = jar.shared("http://a.example"), jar.shared("http://a.example")
    first.take("http://a.example/", [("set-cookie", "a=1; Path=/")], 0.0)
    second.take("http://a.example/", [("set-cookie", "b=2; Path=/")], 0.0)
    jar.keep("http://a.example", first)
    assert set(jar.shared("http://a.example").header("http://a.example/", 0.0).split("; ")) == {"a=1", "b=2"}
