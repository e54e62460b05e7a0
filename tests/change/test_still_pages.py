"""Pages that are still where other pages of their host are volatile."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.change.history import FRESH, LEAST_ODDS, noise_odds
from centime.change.reading import Verdict
from tests.change.reads import Host, page

SHAPES: dict[str, Callable[[int], str]] = {
    "a whole place": lambda value: page("text", noise=f"{value}"),
    "words in a place": lambda value: page("text", noise=f"Price today is {value} euros for all of you"),
    "words in a sentence": lambda value: page(f"Say what the price today is {value} euros for all of you"),
    "a link": lambda value: page("text", noise=f"<a href=/buy/{value}>buy</a>"),
    "an image": lambda value: page("text", noise=f"<img src=/{value}.png alt=x>"),
    "a cell": lambda value: page("text", noise=f"<table><tr><td>a<td>{value}<tr><td>b<td>5</table>"),
}


@settings(max_examples=12)
@given(
    st.sampled_from(sorted(SHAPES)),
    st.integers(2, 8),
    st.integers(2, 8),
    st.integers(4, 6),
    st.integers(0, 10**6),
)
def test_a_change_is_seen_on_a_page_that_was_still_where_others_are_volatile(
    shape: str, noisy: int, still: int, rounds: int, seed: int
) -> None:
    random = Random(seed)
    host, values = Host(), [random.randrange(1000) for _ in range(noisy + still)]

    def write(number: int) -> str:
        return SHAPES[shape](random.randrange(10**6) if number < noisy else values[number])

    pages = list(range(noisy + still))
    random.shuffle(pages)
    for _ in range(rounds):
        for number in pages:
            host.read(number, lambda: write(number))  # noqa: B023
    for number in range(noisy, noisy + still):
        values[number] += 1
        assert host.read(number, lambda: write(number)) is Verdict.CHANGED  # noqa: B023
        assert host.read(number, lambda: write(number)) is Verdict.SAME  # noqa: B023
    verdicts = [host.read(number, lambda: write(number)) for number in range(noisy)]  # noqa: B023
    assert Verdict.CHANGED not in verdicts


def test_a_label_that_other_pages_get_and_lose_is_a_change_of_a_page_that_never_had_it() -> None:
    host, random = Host(), Random(1)
    labelled = dict.fromkeys(range(30), False)

    def write(number: int) -> str:
        return page(f"text {number}") + ("<b class=label>Sold out</b>" if labelled[number] else "")

    for number in labelled:
        host.read(number, lambda: write(number))  # noqa: B023
    for _ in range(6):
        chosen = random.sample(sorted(labelled), 2)
        for number in labelled:
            labelled[number] ^= number in chosen
            verdict = host.read(number, lambda: write(number))  # noqa: B023
            assert verdict is (Verdict.CHANGED if number in chosen else Verdict.SAME)


def test_a_text_of_its_own_is_a_change_where_other_pages_show_the_date() -> None:
    host = Host()
    own = "Closed for ever"
    for day in range(14):
        for number in range(10):
            noise = own if number == 9 else f"Today is day {day}"
            host.read(number, lambda: page(f"text {number}", noise=noise))  # noqa: B023
    assert host.read(8, lambda: page("text 8", noise="Today is day 14")) is Verdict.VOLATILE
    assert host.read(9, lambda: page("text 9", noise="Open again")) is Verdict.CHANGED


@pytest.mark.parametrize("history", range(FRESH, 32))
def test_the_longer_a_page_was_still_the_less_a_difference_is_noise(history: int) -> None:
    for evidence in ((0, 0, 0.7), (20, 0, 0.9), (10, 10, 0.5)):
        assert (
            noise_odds(history << 1, evidence) < noise_odds(history, evidence) < noise_odds(history << 1 | 1, evidence)
        )
        assert noise_odds(history, evidence, steady=True) < noise_odds(history, evidence)
        assert noise_odds(history, (*evidence[:2], 0.99)) > noise_odds(history, evidence)


def test_the_first_difference_of_a_page_is_noise_if_most_pages_have_noise_there() -> None:
    assert noise_odds(FRESH, (20, 1, 0.95)) > LEAST_ODDS > noise_odds(0b1000, (20, 1, 0.95))


BLIPS: dict[str, Callable[[str], str]] = {
    "a maintenance page": lambda normal: "<html><body>Maintenance</body></html>",
    "a page cut after its head": lambda normal: normal[:120],
    "a page cut in its text": lambda normal: normal[:190],
    "an empty page": lambda normal: "",
    "a text of its own": lambda normal: normal.replace("old", "just for once"),
}


@pytest.mark.parametrize("blip", BLIPS)
@pytest.mark.parametrize("pages", [5, 9])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_what_one_page_showed_once_hides_no_change_of_the_others(blip: str, pages: int, rounds: int) -> None:
    host = Host()
    texts = {number: page(f"old {number}") for number in range(pages)}

    def read_all() -> list[Verdict]:
        return [host.read(number, lambda: texts[number]) for number in texts]  # noqa: B023

    for _ in range(6):
        read_all()
    strange = [BLIPS[blip](texts[0]), texts[0]]  # the twin read sees the page as it is
    host.read(0, lambda: strange.pop(0))
    host.read(0, lambda: texts[0])
    for _ in range(rounds):
        read_all()
    for number in range(1, pages):
        texts[number] = page(f"new {number}")
        assert host.read(number, lambda: texts[number]) is Verdict.CHANGED  # noqa: B023
        assert host.read(number, lambda: texts[number]) is Verdict.SAME  # noqa: B023
