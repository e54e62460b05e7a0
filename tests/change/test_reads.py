from itertools import count
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.change.look import Look
from centime.change.noise import QUIET_READS
from centime.change.reading import Verdict
from centime.change.rule import WHOLE
from centime.parse.scan import words_of
from tests.change.reads import Host, page

EXAMPLES = [
    ("release 3.11.4", "release 4.0.0"),
    ("open from 10:00", "open from 09:00"),
    ("concert on 5 March", "concert on 12 April"),
    ("call 030-1234-5678", "call 030-1234-9999"),
    ("IBAN DE89370400440532013000", "IBAN DE12500105170648489890"),
    (f"SHA-256 {'9f86d081' * 8}", f"SHA-256 {'60303ae2' * 8}"),
    ("2 years", "20 years"),
    ("<a href=/a>x</a>", "<a href=/b>x</a>"),
    ("<img src=a.png alt=x>", "<img src=a.png alt=y>"),
]


@pytest.mark.parametrize(("one", "other"), EXAMPLES)
def test_a_number_a_date_or_a_link_is_a_change(one: str, other: str) -> None:
    host = Host()
    assert host.read(0, lambda: page(one)) is Verdict.UNKNOWN
    assert host.read(0, lambda: page(one)) is Verdict.SAME
    assert host.read(0, lambda: page(other)) is Verdict.CHANGED


@pytest.mark.parametrize(("one", "other"), EXAMPLES)
def test_a_change_beside_an_advertisement_is_a_change_and_the_advertisement_is_none(one: str, other: str) -> None:
    host, number = Host(), count()
    for read in range(4):
        for number_of_page in range(6):
            verdict = host.read(number_of_page, lambda: page(one, noise=f"Save {next(number)} percent on bread"))
            assert verdict is (Verdict.VOLATILE if read > 1 else verdict)
    assert host.read(0, lambda: page(other, noise=f"Save {next(number)} percent on bread")) is Verdict.CHANGED
    assert host.read(0, lambda: page(other, noise=f"Save {next(number)} percent on bread")) is Verdict.VOLATILE
    assert host.twins <= 4


def test_a_counter_in_a_sentence_is_masked_and_the_price_beside_it_is_not() -> None:
    host, number = Host(), count(100)

    def write(price: int) -> str:
        return page(f"The page was opened by {next(number)} readers so far, and bread costs {price} euros.")

    for _ in range(3):
        verdicts = [host.read(one, lambda: write(5)) for one in range(5)]
    assert set(verdicts) == {Verdict.VOLATILE}
    assert host.read(0, lambda: write(6)) is Verdict.CHANGED


def test_a_list_in_random_order_is_a_set_and_a_new_item_is_a_change() -> None:
    host, number = Host(), count()

    def write(items: list[str]) -> str:
        turn = next(number) % len(items)
        listed = "".join(f"<li>{item}</li>" for item in items[turn:] + items[:turn])
        return page("text") + f"<ul class=related>{listed}</ul>"

    for _ in range(3):
        verdicts = [host.read(one, lambda: write(["a b", "c d", "e f"])) for one in range(5)]
    assert Verdict.VOLATILE in verdicts
    assert Verdict.CHANGED not in verdicts
    assert host.read(0, lambda: write(["a b", "c d", "x y"])) is Verdict.CHANGED


def test_a_banner_that_comes_and_goes_is_volatile() -> None:
    host, number = Host(), count()

    def write() -> str:
        return page("text") + ("<div class=consent><p>We use cookies.</p></div>" if next(number) % 3 else "")

    verdicts = [[host.read(one, write) for one in range(6)] for _ in range(6)]
    assert Verdict.CHANGED not in verdicts[-1]


