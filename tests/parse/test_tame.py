import pytest

from centime.parse.tame import flattened, is_tame


@pytest.mark.parametrize(
    "unit",
    [
        "<p>one <b>two</b> <a href='/x'>three</a><br><img src=x></p>",
        "<ul><li>one<li>two</ul>",
        "<table><tr><td>a<td>b<tr><td>c</table>",
        "<svg viewBox='0 0 1 1'><path d='M0'/><g><circle r=1 /></g></svg>",
        "<dl><dt>a<dd>b</dl>",
        "<p>a<p>b",
        "<script>if (a<b) document.write('<div><b>')</script>",
        "<!-- <b><i> -->",
        '<a title="<b>">x</a>',
        "<select><option>a<option>b</select>",
        "<DIV><P>a</DIV>",
    ],
)
def test_pages_as_people_write_them_are_tame(unit: str) -> None:
    assert is_tame(unit.encode() * 4_000)


@pytest.mark.parametrize(
    "unit", ["<div>", "<b>", "<span><div></span></div>", "<p><b id=1></p>", "<b><object></b></object>", "<b><!--</b>-->", "<svg><input>"]
)
def test_what_piles_up_is_not(unit: str) -> None:
    assert not is_tame(unit.encode() * 20_000)


def test_a_flattened_page_keeps_links_title_and_text_and_closes_everything() -> None:
    flat = flattened(b"<html><title>T</title><div><p>one<a href='/x'>two</a><script>no</script><frame src=y><b>three").decode()
    assert flat.split() == ["<title>T</title>", "one", "<a", "href='/x'></a>two", "<iframe", "src=y></iframe>", "three"]


@pytest.mark.parametrize(
    "text", [b"", b"<", b"<a", b"</", b"<!", b"<!-", b"<!--", b"<a href='", b"<script>", b"<title>", b"&", b"<?", b"<a/", b"</a"]
)
def test_what_ends_too_early_is_no_trouble(text: bytes) -> None:
    assert is_tame(text)
    assert len(flattened(text)) <= 3 * len(text) + 16
