"""Conditions for the index of paths: whatever an XPath finds something in fulfils its condition."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from centime.model.outcome import PageKind
from centime.parse.tree import whole_tree_of
from centime.search.path_index import Segment
from centime.search.path_terms import terms_of
from centime.search.xpath_condition import ANYTHING, All, AnyOf, Condition, condition_of

NAMES = ["a", "b", "i", "p"]
VALUES = ["x", "10", "10.0", " 7 ", "", "0.30", "y z", "or", "1e1", "-3", "7.000000000000000000001"]


@pytest.mark.parametrize(
    ("xpath", "terms"),
    [
        ("//item", {"eitem"}),
        ("//item[price < 100]/@id", {"eitem", "citem\0price", "aitem\0id"}),
        ("/rss/item", {"erss", "prss", "crss\0item", "prss\0item"}),
        ("//dc:creator/text()", {"ecreator"}),
        ("//*[local-name()='price']", {"eprice"}),
        ("//*[local-name() = 'a' and b]", {"eb"}),
        ("//a/and/div[or]", {"ea", "ca\0and", "cand\0div", "cdiv\0or"}),
        ("//item[@id = '7']", {"eitem", "aitem\0id", "vid\x007"}),
        ("//item[not(price)]", {"eitem"}),
        ("boolean(//a) and //b > 3", {"ea", "eb"}),
        ("//a[3]/following-sibling::b[last()]", {"ea", "eb"}),
        ("id('x')//b", {"eb"}),
        ("//a[number(b) < 2]", {"ea", "ca\0b"}),
        ("//a[contains(b, 'x')]", {"ea", "ca\0b"}),
        ("//a[contains(b, '')]", {"ea"}),
    ],
)
def test_a_condition_has_the_names_that_must_be_there(xpath: str, terms: set[str]) -> None:
    condition = condition_of(xpath)
    parts = condition.parts if isinstance(condition, All) else (condition,)
    assert {part for part in parts if isinstance(part, str)} == terms


@pytest.mark.parametrize(
    "xpath",
    [
        "count(//a)",
        "string(//a)",
        "1 + 1",
        "'a'",
        "not(//a)",
        "//*",
        ".",
        "..",
        "//text()",
        "//a | //*",
        "/",
        "//@*",
        "//a = false()",
        "//a[",
        "//*[name()='a']",
        "//processing-instruction()[local-name()='a']",
        "$x/a",
        "//a or 1",
        "number(//a) != 1",
        "//*[local-name()='']",
        "namespace::a",
        "(//a) = true()",
        "((" * 2000,
    ],
)
def test_an_xpath_that_can_find_something_anywhere_has_no_condition(xpath: str) -> None:
    assert condition_of(xpath) == ANYTHING


def test_a_union_and_an_alternative_need_one_of_their_parts() -> None:
    assert condition_of("//a | //b") == AnyOf(("ea", "eb"))
    assert condition_of("//i[a or b]") == All(("ei", AnyOf(("ci\0a", "ci\0b"))))
    assert condition_of("//i[a = 10]") == All(("ei", "ci\0a", AnyOf(("#a\x0010", "ma"))))


names = st.sampled_from(NAMES)
values = st.sampled_from(VALUES)
attributes = st.dictionaries(names, values, max_size=2)


def element(name: str, given: dict[str, str], inside: list[Any]) -> Any:
    made = etree.Element(name, given)
    for one in inside:
        if isinstance(one, str) and len(made):
            made[-1].tail = (made[-1].tail or "") + one
        elif isinstance(one, str):
            made.text = (made.text or "") + one
        else:
            made.append(one)
    return made


def elements(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(element, names, attributes, st.lists(inner, max_size=4))


comments = values.map(lambda value: etree.Comment(value.replace("-", "")))
written = st.recursive(st.one_of(values, values, comments), elements, max_leaves=12)
documents = st.builds(element, names, attributes, st.lists(written, max_size=4))

axes = st.sampled_from(["", "", "", "descendant::", "self::", "ancestor::", "following-sibling::", "parent::"])
tests = st.one_of(names, names, st.just("*"), st.sampled_from(["text()", "node()", "comment()"]))
literals = st.one_of(values.map(lambda value: f"'{value}'"), st.sampled_from(["10", "7", "0.3", "1", "9.99999", "0"]))


def paths(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    predicates = st.lists(inner.map(lambda one: f"[{one}]"), max_size=2).map("".join)
    step = st.one_of(
        st.builds(lambda axis, test, more: f"{axis}{test}{more}", axes, tests, predicates),
        st.builds(lambda name, more: f"@{name}{more}", st.one_of(names, st.just("*")), predicates),
        st.sampled_from([".", ".."]),
    )
    steps = st.lists(st.tuples(st.sampled_from(["/", "//"]), step), max_size=3)
    begin = st.sampled_from(["/", "//", "", ".//", "(//b)/"])
    return st.builds(lambda first, one, more: first + one + "".join(map("".join, more)), begin, step, steps)


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    path = paths(inner)
    sign = st.sampled_from([" = ", " != ", " < ", " >= ", " and ", " or ", " | ", " + "])
    call = st.sampled_from(
        [
            "not({})",
            "boolean({})",
            "number({}) < 8",
            "number({}) != 8",
            "contains({}, 'x')",
            "count({}) = 0",
            "starts-with({}, '')",
            "string({})",
            "({})",
            "({})[1]",
            "{} = true()",
            "{} = false()",
        ]
    )
    return st.one_of(
        path,
        path,
        st.builds(lambda one, how, other: f"{one}{how}{other}", path, sign, st.one_of(path, literals)),
        st.builds(lambda how, one: how.format(one), call, path),
        st.builds(lambda name, how: f"local-name(){how}'{name}'", names, st.sampled_from([" = ", " != "])),
    )


first = st.one_of(st.sampled_from(["1", "last()", "position() = 2"]), names, names.map(lambda one: f"@{one}"))
queries = expressions(expressions(first))


def finds_something(root: Any, xpath: str) -> bool:
    """As a query sees it."""
    result = root.xpath(xpath)
    return bool(result) if isinstance(result, list) else not (result is False or result != result)


@settings(max_examples=150)
@given(documents, queries, st.sampled_from([PageKind.XML, PageKind.HTML]))
def test_whatever_an_xpath_finds_something_in_is_a_candidate(document: Any, xpath: str, kind: PageKind) -> None:
    body = etree.tostring(document)
    root, _ = whole_tree_of(body, kind, "utf-8")
    if root is None:
        return
    try:
        found = finds_something(root, xpath)
    except etree.XPathError:
        return
    condition: Condition = condition_of(xpath)
    candidates = Segment.of({7: (1, terms_of(root))}).candidates(condition).tolist()
    assert candidates == [7] or not found, (body, xpath, condition)


@pytest.mark.parametrize(
    ("body", "xpath", "is_candidate"),
    [
        ("<a><b>x<i/></b></a>", "//a[b = 'x']", True),
        ("<a><b>x</b></a>", "//a[b = 'x']", True),
        ("<a><b>y</b></a>", "//a[b = 'x']", False),
        ("<a><b>1<i>0</i></b></a>", "//a[b = 10]", True),
        ("<a><b>1e1</b></a>", "//a[b = 10]", True),
        ("<a><b>10.0</b></a>", "//a[b = 10]", True),
        ("<a><b>10.00000000000000000001</b></a>", "//a[b = 10]", True),
        ("<a><b>11</b></a>", "//a[b = 10]", False),
        ("<a><b>9</b></a>", "//a[b < 10]", True),
        ("<a><b>-5</b></a>", "//a[10 > number(b)]", True),
        ("<a><b>1<i>0</i></b></a>", "//a[b < 11]", True),
        ("<a><b>1e1</b></a>", "//a[b < 11]", True),
        ("<a><b>200</b></a>", "//a[b < 10]", False),
        ("<a><b>200</b></a>", "//a[b >= 200]", True),
        ("<a><b>9</b></a>", "//a[b > 200]", False),
        ("<a b='9'/>", "//a[@b < 10]", True),
        ("<a b='1e1'/>", "//a[@b < 11]", True),
        ("<a b='99'/>", "//a[@b < 10]", False),
        ("<a b='x'/>", "//a[@b = 'x']", True),
        ("<a b='y'/>", "//a[@b = 'x']", False),
        ("<a><b/><c/></a>", "//b/c", False),
        ("<a><b/><c/></a>", "/a/c", True),
        ("<r><a/></r>", "/a", False),
    ],
)
def test_values_and_numbers_choose_documents_as_far_as_they_are_known(
    body: str, xpath: str, is_candidate: bool
) -> None:
    root, _ = whole_tree_of(body.encode(), PageKind.XML, "utf-8")
    assert is_candidate or not finds_something(root, xpath)
    found = Segment.of({7: (1, terms_of(root))}).candidates(condition_of(xpath)).tolist()
    assert found == ([7] if is_candidate else [])
