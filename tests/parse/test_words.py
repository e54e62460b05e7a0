import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.change.groups import groups_of
from centime.model.words import Words
from centime.parse.document import read_document
from centime.parse.scan import words_of
from centime.parse.words import ATTRIBUTE, MOST_WORDS, REST


def words(body: str) -> Words:
    return words_of(f"<html><body>{body}</body></html>".encode())


def signature(body: str) -> int:
    return words(body).signature


def places(body: str) -> list[int]:
    found: list[int] = words(body).places.tolist()
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("release 3.11.4", "release 4.0.0"),
        ("opens at 10:00", "opens at 09:00"),
        ("5 March 2026", "12 April 2026"),
        ("call 030-1234-5678", "call 030-1234-9999"),
        ("IBAN DE89370400440532013000", "IBAN DE12500105170648489890"),
        (f"SHA-256 {'9f86d081' * 8}", f"SHA-256 {'60303ae2' * 8}"),
        ("2 years", "20 years"),
        ("© 2024 us", "© 2025 us"),
        ("12,345 visits", "9 visits"),
        ("posted 3 minutes ago", "posted 59 minutes ago"),
        ("a b", "ab"),
        ("Größe", "Grösse"),
        ("", "x"),
        ("<nav>One</nav>x", "<nav>Two</nav>x"),
        ("<footer>us</footer>x", "<footer>them</footer>x"),
        ("<p hidden>one</p>x", "<p hidden>two</p>x"),
        ("<a href=/a>x</a>", "<a href=/b>x</a>"),
        ("<img src=a.png alt=x>", "<img src=b.png alt=x>"),
        ("<img src=a.png alt=x>", "<img src=a.png alt=y>"),
        ("<time datetime=2026-01-01>x</time>", "<time datetime=2026-01-02>x</time>"),
        ("<input name=q value=1>", "<input name=q value=2>"),
        ("<script>one()</script>", "<script>two()</script>"),
        ("<img src=dot.gif data-src=a.png>", "<img src=dot.gif data-src=b.png>"),
        ("<img src=dot.gif data-srcset='a.png 2x'>", "<img src=dot.gif data-srcset='b.png 2x'>"),
        ("<button aria-label='buy for 3'></button>", "<button aria-label='buy for 4'></button>"),
        ("<iframe srcdoc='&lt;p>one'></iframe>", "<iframe srcdoc='&lt;p>two'></iframe>"),
        ("<svg><a xlink:href=/a>x</a></svg>", "<svg><a xlink:href=/b>x</a></svg>"),
        ("<table background=a.png>", "<table background=b.png>"),
        ("Tickets <del>from 9</del> now", "Tickets from 9 now"),
        ("Tickets <s>from 9</s> now 5", "Tickets <s>from 9 now</s> 5"),
        ("<input type=checkbox checked>x", "<input type=checkbox>x"),
        ("<input type=checkbox checked>x", "<input type=checkbox disabled>x"),
        ("<option selected>a<option>b", "<option>a<option selected>b"),
        ("<input type=radio checked>yes <input type=radio>no", "<input type=radio>yes <input type=radio checked>no"),
        ("<button disabled>buy</button>", "<button>buy</button>"),
        ("<p hidden>sold out</p>x", "<p>sold out</p>x"),
        ("<details open>x</details>", "<details>x</details>"),
        ("<div role=slider aria-valuenow=3></div>x", "<div role=slider aria-valuenow=4></div>x"),
        ("<progress value=3 max=5></progress>x", "<progress value=3 max=9></progress>x"),
        ("<ol start=3><li>x", "<ol start=4><li>x"),
        ("<table><td colspan=2>x", "<table><td>x"),
        (
            '<script type=application/ld+json>{"price":9}</script>x',
            '<script type=application/ld+json>{"price":8}</script>x',
        ),
        (
            '<script id=a type="Application/JSON">{"a":[1,2]}</script>x',
            '<script id=a type="Application/JSON">{"a":[2,1]}</script>x',
        ),
        ("<template shadowrootmode=open>one</template>", "<template shadowrootmode=open>two</template>"),
        ("<textarea>one</textarea>", "<textarea>two</textarea>"),
        ("<svg><text>1</text></svg>", "<svg><text>2</text></svg>"),
        ("<noscript>one</noscript>", "<noscript>two</noscript>"),
        ("x" * 10_000 + "1", "x" * 10_000 + "2"),
    ],
)
def test_nothing_is_dropped_by_its_look(one: str, other: str) -> None:
    assert signature(one) != signature(other)


