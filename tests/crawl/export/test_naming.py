from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.export.naming import markdown_name, page_name

PARTS = st.sampled_from(
    ["", "a", "b", "index", "index.html", "a.md", "a.md_", "a_", "v1.2", "v1.2_", "%C3%A9", "a%20b", "a b", "CON", ".",
     "..",      "x" * 300, "a.html", "é", "a:b", "nul.txt"]
)  # fmt: skip
URLS = st.builds(
    lambda scheme, host, parts, query: f"{scheme}://{host}/{'/'.join(parts)}{query}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.example", "a.example:81"]),
    st.lists(PARTS, min_size=1, max_size=4),
    st.sampled_from(["", "?a=1", "?a=2"]),
)  # fmt: skip


@given(st.sets(URLS, min_size=2, max_size=30))
def test_different_urls_have_different_names_that_are_never_both_file_and_folder(urls: set[str]) -> None:
    for names in ([markdown_name(url) for url in urls], [page_name(url, urls.__contains__) for url in urls]):
        assert len(set(names)) == len(urls)
        folders = {name[:at] for name in names for at, sign in enumerate(name) if sign == "/"}
        assert folders.isdisjoint(names)
        for name in names:
            assert all(part not in ("", ".", "..") and len(part) <= 120 and part.isascii() for part in name.split("/"))
