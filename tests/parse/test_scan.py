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
    st.lists(st.sampled_from([*PIECES, " ", "<a href=", "<p hidden>", "</"]), max_size=60).map("".join),
    st.booleans(),
    st.booleans(),
)
def test_any_text_fits_the_room_made_for_it(text: str, anchors: bool, everything: bool) -> None:
    page = text.encode()
    found = scan(page, anchors=anchors, everything=everything)
    assert len(found.text) <= len(page) + len(page) // 4 + 16
    assert len(found.rows) <= len(page) // 8 + 1
    found.text.tobytes().decode()
    for row in found.rows:
        assert 0 <= row[1] <= row[2] <= len(page)


HOSTILE = [
    "<div>", "<b>", "<b hidden>", "<p hidden>", "<svg>", "<svg><title>", "<table><td>", "<template>", "<a href=x>",
    "<a href=y rel=nofollow>", "<div hidden></b>", "</div>", "<li hidden></p></ul>", "<nav><ul><li></nav>",
    "<button><p hidden>", "<select><option hidden>", "<x></y>", "<svg></p>", "<form hidden></form>", "<table><table>",
    "<a b=c ", "&a", "<", "</", "<!", "<!--", "<title>", "<script><!--<script>", "<? ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize(
    "opening", ["", "<nav>", "<div hidden>" * 600, "<svg>" * 600, "<table><td>" * 300, "<ul><li>" * 300]
)
def test_the_work_is_a_constant_per_byte_whatever_the_nesting(unit: str, opening: str) -> None:
    """Elements opened and closed are counted, so that no clock is needed: no tag costs more than three on average."""
    page = (opening + unit * 4_000).encode()
    tags = page.count(b"<") + page.count(b"&") + 1
    assert scan(page).steps <= 4 * tags


def test_beyond_the_deepest_elements_are_counted_and_closed_again() -> None:
    depth = 5_000
    page = "<div>" * depth + "<nav>" + "</nav>" + "</div>" * depth + "<nav>hidden</nav>seen"
    assert scan(page.encode()).text.tobytes().split() == [b"seen"]


@pytest.mark.parametrize("opening", ["<div>", "<ul><li>", "<b>", "<span>", "<svg><g>", "<table><tr><td>"])
def test_what_is_hidden_ends_where_it_is_closed_below_fifty_thousand_elements(opening: str) -> None:
    page = opening * 100 + "<div hidden>no</div> yes " + opening * 50_000 + " yes <a href=/x>"
    found = scan(page.encode())
    assert found.text.tobytes().split() == [b"yes", b"yes"]
    assert found.hrefs == ["/x"]


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
    assert found.text.tobytes().decode().strip() in ("", "<", "</", "&")
