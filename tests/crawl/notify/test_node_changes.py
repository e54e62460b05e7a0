"""What becomes of the nodes that an XPath finds: told with old and new values, however they move."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.crawl.notify.node_changes import CHANGED, GONE, MATCHES, NEW, UNMATCHED, node_changes
from centime.crawl.worker.conditions import WatchedPage
from centime.model.outcome import PageKind
from centime.shard.people.notices import When

SHOP = "<shop><section><h>Tea</h>{}</section><section><h>Other</h><p>Nothing of interest here.</p></section></shop>"
CHEAP = "//item[number(price) < 100]"


def item(name: str, price: int) -> str:
    return f"<item><name>A fine {name} of the best kind</name><price>{price}</price></item>"


def page(text: str, kind: PageKind = PageKind.XML) -> WatchedPage:
    return WatchedPage(text.encode(), kind, "utf-8")


def changes(old: str | None, new: str | None, xpath: str, when: When = When.ALWAYS) -> list[tuple[str, ...]]:
    before, after = (None if text is None else page(text) for text in (old, new))
    return [tuple(str(value) for value in row.values()) for row in node_changes(before, after, xpath, when)]


def shop(**prices: int) -> str:
    return SHOP.format("".join(item(name, price) for name, price in prices.items()))


def test_a_condition_is_told_when_it_becomes_true_for_a_node_and_when_false() -> None:
    cup = "/shop/section[1]/item[2]"
    (row,) = node_changes(page(shop(pot=200, cup=120)), page(shop(pot=200, cup=90)), CHEAP)
    assert row == {"change": MATCHES, "path": cup, "old": item("cup", 120), "new": item("cup", 90)}
    (row,) = node_changes(page(shop(pot=200, cup=90)), page(shop(pot=200, cup=120)), CHEAP)
    assert row == {"change": UNMATCHED, "path": cup, "old": item("cup", 90), "new": item("cup", 120)}
    assert changes(shop(pot=200, cup=120), shop(pot=210, cup=130), CHEAP) == []


def test_a_node_that_comes_changes_or_goes_is_told_with_its_values() -> None:
    assert changes(shop(pot=1), shop(pot=1, cup=2), "//item") == [
        (NEW, "/shop/section[1]/item[2]", "None", item("cup", 2))
    ]
    assert changes(shop(pot=1, cup=2), shop(cup=2), "//item") == [
        (GONE, "/shop/section[1]/item[1]", item("pot", 1), "None")
    ]
    assert changes(shop(pot=1, cup=2), shop(pot=1, cup=3), "//price") == [
        (CHANGED, "/shop/section[1]/item[2]/price", "<price>2</price>", "<price>3</price>")
    ]


def test_a_node_that_only_moves_is_not_told() -> None:
    assert changes(shop(pot=1, cup=2, lid=3), shop(lid=3, pot=1, cup=2), "//item") == []


def test_an_entry_that_takes_the_place_of_another_is_new_and_the_other_is_gone() -> None:
    """A feed has the last three entries: one comes in front, and the last one goes."""
    rows = changes(shop(pot=1, cup=2, lid=3), shop(bag=4, pot=1, cup=2), "//item")
    assert [row[0] for row in rows] == [NEW, GONE]
    rows = changes(shop(pot=1, cup=2, lid=3), shop(bag=4, pot=1, cup=2), "//item/name/text()")
    assert [row[0] for row in rows] == [NEW, GONE]
    rows = changes(shop(pot=1, cup=2, lid=3), shop(pot=1, cup=2, lid=5), "//item/price")
    assert [row[0] for row in rows] == [CHANGED]


def test_a_subscriber_can_ask_for_what_appears_or_vanishes_alone() -> None:
    old, new = shop(pot=90, cup=120, lid=50), shop(pot=80, cup=95, bag=10)
    assert {row[0] for row in changes(old, new, CHEAP)} == {NEW, MATCHES, CHANGED, GONE}
    assert {row[0] for row in changes(old, new, CHEAP, When.APPEARS)} == {NEW, MATCHES}
    assert {row[0] for row in changes(old, new, CHEAP, When.VANISHES)} == {GONE}


def test_of_a_new_page_everything_is_new_and_of_one_that_is_gone_everything_gone() -> None:
    assert [row[0] for row in changes(None, shop(pot=1, cup=2), "//item")] == [NEW, NEW]
    assert [row[0] for row in changes(shop(pot=1, cup=2), None, "//item")] == [GONE, GONE]
    assert changes(None, "no document", "//item") == []


def test_attributes_and_texts_are_nodes_too() -> None:
    rest = "<e>three</e><e>four</e><e>five</e>"
    old = f"<a><b c='1'>one</b>tail of one<b>two</b>{rest}</a>"
    new = f"<a><b c='2'>one</b>tail of two<b d='3'>two</b>{rest}</a>"
    assert changes(old, new, "//@*") == [(CHANGED, "/a/b[1]/@c", "1", "2"), (NEW, "/a/b[2]/@d", "None", "3")]
    assert changes(old, new, "//text()[contains(., 'two')]")[0][:1] == (MATCHES,)
    assert changes(new, old, "//b/@d") == [(GONE, "/a/b[2]/@d", "3", "None")]


def test_a_number_a_text_or_a_truth_counts_as_one_node() -> None:
    assert changes(shop(pot=1), shop(pot=1, cup=2), "count(//item)") == [(CHANGED, "None", "1.0", "2.0")]
    assert changes(shop(pot=1), shop(pot=1, cup=2), "count(//item) > 1") == [(MATCHES, "None", "None", "True")]
    assert changes(shop(pot=1, cup=2), shop(pot=1), "count(//item) > 1") == [(UNMATCHED, "None", "True", "None")]
    assert changes(shop(pot=1), "<shop/>", "string(//item/price)") == [(UNMATCHED, "None", "1", "None")]


def test_an_element_of_html_has_its_text() -> None:
    old, new = (f"<p>The section<p class=price>{price}  €<br>today" for price in ("7", "8"))
    (row,) = node_changes(page(old, PageKind.HTML), page(new, PageKind.HTML), "//p[@class='price']")
    assert (row["change"], row["old"], row["new"]) == (CHANGED, "7 €today", "8 €today")


def test_references_and_instructions_stand_where_they_are() -> None:
    text = "<!DOCTYPE a SYSTEM 'a.dtd'><a>1<b>&e;{}</b><?pi {}?>t<!-- c -->u&e;v</a>"
    rows = changes(text.format(2, "x"), text.format(3, "y"), "//text() | //processing-instruction()")
    assert [row[0] for row in rows] == [CHANGED, CHANGED]
    assert [row[2:] for row in rows] == [("2", "3"), ("<?pi x?>", "<?pi y?>")]


@pytest.mark.parametrize("kind", [PageKind.HTML, PageKind.XML])
def test_a_boundary_between_children_that_moves_is_told(kind: PageKind) -> None:
    text = "<div><p>{}</p><p>{}</p><p>one</p><p>two</p></div>"
    old, new = (page(text.format(*both), kind) for both in (("ab", "c"), ("a", "bc")))
    assert [row["change"] for row in node_changes(old, new, "//div")] == [CHANGED]


@pytest.mark.parametrize("kind", [PageKind.HTML, PageKind.XML])
def test_a_comment_that_changes_is_told(kind: PageKind) -> None:
    old, new = (page(f"<div><p>text of it</p><!-- build {number} --></div>", kind) for number in (1, 2))
    assert [row["change"] for row in node_changes(old, new, "//comment()")] == [CHANGED]


@pytest.mark.parametrize("kind", [PageKind.HTML, PageKind.XML])
@settings(max_examples=50)
@given(st.data())
def test_what_is_told_leads_from_what_was_found_to_what_is_found(kind: PageKind, data: st.DataObject) -> None:
    """Values found before, without those that went and with those that came, are those found now."""
    names = st.sampled_from(["a", "b", "i"])
    trees = st.recursive(
        st.text("xyz 1", min_size=1, max_size=9),
        lambda inner: st.builds(lambda n, c, v: f"<{n} v='{v}'>{''.join(c)}</{n}>", names, st.lists(inner), names),
        max_leaves=12,
    )
    old, new = (page(f"<r>{data.draw(trees)}</r>", kind) for _ in range(2))
    xpath = data.draw(st.sampled_from(["//a", "//b[@v='i']", "//i/text()", "//@v", "//a[b]", "//*[. = 'x']"]))
    found = [[row["new"] for row in node_changes(None, one, xpath)] for one in (old, new)]
    rows = node_changes(old, new, xpath)
    went = [row["old"] for row in rows if row["change"] in (CHANGED, UNMATCHED, GONE)]
    came = [row["new"] for row in rows if row["change"] in (CHANGED, MATCHES, NEW)]
    normal = [[" ".join(str(one).split()) for one in part] for part in (*found, went, came)]
    before, after, minus, plus = normal
    assert sorted(before + plus) == sorted(after + minus)
