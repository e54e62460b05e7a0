import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.parse.scan import scan

PIECES = [
    "<",
    ">",
    "/",
    "=",
    "'",
    '"',
    "&",
    ";",
    "#",
    "-",
    "!",
    "?",
    "[",
    "]",
    "a",
    "A",
    "x",
    "p",
    "href",
    "rel",
    "hidden",
    "style",
    "svg",
    "script",
    "title",
    "b",
    "td",
    "table",
    "<!--",
    "-->",
    "]]>",
    "&amp;",
    "&nGt;",
    "&#0;",
    "\x00",
    "é",
    "\n",
]


@given(
    st.lists(st.sampled_from([*PIECES, " ", "<a href=", "<p class=x>", "</"]), max_size=60).map("".join), st.booleans()
)
def test_any_text_fits_the_room_made_for_it(text: str, anchors: bool) -> None:
    page = text.encode()
    found = scan(page, anchors=anchors)
    assert len(found.words) <= len(page) // 2 + 2
    assert len(found.rows) <= len(page) // 8 + 1
    for row in found.rows:
        assert 0 <= row[1] <= row[2] <= len(page)


HOSTILE = [
    "<div>", "<b>", "<b class=x>", "<p class=x>", "<svg>", "<svg><title>", "<table><td>", "<template>", "<a href=x>",
    "<a href=y rel=nofollow>", "<div class=x></b>", "</div>", "<li class=x></p></ul>", "<nav><ul><li></nav>",
    "<button><p class=x>", "<select><option class=x>", "<x></y>", "<svg></p>", "<form class=x></form>",
    "<table><table>",
    "<a b=c ", "&a", "<", "</", "<!", "<!--", "<title>", "<script><!--<script>", "<? ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize(
    "opening", ["", "<nav>", "<div class=x>" * 600, "<svg>" * 600, "<table><td>" * 300, "<ul><li>" * 300]
)
def test_the_work_is_a_constant_per_byte_whatever_the_nesting(unit: str, opening: str) -> None:
    """Elements opened and closed are counted, so that no clock is needed: no tag costs more than three on average."""
    page = (opening + unit * 4_000).encode()
    tags = page.count(b"<") + page.count(b"&") + 1
    assert scan(page).steps <= 4 * tags


def places(page: str) -> list[int]:
    """The places of all words, without cells that have none."""
    words = scan(page.encode()).words
    pairs = zip(words.places.tolist(), words.begins.tolist(), strict=True)
    return [place for place, begin in pairs if not page.startswith("<td", begin)]


def test_beyond_the_deepest_elements_are_counted_and_closed_again() -> None:
    depth = 5_000
    page = "one" + "<div>" * depth + "<nav>" + "</nav>" + "</div>" * depth + " two"
    first, second = places(page)
    assert first == second


@pytest.mark.parametrize("opening", ["<div>", "<ul><li>", "<b>", "<span>", "<svg><g>", "<table><tr><td>"])
def test_a_path_ends_where_its_element_is_closed_above_fifty_thousand_elements(opening: str) -> None:
    page = opening * 100 + "<div>one <div class=x>other</div> one " + opening * 50_000 + " far <a href=/x>"
    one, other, same, _, _ = places(page)
    assert one == same != other
    assert scan(page.encode()).hrefs == ["/x"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<",
        "<a",
        "</",
        "<!",
        "<!-",
        "<!--",
        "<a href='",
        "<script>",
        "<title>",
        "&",
        "<?",
        "<a/",
        "</a",
        "<a b",
        "<a b=",
    ],
)
def test_what_ends_too_early_is_no_trouble(text: str) -> None:
    found = scan(text.encode(), anchors=True)
    assert not found.hrefs
    assert not found.rows
    assert len(found.words) <= 1