@pytest.mark.parametrize(
    "other",
    [
        "<p>Hello  there</p>\n<p>you</p>",
        "<p>Hello there<p>you",
        "<p>Hello&nbsp;there</p><p>you</p>",
        "<p>Hello\u00a0there</p><p>you</p>",
        "<p>&#72;ello there</p><p>you</p>",
        "<p><b>Hello</b> there</p><p>you</p>",
        "<p>Hello there</p><!-- c --><p>you</p>",
        "<p>Hello there</p><script>x=1</script><p>you</p>",
        "<p>Hello there</p><style>p{}</style><p>you</p>",
        "<p>Hello there</p><script type=module>x=1</script><script type=importmap>{}</script><p>you</p>",
        "<div class=new><p id=a>Hello there</p></div><p>you</p>",
        "<link rel=stylesheet href=new.css><p>Hello there</p><p>you</p>",
    ],
)
def test_markup_and_white_space_are_no_words(other: str) -> None:
    assert signature(other) == signature("<p>Hello there</p><p>you</p>")


def test_a_flag_is_a_word_whatever_its_value_is() -> None:
    ways = ("hidden", "HIDDEN", "hidden=''", "hidden=hidden", "hidden='until-found'", "hidden ")
    assert len({signature(f"<p {way}>x</p>") for way in ways}) == 1


def test_data_in_a_script_is_split_into_its_values() -> None:
    one = '<p>x</p><script type=application/ld+json>{"name":"Tea","price":9,"seen":1700000001}</script>'
    two = one.replace("9,", "8,")
    assert (words(one).words != words(two).words).sum() == 1


def test_a_paragraph_that_is_added_moves_no_other() -> None:
    one, two = places("<main><p>a</p><p>b</p></main>"), places("<main><p>a</p><p>x</p><p>b</p></main>")
    assert set(one) == set(two)


def test_a_place_is_that_of_the_last_two_named_elements() -> None:
    inner = "<div class=card><p class=price>9</p></div>"
    assert places(f"<main>{inner}</main>") == places(f"<section class=wrap><div><main>{inner}</main></div></section>")
    assert places("<p class=price>9</p>") != places("<p class=stock>9</p>")


def test_names_with_digits_count_up_to_a_dash_or_not_at_all() -> None:
    assert places("<div id=post-12>a</div>") == places("<div id=post-345>a</div>")
    assert places("<div id=post-12>a</div>") != places("<div id=note-12>a</div>")
    assert places("<div class=c4fa1>a</div>") == places("<div class=c9e0b>a</div>") == places("<div>a</div>")


def test_names_of_the_body_do_not_count() -> None:
    assert words_of(b"<body class=red><p>a").places.tolist() == words_of(b"<body class=blue><p>a").places.tolist()


def test_a_value_has_a_place_and_a_block_of_its_own() -> None:
    found = words("<p>a <a href=/b/c>d</a></p>")
    assert [bool(block & ATTRIBUTE) for block in found.blocks.tolist()] == [False, True, True, False]
    assert len(set(found.places.tolist())) == 2


def test_what_follows_the_last_word_that_has_its_own_entry_counts_too() -> None:
    many = b"<p>" + b"a " * (MOST_WORDS + 100)
    one, two = words_of(many + b"x"), words_of(many + b"y")
    assert len(one) <= MOST_WORDS + 1
    assert one.places[-1] == REST
    assert one.signature != two.signature


def test_xml_has_all_its_names_and_values() -> None:
    def xml(text: str) -> int:
        return read_document(text.encode(), url="https://h/", content_type="application/xml").signature

    assert xml("<r a='1'><ok/></r>") != xml("<r a='2'><ok/></r>")
    assert xml("<r a='1'><ok/></r>") != xml("<r a='1'><bad/></r>")
    assert xml("<r a='1'><x>1</x></r>") == xml("<r  a='1'>\n <x>1</x><!-- c --></r>")


