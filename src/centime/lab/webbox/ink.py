"""The texts of pages: words, sentences and pieces of markup, as bytes in long arrays from which kernels copy."""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.lab.webbox.layout import Numbers

VOCABULARY = """
    account acre air anchor apple april arrow autumn bakery balance bank barley basket beacon bell berry birch board
    boat book bottle bread breeze brick bridge brook café canal candle canvas carpet castle cedar cellar centime chair
    chalk château cherry chestnut circle city clay clock cloud clover coast coin copper coral corner cotton country
    cream crédit crown current curtain dawn deposit desert door dove draft drum dust eagle earth echo ember engine
    évolution façade farm feather fern ferry field fire flag flour flower forest fortune fountain garden gate glass gold
    grain grange granite grape grass gravel guest hall hammer harbour harvest hazel herb hill honey horizon house île
    ink iron island ivory jar journey juniper kettle key kitchen ladder lake lamp lantern lavender leaf ledger lemon
    letter library light lily linen lion loan lotus maple marble market meadow melon mill mint mirror money moon moss
    mountain naïve needle nest night noble north note oak oats ocean olive opal orchard orchid owl page paint palace
    paper parcel path pearl pebble pepper piano pigeon pine plain planet plum pocket poem pond poplar port pottery price
    purse quartz quill rain raven reed rhythm ribbon rice river road robin rope rose ruby saffron sail salt sand school
    sea season seed señor shadow shell ship shore silk silver sky slate smoke snow spice spring square star station
    steel stone storm straw stream street sugar summer sun swan table tea temple thread thyme timber tower trade train
    treasure tree tulip tunnel valley velvet village vine violet wagon wall walnut warehouse water wave wax well wheat
    wheel willow wind window wine winter wolf wood wool yard year zinc
"""
WORDS = VOCABULARY.split()
SENTENCES = 2048

Bytes = npt.NDArray[np.uint8]


class Ink(NamedTuple):
    """Concatenated texts: first pieces of markup, then words, then sentences. Text k is `text[ends[k]:ends[k + 1]]`."""

    text: Bytes
    ends: Numbers


def make_ink(pieces: list[str], encoding: str) -> Ink:
    """The texts of pages in an encoding. The sentences are the same in every box; only their places on pages are
    random.
    """
    texts = [text.encode(encoding) for text in (*pieces, *(word.capitalize() for word in WORDS), *_sentences())]
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=ends[1:])
    return Ink(np.frombuffer(b"".join(texts), dtype=np.uint8), ends)


@cache
def _sentences() -> tuple[str, ...]:
    generator = np.random.default_rng(0)
    sentences = []
    for length in generator.integers(6, 18, SENTENCES):
        sentence = " ".join(WORDS[number] for number in generator.integers(0, len(WORDS), length))
        sentences.append(sentence[0].upper() + sentence[1:] + ". ")
    return tuple(sentences)