def test_a_rule_that_pages_contradicted_for_a_while_is_believed_again_when_they_confirm_it() -> None:
    host, random, pages = Host(), Random(1), range(8)

    def write() -> str:
        return page("text") + ("<div class=consent><p>We use cookies.</p></div>" if next(turns) else "")

    told = []
    for turn in range(36):
        told.append(0)
        for number in pages:
            # at first the banner stays for two reads, so that no page differs twice in a row; one twin read shows it
            shown = (turn // 2 + number) % 2 if turn < 15 else random.random() < 0.5
            turns = iter([shown, shown != (turn == 2 and number == 0)])
            told[-1] += host.read(number, write) is Verdict.CHANGED
    assert any(rule.kind == WHOLE for rule in host.noise.rules)
    assert sum(told[-10:]) == 0


def test_wrapping_a_page_in_other_elements_is_markup() -> None:
    host = Host()
    text = "<main class=story><h1>Title</h1><div class=body><p>One two three</p></div></main>"
    host.read(0, lambda: text)
    assert host.read(0, lambda: f"<div class=shell>{text}</div>") is Verdict.MARKUP
    assert host.read(0, lambda: f"<body class=red>{text}") is Verdict.MARKUP


def test_words_that_move_among_others_are_a_change() -> None:
    host = Host()

    def write(first: str, second: str) -> str:
        return f"<p>Alice: <div class=one>{first}</div> <p>Bob: <div class=two>{second}</div>"

    host.read(0, lambda: write("won", ""))
    assert host.read(0, lambda: write("", "won")) is Verdict.CHANGED


def test_words_that_move_into_another_element_in_their_order_are_markup() -> None:
    host = Host()
    host.read(0, lambda: "<div class=one>bread 5</div><div class=two></div>")
    assert host.read(0, lambda: "<div class=one></div><div class=two>bread 5</div>") is Verdict.MARKUP


def test_text_that_moves_into_an_empty_element_of_xml_is_a_change() -> None:
    before, after = (words_of(text, xml=True) for text in (b"<r><a/><b>x</b></r>", b"<r><a>x</a><b/></r>"))
    state = Look(before).seen().state
    assert Look(after, state, signature=before.signature).changed


def test_noise_that_stops_is_watched_again() -> None:
    host, number = Host(), count()
    for _ in range(3):
        for one in range(6):
            host.read(one, lambda: page("text", noise=f"{next(number)} people watch"))
    for _ in range(QUIET_READS):
        for one in range(6):
            host.read(one, lambda: page("text", noise="7 people watch"))
    assert host.read(0, lambda: page("text", noise="8 people watch")) is Verdict.CHANGED


def test_a_value_that_all_pages_share_is_reported_by_few() -> None:
    host = Host()
    reported = []
    for day in range(12):
        verdicts = [host.read(one, lambda: page(f"text {one}", noise=f"Today is day {day}")) for one in range(10)]  # noqa: B023
        reported.append(verdicts.count(Verdict.CHANGED))
    assert reported[-1] == 0
    assert max(reported[4:]) <= 1


TEXTS = st.lists(
    st.sampled_from(["river", "12:30", "5", "<b>", "</b>", "<p>", "<li>", "2024", "a1b2c3d4e5f6a7b8"]), max_size=12
)


@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_a_read_whose_bytes_differ_is_never_the_same(contents: list[list[str]]) -> None:
    host = Host()
    last = ""
    for parts in contents:
        body = page(" ".join(parts))
        verdict = host.read(0, lambda: body)  # noqa: B023
        assert (verdict is Verdict.SAME) == (body == last)
        last = body


@given(st.text(alphabet="abc123:./-", min_size=1, max_size=12), st.text(alphabet="abc123:./-", min_size=1, max_size=12))
def test_another_word_outside_of_a_learned_mask_is_a_change(one: str, other: str) -> None:
    host, number = Host(), count()
    for _ in range(3):
        for k in range(4):
            host.read(k, lambda: page(f"It says {one} here", noise=f"{next(number)} people watch"))
    verdict = host.read(0, lambda: page(f"It says {other} here", noise=f"{next(number)} people watch"))
    assert verdict is (Verdict.VOLATILE if one == other else Verdict.CHANGED)


def test_a_state_is_small_however_many_places_a_page_has() -> None:
    host = Host()
    many = "".join(f"<div class={chr(97 + k % 26)}{chr(97 + k // 26)}x><p>word {k}</p></div>" for k in range(600))
    host.read(0, lambda: many)
    assert len(host.states[0]) <= 500
    for k in (0, 300, 599):
        host.read(0, lambda: many)
        changed = many.replace(f"<p>word {k}</p>", "<p>word other</p>")
        assert host.read(0, lambda: changed) is Verdict.CHANGED  # noqa: B023


def test_a_clock_on_pages_with_too_many_places_to_tell_apart_is_learned() -> None:
    host, number = Host(), count()

    def write(one: int, text: str = "word") -> str:
        names = [f"{chr(97 + k % 26)}{chr(97 + k // 26)}{chr(97 + one)}" for k in range(200)]
        many = "".join(f"<div class={name}><p>{k or text}</p></div>" for k, name in enumerate(names))
        return f"{many}<footer><p>It is day {next(number) // 30}</p></footer>"

    verdicts = [[host.read(one, lambda: write(one)) for one in range(6)] for _ in range(60)]  # noqa: B023
    assert sum(row.count(Verdict.CHANGED) for row in verdicts[30:]) <= 6
    assert host.read(0, lambda: write(0, "other")) is Verdict.CHANGED


def test_a_banner_on_pages_with_too_many_places_to_tell_apart_is_learned_without_a_lucky_twin_read() -> None:
    """Two reads in a row never differ."""
    host, random = Host(), Random(1)

    def write(one: int, shown: bool) -> str:
        names = [f"{chr(97 + k % 26)}{chr(97 + k // 26)}{chr(97 + one)}" for k in range(200)]
        many = "".join(f"<div class={name}><p>{k}</p></div>" for k, name in enumerate(names))
        return many + ("<div class=consent>We use cookies.</div>" if shown else "")

    told = []
    for _ in range(12):
        shown = [random.random() < 0.5 for _ in range(10)]
        told.append(sum(host.read(one, lambda: write(one, shown[one])) is Verdict.CHANGED for one in range(10)))  # noqa: B023
    assert sum(told[:4]) <= 8
    assert sum(told[4:]) <= 1


def test_a_label_that_one_server_shows_too_late_is_a_change_of_the_pages_that_get_it() -> None:
    host, random = Host(), Random(1)
    labelled = dict.fromkeys(range(20), False)
    told = changes = 0

    def write(one: int, late: bool) -> str:
        return page(f"text {one}") + ("<b class=label>Sold out</b>" if labelled[one] != late else "")

    for turn in range(40):
        for one in labelled:
            changes += (changed := turn > 0 and random.random() < 0.05)
            labelled[one] ^= changed
            answers = iter([False, changed and turn < 3])  # of the second answer whether it is an old one
            told += host.read(one, lambda: write(one, next(answers))) is Verdict.CHANGED  # noqa: B023
    assert told >= 0.85 * changes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<table><tr><td>Hall<td>x<td><td></table>", "<table><tr><td>Hall<td><td><td>x</table>"),
        ("<table><tr><td>Hall<td>x<td></table>", "<table><tr><td>Hall<td><td>x</table>"),
        ("<table><tr><td>Mo<td></td><tr><td>Tu<td>closed</table>", "<table><tr><td>Mo<td>closed<tr><td>Tu<td></table>"),
        ("<table><tr><th>a<th><tr><td>b<td></table>", "<table><tr><th><th>a<tr><td>b<td></table>"),
        ("<dl><dt>open</dt><dd></dd></dl>", "<dl><dt></dt><dd>open</dd></dl>"),
    ],
)
def test_a_mark_that_moves_to_another_cell_is_a_change(old: str, new: str) -> None:
    host = Host()
    for _ in range(4):
        host.read(0, lambda: page("text", noise=old))
    assert host.read(0, lambda: page("text", noise=new)) is Verdict.CHANGED


def test_an_empty_row_at_the_end_is_no_change() -> None:
    host = Host()
    host.read(0, lambda: page("text", noise="<table><tr><td>a<td>b</table>"))
    assert host.read(0, lambda: page("text", noise="<table>\n<tr>\n<td> a\n<td>b </table>")) is not Verdict.CHANGED