def test_every_attribute_of_an_element_of_xml_counts() -> None:
    written = " ".join(f'a{place}="x"' for place in range(20))
    row = f"<row {written}/>"
    other = row.replace('a19="x"', 'a19="y"')
    assert words_of(row.encode(), xml=True).signature != words_of(other.encode(), xml=True).signature


@given(st.binary(max_size=300))
def test_any_bytes_have_words(data: bytes) -> None:
    for xml in (False, True):
        found = words_of(data, xml=xml)
        assert found.signature > 0
        assert all(0 <= place <= REST for place in found.places.tolist())


TAGS = ["<p>", "</p>", "<div class=a>", "</div>", "<li>", "<td>", "<b>", "</b>", "x", " ", "<a href=/u/v?w=1>", "</a>"]


@given(st.lists(st.sampled_from(TAGS), max_size=40), st.integers(0, 40), st.text(alphabet="abc019", min_size=1))
def test_a_new_word_anywhere_is_a_new_signature(parts: list[str], at: int, word: str) -> None:
    before, after = "".join(parts[:at]), "".join(parts[at:])
    assert signature(f"{before} {after}") != signature(f"{before} {word} {after}")


XML = "<r><a x='1' y='2'>one</a><a>two three</a><b/>four<c>five<d/></c>six<?go on?></r>"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<b/>four", "<b>four</b>"),  # text moves into an empty element
        ("<b/>four", "four<b/>"),
        ("one</a><a>two ", "one two</a><a>"),  # a boundary moves
        ("<d/></c>six", "<d/>six</c>"),
        ("<c>five<d/></c>", "<c>five</c><d/>"),
        ("x='1'", "z='1'"),
        ("x='1' y='2'", "x='2' y='1'"),
        ("x='1' y='2'>one</a><a>", "x='1'>one</a><a y='2'>"),
        ("y='2'>one</a><a>", "y=''>one</a><a y='2'>"),
        ("<b/>", "<B/>"),
        ("x='1'", "X='1'"),
        ("<?go on?>", "<?go off?>"),
        ("<r>", "<!DOCTYPE r [<!ENTITY e 'f'>]><r>"),
    ],
)
def test_a_change_of_structure_in_xml_is_a_change(old: str, new: str) -> None:
    assert old in XML
    before, after = XML, XML.replace(old, new)
    assert xml_signature(before) != xml_signature(after)
    assert _values(before) != _values(after)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<b/>", "<b></b>"),
        ("<b/>", "<b ></b >"),
        ("<b/>", "<!-- <x> --><b/>"),
        ("x='1' y='2'", 'y="2"\n x="1"'),
        ("two three", "two\n\tthree"),
        ("<r>", "<?xml version='1.0' encoding='utf-8'?>\n<r>"),
        ("one", "<![CDATA[one]]>"),
    ],
)
def test_comments_white_space_and_the_order_of_attributes_are_no_change_of_xml(old: str, new: str) -> None:
    assert old in XML
    assert xml_signature(XML) == xml_signature(XML.replace(old, new))


@pytest.mark.parametrize("name", ["_a", "é", "名", ":a"])
def test_xml_has_elements_with_any_name(name: str) -> None:
    assert xml_signature(f"<{name}>x</{name}>y") != xml_signature(f"<{name}>x y</{name}>")


def test_attributes_beyond_the_limit_count_in_xml() -> None:
    written = "".join(f" a{place}='x'" for place in range(100))
    assert xml_signature(f"<r{written}/>") != xml_signature(f"<r{written}/>".replace("a99='x'", "a99='y'"))


def xml_signature(text: str) -> int:
    return words_of(text.encode(), xml=True).signature


def _values(text: str) -> dict[int, int]:
    """What is compared of each place, if the signatures differ."""
    groups = groups_of(words_of(text.encode(), xml=True))
    return dict(zip(groups.places.tolist(), groups.ordered.tolist(), strict=True))
