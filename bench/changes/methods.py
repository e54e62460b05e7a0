"""Ways to tell whether a page has changed: Centime's, and those that others use."""

from collections.abc import Callable

import numpy as np
import xxhash
from selectolax.lexbor import LexborHTMLParser

from bench.changes.old_signature import signature_of
from centime.change.look import Look, seen_again
from centime.change.noise import Noise
from centime.change.page_state import with_hidden
from centime.change.reading import Verdict
from centime.parse.scan import words_of

Twin = Callable[[], bytes]


class Digest:
    """One number for each read; changed if it differs in more than `bits` bits."""

    def __init__(self, number: Callable[[bytes], int], bits: int = 0) -> None:
        self._number, self._bits = number, bits
        self._last: dict[int, int] = {}
        self.twins = 0

    def read(self, page: int, time: float, body: bytes, twin: Twin) -> Verdict:
        """The verdict of a read."""
        number = self._number(body)
        before = self._last.get(page)
        self._last[page] = number
        if before is None:
            return Verdict.UNKNOWN
        return Verdict.CHANGED if (before ^ number).bit_count() > self._bits else Verdict.SAME


class Ours:
    """Centime's own code, with a host's noise and a state per page, as a crawl has them."""

    def __init__(self) -> None:
        self.noise = Noise()
        self._states: dict[int, bytes] = {}
        self._last: dict[int, tuple[int, int, float]] = {}
        self.twins = 0
        self.state_bytes = 0

    def read(self, page: int, time: float, body: bytes, twin: Twin) -> Verdict:
        """The verdict of a read."""
        digest, signature, before_time = self._last.get(page, (0, 0, time))
        before = self._states.get(page, b"")
        new_digest = xxhash.xxh3_64_intdigest(body)
        words = words_of(body)
        if before and digest == new_digest:
            seen = seen_again(words, before, self.noise.table())
        else:
            look = Look(words, before, self.noise.advice(page, first=not before), signature)
            again = None
            if look.wants_twin:
                self.twins += 1
                again = words_of(twin())
            seen = look.seen(again)
            signature = words.signature
        verdict, state = self.noise.observe(page, before, seen, time - before_time)
        if state:
            self._states[page] = state
            self.state_bytes = max(self.state_bytes, len(state))
        elif seen.hidden:
            self._states[page] = with_hidden(before, seen.hidden)
        self._last[page] = (new_digest, signature, time)
        return verdict


def raw_digest(body: bytes) -> int:
    """A hash of the bytes."""
    return xxhash.xxh3_64_intdigest(body)


_UNSEEN = "script,style,noscript,nav,footer,aside,template,[hidden],[style*='display:none'],[style*='display: none']"


def visible_text(body: bytes) -> bytes:
    """The text that a reader sees, by a tree of the page."""
    tree = LexborHTMLParser(body)
    for node in reversed(tree.css(_UNSEEN)):
        node.decompose()
    return tree.body.text(separator=" ").encode() if tree.body is not None else b""


def text_digest(body: bytes) -> int:
    """A hash of the visible text."""
    return xxhash.xxh3_64_intdigest(b" ".join(visible_text(body).split()))


def old_signature(body: bytes) -> int:
    """The signature of Centime 0.1: a hash of the visible text without dates, times, counters and ids."""
    return signature_of(np.frombuffer(visible_text(body), dtype=np.uint8).copy()) or 0


_BITS = np.arange(64, dtype=np.uint64)


def simhash(body: bytes) -> int:
    """Charikar's hash of the triples of words of the visible text."""
    words = visible_text(body).split()
    triples = [xxhash.xxh3_64_intdigest(b" ".join(words[at : at + 3])) for at in range(max(1, len(words) - 2))]
    votes = ((np.array(triples, dtype=np.uint64)[:, None] >> _BITS) & np.uint64(1)).sum(axis=0)
    return int(((votes * 2 > len(triples)).astype(np.uint64) << _BITS).sum())


METHODS: dict[str, Callable[[], Digest | Ours]] = {
    "raw digest": lambda: Digest(raw_digest),
    "text digest": lambda: Digest(text_digest),
    "0.1": lambda: Digest(old_signature),
    "simhash": lambda: Digest(simhash, 3),
    "Centime": Ours,
}
