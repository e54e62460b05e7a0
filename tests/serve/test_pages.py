"""Pages, JSON and CSV of every resource."""

import csv
import io
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from centime.crawl.report.truth import TruePage, Truth, write_truth
from centime.serve.fields import FIELDS
from centime.serve.reports import ALL, RESOURCES
from tests.crawl.report.made import ROOT, A
from tests.serve.asking import Answered, Asker

QUERIES = {"page": {"url": ROOT}, "host": {"host": A}, "next": {"url": f"{A}/one"}}
SHOWN = [resource for resource in ALL if resource.name not in ("diff", "search")]


class Tags(HTMLParser):
    """The elements of a page, the addresses in it, and what could run."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.inline: list[str] = []
        self.labelled: set[str] = set()
        self.inputs: set[str] = set()
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [str(value) for name, value in attrs if name in ("href", "src", "action")]
        self.ids += [str(given["id"])] if "id" in given else []
        self.inline += [name for name, _ in attrs if name == "style" or name.startswith("on")]
        if tag == "script" and "src" not in given:
            self.inline.append("script")
        if tag == "style":
            self.inline.append("style")
        if tag == "label" and given.get("for"):
            self.labelled.add(str(given["for"]))
        if tag in ("input", "select", "textarea") and given.get("type") not in ("hidden", "checkbox"):
            self.inputs.add(str(given.get("id")))


def tags(answered: Answered) -> Tags:
    found = Tags()
    found.feed(answered.text)
    return found


@pytest.mark.parametrize("resource", SHOWN, ids=lambda resource: resource.name)
def test_every_page_is_shown_without_anything_inline_and_every_field_has_a_label(
    small: Asker, resource: object
) -> None:
    name = resource.name  # type: ignore[attr-defined]
    answered = small.get(f"/c/museum/{name}", **QUERIES.get(name, {}))
    assert answered.status == 200, answered.text
    found = tags(answered)
    assert found.inline == []
    assert len(found.ids) == len(set(found.ids))
    assert found.inputs <= found.labelled
    assert "default-src 'none'" in answered.headers["content-security-policy"]
    assert "'unsafe-inline'" not in answered.headers["content-security-policy"]
    assert '<html lang="en">' in answered.text
    assert "<h1" in answered.text


@pytest.mark.parametrize("resource", SHOWN, ids=lambda resource: resource.name)
def test_addresses_of_a_page_that_lead_inside_are_answered(small: Asker, resource: object) -> None:
    name = resource.name  # type: ignore[attr-defined]
    page = small.get(f"/c/museum/{name}", **QUERIES.get(name, {}))
    inside = {link for link in tags(page).links if link.startswith("/")}
    assert len(inside) > 5
    for link in sorted(inside)[:40]:
        if link != "/logout" and "/copy" not in link and "/search" not in link and "/events" not in link:
            assert small.get(link.partition("#")[0]).status in (200, 303), link


@pytest.mark.parametrize("resource", SHOWN, ids=lambda resource: resource.name)
def test_the_api_and_json_are_the_same_and_rows_have_the_columns_that_are_declared(
    small: Asker, resource: object
) -> None:
    name = resource.name  # type: ignore[attr-defined]
    query = QUERIES.get(name, {})
    api = small.get(f"/api/v1/crawls/museum/{name}", **query)
    assert api.status == 200
    assert api.body == small.get(f"/c/museum/{name}.json", **query).body
    declared = RESOURCES[name]
    for row in api.json.get("rows", []) if declared.columns else []:
        assert set(row) <= set(declared.columns)
        assert set(declared.columns) - set(declared.optional) <= set(row)


@pytest.mark.parametrize("name", [resource.name for resource in SHOWN if resource.columns])
def test_a_list_is_csv_too(small: Asker, name: str) -> None:
    answered = small.get(f"/c/museum/{name}.csv", **QUERIES.get(name, {}))
    rows = list(csv.reader(io.StringIO(answered.text)))
    report = small.get(f"/c/museum/{name}.json", **QUERIES.get(name, {})).json
    assert answered.headers["content-type"].startswith("text/csv")
    assert len(rows) == 1 + len(report["rows"])
    assert set(rows[0]) <= set(RESOURCES[name].columns)


def test_a_list_goes_on_from_its_cursor_and_no_page_is_left_out_or_told_twice(small: Asker) -> None:
    whole = [row["url"] for row in small.get("/api/v1/crawls/museum/pages").json["rows"]]
    parts: list[str] = []
    cursor = ""
    while True:
        answered = small.get("/api/v1/crawls/museum/pages", most=3, cursor=cursor)
        report = answered.json
        parts += [row["url"] for row in report["rows"]]
        cursor = report["next"] or ""
        assert ('rel="next"' in answered.headers.get("link", "")) == bool(cursor)
        if not cursor:
            break
    assert parts == whole
    assert len(whole) == 10


@pytest.mark.parametrize(("name", "key"), [("hosts", "host"), ("changes", "url")])
def test_other_lists_go_on_from_their_cursors_as_well(small: Asker, name: str, key: str) -> None:
    for order in ("time", "importance") if name == "changes" else ("",):
        more = {"order": order} if order else {}
        whole = [row[key] for row in small.get(f"/api/v1/crawls/museum/{name}", **more).json["rows"]]
        first = small.get(f"/api/v1/crawls/museum/{name}", most=1, **more).json
        second = small.get(f"/api/v1/crawls/museum/{name}", most=1000, cursor=first["next"], **more).json
        assert [row[key] for row in first["rows"] + second["rows"]] == whole
        assert len(whole) > 1


@pytest.mark.parametrize("order", ["importance", "worth", "change", "errors", "recent"])
def test_pages_are_sorted_by_each_order(small: Asker, order: str) -> None:
    assert small.get("/c/museum/pages", by=order).status == 200


def test_pages_are_filtered_by_host_kind_and_pattern(small: Asker) -> None:
    rows = small.get("/api/v1/crawls/museum/pages", host=A, kind="html", match="/(one|gone)$").json["rows"]
    assert [row["url"] for row in rows] == [f"{A}/one"]
    assert small.get("/api/v1/crawls/museum/pages", kind="nonsense").status == 400
    assert small.get("/api/v1/crawls/museum/pages", match="(").status == 400
    assert small.get("/api/v1/crawls/museum/pages", host="http://nowhere.example").status == 400


@pytest.mark.parametrize(
    "address",
    [
        "/api/v1/crawls/museum/pages?most=0",
        "/api/v1/crawls/museum/pages?most=100000",
        "/api/v1/crawls/museum/pages?by=size",
        "/api/v1/crawls/museum/pages?unknown=1",
        "/api/v1/crawls/museum/pages?cursor=%21%21",
        "/api/v1/crawls/museum/pages?cursor=AAAA",
        "/api/v1/crawls/museum/page",
        "/api/v1/crawls/museum/page?url=nonsense",
        "/api/v1/crawls/museum/changes?since=yesterday",
        "/api/v1/crawls/museum/plan?times=1000",
        "/api/v1/crawls/museum/plan?budget=nonsense",
        "/api/v1/crawls/museum/events?kinds=nonsense",
    ],
)
def test_a_wrong_address_is_answered_with_400_and_says_what_is_wrong(small: Asker, address: str) -> None:
    answered = small.get(address)
    assert answered.status == 400
    assert len(answered.json["error"]) > 10


def test_what_is_not_there_is_answered_with_404_for_people_and_for_programs(small: Asker) -> None:
    for address in ("/c/nothing/pages", "/c/museum/nothing", "/nothing", "/c/museum/page.xml", "/c/museum/page.csv"):
        assert small.get(address).status == 404
    assert "error" in small.get("/api/v1/crawls/nothing/pages").json
    assert small.get("/api/v1/crawls/museum/page", url=f"{A}/never").status == 404


def test_an_answer_that_did_not_change_is_not_sent_again(small: Asker) -> None:
    first = small.get("/api/v1/crawls/museum/pages")
    again = small.get("/api/v1/crawls/museum/pages", headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert small.get("/api/v1/crawls/museum/pages", headers={"if-none-match": "*"}).status == 304
    other = small.get("/api/v1/crawls/museum/pages", headers={"if-none-match": '"other"'})
    assert other.status == 200


def test_why_not_this_page_is_told_for_pages_that_are_known_refused_and_unknown(small: Asker) -> None:
    def why(url: str) -> dict[str, object]:
        found: dict[str, object] = small.get("/api/v1/crawls/museum/next", url=url).json["why_not"]
        return found

    assert "read" in str(why(f"{A}/one")["why"])
    assert why(f"{A}/gone")["why"] == "it is gone"
    assert why(f"{A}/refused")["why"] == "robots.txt disallows it"
    assert "no page that was read links to it" in str(why("http://c.example/")["why"])
    assert why("mailto:x")["known"] is False


def test_every_figure_on_the_overview_links_to_what_it_means(small: Asker) -> None:
    page = small.get("/c/museum/overview").text
    named = set(re.findall(r'href="/help#(\w+)"', page))
    assert {"known", "read", "fresh_share", "certified_error"} <= named <= set(FIELDS)
    shown = re.findall(r'id="(\w+)"', small.get("/help").text)
    assert named <= set(shown)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("search", "the parameter words is missing, as in ?words=..."),
        ("pages?most=0", "the parameter most: expected a whole number of at least 1"),
        ("pages?most=x", "the parameter most: expected a whole number"),
        ("changes?diff=2", "the parameter diff: expected true or false"),
        ("hosts?colour=1", "there is no parameter colour"),
    ],
)
def test_a_wrong_parameter_is_named_in_plain_words(small: Asker, address: str, words: str) -> None:
    answered = small.get(f"/api/v1/crawls/museum/{address}")
    assert (answered.status, answered.json["error"].partition(" is wrong: ")[2]) == (400, words)


def test_the_overview_shows_the_truth_beside_its_figures_where_it_is_known(small_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(small_folder, tmp_path / "museum"))
    asker = Asker({"museum": folder})
    try:
        assert "Compared with the truth" not in asker.get("/c/museum/overview").text
        assert asker.get("/c/museum/overview.json").json["truth"] is None
    finally:
        asker.close()
    best = [TruePage("http://a.example/<b>", 1.5, 1.25)]
    truth = Truth(
        time=1.0,
        known=3,
        true_pages=777,
        fresh_share=0.5,
        true_fresh_share=0.4321,
        certified_error=None,
        true_error=0.125,
        top=best,
    )
    write_truth(folder, truth)
    asker = Asker({"museum": folder})
    try:
        page = asker.get("/c/museum/overview")
        told = asker.get("/c/museum/overview.json").json["truth"]
        assert told["true_fresh_share"] == 0.4321
        assert "the links as they were read" in told["note"]
        assert "the links as they were read" in page.text
    finally:
        asker.close()
    for part in ("Compared with the truth", ">777<", ">43.2 %<", ">0.125<", "http://a.example/&lt;b&gt;", ">1.25<"):
        assert part in page.text
    assert tags(page).inline == []


def test_changes_since_this_browser_last_looked_are_remembered_in_a_cookie(small: Asker) -> None:
    before = small.get("/c/museum/changes")
    assert "Nothing changed." not in before.text
    seen = small.get("/c/museum/changes", seen=1)
    assert seen.status == 303
    assert "HttpOnly" in seen.cookies[0]
    assert "SameSite=strict" in seen.cookies[0]
    cookie = seen.cookies[0].partition(";")[0]
    assert "Nothing changed." in small.get("/c/museum/changes", headers={"cookie": cookie}).text
    broken = cookie.partition("=")[0] + "=nonsense"
    assert small.get("/c/museum/changes", headers={"cookie": broken}).status == 200


def test_a_search_without_an_index_says_what_is_missing(small: Asker) -> None:
    answered = small.get("/c/museum/search", words="museum")
    assert answered.status == 400
    assert "centime index" in answered.text or "--keep" in answered.text


def test_the_feed_of_changes_is_atom(small: Asker) -> None:
    answered = small.get("/c/museum/changes.atom")
    assert answered.headers["content-type"].startswith("application/atom+xml")
    assert "<entry>" in answered.text
