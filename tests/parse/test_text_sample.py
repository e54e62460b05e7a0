"""The sample of a text is that of what a page says, whatever URLs it has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.parse import text_sample as module
from centime.parse.text_sample import SAMPLED, text_sample
from centime.parse.tokens import TOKENS_SIZE

URL = "http://h.example/session-0a1b2c/start?page=17"
PAGE = b"<h1>The ship</h1><p>An old sailor went to sea in spring <a href=/next>and came home</a> in autumn."


def runs(page: bytes, url: str = URL) -> set[int]:
    return set(np.frombuffer(text_sample(page, url), dtype="<u4")[1:].tolist())


def whole(page: bytes, url: str = URL) -> int:
    return int(np.frombuffer(text_sample(page, url), dtype="<u4")[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"/next", b"/other?sid=9a8b7c"),
        (b"spring", b"spring,"),
        (b"An old", b"AN OLD"),
        (b"sea in", b"sea <b>in</b>"),
        (b"spring", b"spring /a/b/a/b q=17"),
        (b"The ship", b"Session 0a1b2c: the ship, page 17"),
        (b"<p>An", b"<!-- 5 --><script>var x = 'some words are here'</script><p title='Other words'>An"),
    ],
)
def test_what_is_no_text_or_belongs_to_the_url_makes_no_difference(old: bytes, new: bytes) -> None:
    assert text_sample(PAGE.replace(old, new), URL) == text_sample(PAGE, URL)


@pytest.mark.parametrize("new", [b"12:01:33", b"9f8e7d6c5b", b"5/6/2024", b"x" * 50])
def test_numbers_and_identifiers_differ_in_the_whole_text_alone(new: bytes) -> None:
    other = PAGE.replace(b"spring", b"spring " + new)
    assert runs(other) == runs(PAGE)
    assert whole(other) != whole(PAGE)


def test_another_word_is_another_text() -> None:
    other = PAGE.replace(b"spring", b"winter")
    assert whole(other) != whole(PAGE)
    assert 0 < len(runs(other) & runs(PAGE)) < len(runs(PAGE))


@pytest.mark.parametrize("text", ["人口は2024年に3万人である", "Население", "&#1053;&#1072;&#1089;"])
def test_words_of_other_scripts_are_text_even_with_numbers(text: str) -> None:
    assert runs(f"<p>{text}</p>".encode())
    assert runs(f"<p>{text}</p>".encode()) != runs(f"<p>{text}{text}</p>".encode())


def test_a_page_that_says_nothing_has_no_sample() -> None:
    assert text_sample(b"", URL) == text_sample(b"<img src=a.png><script>x</script>", URL) == b""
    assert text_sample(b"<p>start", URL) == b"", "a word of the URL"


def test_the_share_of_new_runs_is_the_share_of_new_text() -> None:
    random = np.random.default_rng(3)

    def text(count: int) -> str:
        return " ".join("".join(map(chr, random.integers(97, 123, 6))) for _ in range(count))

    shares = []
    for _ in range(40):
        template = text(300)
        first, second = (runs(f"<p>{template}</p><p>{text(100)}</p>".encode()) for _ in range(2))
        assert len(first) == SAMPLED
        shares.append(len(second - first) / SAMPLED)
    assert 0.2 < np.mean(shares) < 0.45


PIECES = ["<p>", "<a b=c", "</p>", "<script>", "</script>", "<br/>", "<!--", "-->", "<", ">", "ab", "cd", " ", "&#12;"]


@given(
    st.binary(max_size=300)
    | st.text("<>/!-ab1 &#;='\"", max_size=200).map(str.encode)
    | st.lists(st.sampled_from(PIECES), max_size=40).map(lambda pieces: "".join(pieces).encode())
)
def test_any_bytes_have_a_sample_and_compiled_code_gives_the_same(page: bytes) -> None:
    sample = text_sample(page, URL)
    assert len(sample) % 4 == 0
    found = np.zeros(TOKENS_SIZE, dtype=np.int64)
    smallest = np.full(SAMPLED, 1 << 32, dtype=np.int64)
    function = getattr(module._sample, "function", module._sample)
    own = np.array(list({module._code(word) for word in module._words(URL)}), dtype=np.int64)
    count = function(np.frombuffer(page, dtype=np.uint8), own, smallest, found)
    assert sample[4:] == smallest[:count].astype("<u4").tobytes() or not found[0]
