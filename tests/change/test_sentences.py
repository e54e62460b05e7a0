"""Noise and content in one sentence."""

from collections.abc import Callable
from itertools import count
from random import Random

import pytest

from centime.change.reading import Verdict
from centime.change.specimen import LEAST_COMPARISONS, MOST_COMPARISONS, MOST_SPECIMENS
from tests.change.reads import Host, page

WORDS = [
    "river",
    "stone",
    "garden",
    "council",
    "bread",
    "winter",
    "light",
    "market",
    "bridge",
    "music",
    "paper",
    "glass",
]
Sentence = Callable[[Random, int], str]
SENTENCES: dict[str, Sentence] = {
    "apart": lambda random, price: f"Bread costs {price} euros and {random.randrange(10**4)} people watch it now.",
    "beside": lambda random, price: f"Only {price} {random.randrange(10**4)} left",
    "at the begin": lambda random, price: f"{random.randrange(10**4)} people pay {price}",
    "at the end": lambda random, price: (
        f"Price {price} euros {' '.join(random.choices(WORDS, k=random.randint(1, 9)))}"
    ),
    "few values": lambda random, price: (
        f"Bread costs {price} euros and {random.choice(WORDS[:3])} people watch it now."
    ),
    "the same words": lambda random, price: f"{' '.join(f'{random.choice(WORDS)} {w}' for w in WORDS)} price {price}",
}


@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES)
def test_noise_in_a_sentence_is_learned_and_the_price_beside_it_is_seen(sentence: Sentence) -> None:
    host, random = Host(), Random(1)
    told = 0
    for read in range(60):
        verdict = host.read(0, lambda: page(sentence(random, 5 + read // 20)))  # noqa: B023
        if read in (20, 40):
            assert verdict is Verdict.CHANGED
        else:
            told += verdict is Verdict.CHANGED
    assert told <= 3
    assert host.noise.volatile_parts(host.states[0])


@pytest.mark.parametrize("length", [0, 200])
def test_a_counter_that_moves_between_reads_but_not_within_seconds_is_found_in_a_text_of_any_length(
    length: int,
) -> None:
    host, text = Host(), " ".join(Random(1).choices(WORDS, k=length))

    def write(read: int, price: int) -> str:
        return page(f"{text} It was opened by {1000 + read} readers, and bread costs {price} euros today.")

    verdicts = [host.read(0, lambda: write(read, 5)) for read in range(30)]  # noqa: B023
    assert verdicts.count(Verdict.CHANGED) <= LEAST_COMPARISONS + 4
    assert verdicts[-1] is Verdict.VOLATILE
    assert host.noise.volatile_parts(host.states[0])
    assert host.read(0, lambda: write(31, 6)) is Verdict.CHANGED
    assert host.read(0, lambda: write(32, 6)) is Verdict.VOLATILE


def test_a_text_that_changes_now_and_then_in_the_same_words_is_never_masked() -> None:
    host, price = Host(), 5
    text = " ".join(WORDS * 8)
    for read in range(60):
        changes = read % 3 == 2
        price += changes
        verdict = host.read(0, lambda: page(f"{text} and bread costs {price} euros today."))  # noqa: B023
        assert verdict is (Verdict.UNKNOWN if not read else Verdict.CHANGED if changes else Verdict.SAME)
    assert host.noise.volatile_parts(host.states[0]) == []


def test_a_host_keeps_few_specimens_and_each_for_some_reads_only() -> None:
    host, number = Host(), count()
    text = " ".join(WORDS * 8)
    for _ in range(40):
        for one in range(8):
            host.read(one, lambda: page(f"{text} {' '.join(Random(next(number)).choices(WORDS, k=30))}"))
            assert len(host.noise.specimens) <= MOST_SPECIMENS
            assert all(kept.comparisons < MOST_COMPARISONS for kept in host.noise.specimens.values())
