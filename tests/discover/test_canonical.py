import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from centime.discover.canonical import LONGEST_HREF, LONGEST_URL, Canonicaliser, _the_long_way, canonical, index_of

WORDS = (
    "http:// https:// // / ../ ./ .. . ... a B index.html example.org Example.COM. user:pw@ :80 :443 :8080 ? & = # ;"
    " % %7e %2E %2f %zz %C3 é 日本 \\ utm_source=x gclid PHPSESSID=1 sid=0123456789abcdef0 sid=news"
    " ;jsessionid=1A /(S(abcdefghijklmnopqrstuvwx)) [::1] 1.2.3.4 0x7f xn-- ~ + , ' ( )"
)
PIECES = st.lists(st.sampled_from([*WORDS.split(), "\t", "\n", " "]), max_size=9).map("".join)
HREFS = PIECES | st.text(max_size=30)
BASES = st.sampled_from(
    [
        "https://example.org/",
        "http://example.org/a/b/c.html?x=1#y",
        "https://u@h.example:81/~a/%7Eb/c",
        "http://h/a;jsessionid=1/b",
        "https://h/d",
    ]
)


@given(HREFS, BASES | st.none())
@example("http://h/(S(abcdefghijklmnopqrstuvwx));jsessionid=1/", None)
@example("http://h/%%34%31", None)
@example("http://h/a/..;jsessionid=1/b", None)
@example("http://a../", None)
@example("http://../..../", None)
@example("http://1.2.3.4../", None)
def test_a_canonical_url_is_its_own_canonical_form(href: str, base: str | None) -> None:
    url = canonical(href, base)
    if url is not None:
        assert canonical(url) == url
        assert canonical(url, base) == url
        assert ada_url.normalize_url(url) == url
        assert url.startswith(("http://", "https://"))
        assert "#" not in url
        assert "@" not in url[: url.find("/", 8)]


@pytest.mark.parametrize("character", "[]{}|^`")
def test_a_character_and_its_code_are_one_name(character: str) -> None:
    code = f"%{ord(character):02x}"
    for url in ("http://h/a{}b", "http://h/a?b{}=c", "http://h/{}?a={}"):
        assert canonical(url.replace("{}", character)) == canonical(url.replace("{}", code))
    assert canonical("http://[::1]/a\\b?c\\d") == "http://[::1]/a/b?c%5Cd"


@given(HREFS, BASES)
def test_the_short_way_and_the_long_way_agree(href: str, base: str) -> None:
    assert canonical(href, base) == _the_long_way(href, base)


@given(
    st.lists(
        st.tuples(
            st.lists(HREFS, max_size=6), BASES | st.sampled_from(["http://h/x/1", "http://h/x/2?q", "http://h/x/"])
        ),
        max_size=6,
    )
)
def test_a_canonicaliser_answers_as_if_it_remembered_nothing(pages: list[tuple[list[str], str]]) -> None:
    canonicaliser = Canonicaliser(entries=5)
    for hrefs, base in pages:
        assert canonicaliser.many(hrefs, base) == [canonical(href, base) for href in hrefs]


@pytest.mark.parametrize(
    "href",
    [
        "x#f",
        "x #f",
        "x\t#f",
        "x?a=1#f",
        "x##f",
        "http://h#f",
        "http://h/#f",
        "/%#f",
        "é#f",
        "x#" + "f" * 9_000,
        "x" * 9_000 + "#f",
    ],
)
def test_a_canonicaliser_takes_links_that_differ_in_their_fragments_alone_for_one(href: str) -> None:
    canonicaliser = Canonicaliser()
    base = "http://h/d/p"
    without = href.partition("#")[0]
    for hrefs in ([href, without], [without, href]):
        assert canonicaliser.many(hrefs, base) == [canonical(each, base) for each in hrefs]


def test_a_canonicaliser_forgets_what_it_cannot_hold() -> None:
    canonicaliser = Canonicaliser(entries=100)
    for page in range(200):
        canonicaliser.many([f"a{page}-{link}" for link in range(10)], f"http://h/{page % 7}/")
    kept = sum(map(len, canonicaliser._young.values())) + sum(map(len, canonicaliser._old.values()))
    assert kept <= 2 * (100 + 10)


@pytest.mark.parametrize("href", ["?x=1", "", "#a", " ?x=1", "https:?x=1"])
def test_what_depends_on_the_page_is_not_remembered_for_its_directory(href: str) -> None:
    canonicaliser = Canonicaliser()
    first, second = "https://h/d/one", "https://h/d/two"
    assert canonicaliser.many([href], first) == [canonical(href, first)]
    assert canonicaliser.many([href], second) == [canonical(href, second)]
    assert canonical(href, first) != canonical(href, second)


@pytest.mark.parametrize(
    "href",
    [
        "mailto:a@b.c",
        "javascript:void(0)",
        "ftp://h/",
        "data:,x",
        "tel:1",
        "http://",
        "https://./",
        "\ud800",
        "wss://h/",
        "httpx://h/",
    ],
)
def test_what_is_not_a_page_has_no_canonical_form(href: str) -> None:
    assert canonical(href, "https://example.org/") is None


def test_a_url_of_the_longest_length_is_kept_and_one_more_character_is_too_many() -> None:
    longest = "https://example.org/".ljust(LONGEST_URL, "a")
    assert canonical(longest) == longest
    assert canonical(longest + "a") is None
    assert canonical(longest[20:], "https://example.org/") == longest
    assert canonical(longest[20:] + "a", "https://example.org/") is None
    assert canonical("?" + "a" * LONGEST_URL, "https://example.org/") is None
    assert canonical("#" + "a" * 100_000, "https://example.org/") is None


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://h/index.html", "https://h/"),
        ("https://h/a/INDEX.php", "https://h/a/"),
        ("https://h/a/default.aspx", "https://h/a/"),
        ("https://h/a/index.html?x=1", None),
        ("https://h/a/myindex.html", None),
        ("https://index.html/", None),
        ("https://index.html", None),
    ],
)
def test_an_index_page_may_be_its_directory(url: str, other: str | None) -> None:
    assert index_of(url) == other


def test_the_cache_of_canonical_urls_is_bounded_in_bytes_too() -> None:
    cache = Canonicaliser(entries=100)
    base = "http://a.example/"
    assert cache.many(["x" * (LONGEST_HREF + 1)], base) == [None]
    for number in range(1000):
        cache.many([f"{number}/" + "x" * 2000], base)
        cache.many([f"{number}"], base + f"{'y' * 2000}/")
    kept = [
        href + (url or "") for part in (cache._young, cache._old) for one in part.values() for href, url in one.items()
    ]
    assert sum(map(len, kept)) < 2 * 100 * 256 + 10_000
