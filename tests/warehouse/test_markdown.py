import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.warehouse.contents import Contents
from centime.warehouse.markdown import markdown_of
from centime.warehouse.tree import html_tree


def markdown(page: str, *left_out: str) -> str:
    tree = html_tree(page.encode(), Contents(), "text/html; charset=utf-8")
    return markdown_of(tree, lambda href: f"http://a.example/{href}", set(left_out))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<h1>Tea <i>pots</i></h1><h2> Two\n</h2>", "# Tea *pots*\n\n## Two\n"),
        ("<p>a <b> bold </b>b<em></em>", "a **bold** b\n"),
        (
            "<p>see <a href='x y'>this</a>, <a href=z> </a>not<a>that</a>",
            "see [this](http://a.example/x%20y), notthat\n",
        ),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n\n- b\n\n  - c\n"),
        ("<ol><li>a<li><p>b<p>c</ol>", "1. a\n\n2. b\n\n   c\n"),
        ("<pre>x = `1`\n  y</pre>", "```\nx = `1`\n  y\n```\n"),
        ("<pre>```</pre>", "````\n```\n````\n"),
        ("<p>use <code>a*b</code>", "use `a*b`\n"),
        ("<blockquote><p>a<p>b</blockquote>c", "> a\n\n> b\n\nc\n"),
        ("<table><tr><th>a<th>b<tr><td>1|2<td>x<p>y</table>", "| a | b |\n|---|---|\n| 1\\|2 | x y |\n"),
        ("<p>a<br>b<hr>c", "a\\\nb\n\n---\n\nc\n"),
        ("<p># a<p>- b<p>1. c<p>*d* [e]", "\\# a\n\n\\- b\n\n1\\. c\n\n\\*d\\* \\[e\\]\n"),
        ("<img src=i alt='a pot'><img src=j>", "![a pot](http://a.example/i)\n"),
        ("<script>no</script><style>no</style><p>yes", "yes\n"),
        ("<a href=x><h2>head</h2>rest</a>", "## head\n\nrest\n"),
        ("", ""),
    ],
)
def test_html_becomes_markdown(page: str, expected: str) -> None:
    assert markdown(page) == expected


def test_elements_can_be_left_out() -> None:
    assert markdown("<nav>Home <a href=x>x</a></nav><p>a", "nav") == "a\n"


@given(
    st.lists(
        st.sampled_from(
            [f"<{slash}{name}>" for slash in ("", "/") for name in
             ("p", "a href=x", "b", "i", "code", "pre", "ul", "ol", "li", "table", "tr", "td", "blockquote", "br")]
            + ["word", " ", "*", "|", "`", "\n"]
        ),
        max_size=40,
    )
)  # fmt: skip
def test_any_page_can_be_written_and_keeps_its_words(parts: list[str]) -> None:
    page = "".join(parts)
    assert markdown(page).count("word") == page.count("word")


@pytest.mark.parametrize(
    "page",
    ["<blockquote>x" * 20_000, "<b>x<p>" * 20_000, "<ul><li>x" * 20_000, "<a href=x>y" * 20_000, "<pre>x" * 20_000,
     "<table><tr>" + "<td>x" * 5_000 + "<tr><td>y" * 5_000],
)  # fmt: skip
def test_a_hostile_page_stays_small(page: str) -> None:
    assert len(markdown(page)) < 10 * len(page)
