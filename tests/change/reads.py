"""A host whose pages are read: keeps the states of its pages, as a crawl does."""

from collections.abc import Callable

import xxhash

from centime.change.look import Look, seen_again
from centime.change.noise import Noise
from centime.change.page_state import with_hidden
from centime.change.reading import Verdict
from centime.parse.scan import words_of


class Host:
    """Reads pages, which functions write, one by one; an hour passes between two reads."""

    def __init__(self) -> None:
        self.noise = Noise()
        self.states: dict[int, bytes] = {}
        self._last: dict[int, tuple[int, int]] = {}
        self.twins = 0

    def read(self, page: int, write: Callable[[], str], seconds: float = 3600.0) -> Verdict:
        """The verdict of a read."""
        body = write().encode()
        before = self.states.get(page, b"")
        digest, signature = self._last.get(page, (0, 0))
        words = words_of(body)
        seen = seen_again(words, before, self.noise.table())
        if xxhash.xxh3_64_intdigest(body) != digest:
            look = Look(words, before, self.noise.advice(page, first=not before), signature)
            self.twins += look.wants_twin
            seen = look.seen(words_of(write().encode()) if look.wants_twin else None)
        verdict, state = self.noise.observe(page, before, seen, seconds)
        self.states[page] = state or with_hidden(before, seen.hidden)
        self._last[page] = (xxhash.xxh3_64_intdigest(body), words.signature)
        return verdict


def page(content: str, *, noise: str = "") -> str:
    """A page with some content, and some noise in a part of its own."""
    return (
        f"<html><head><title>A page</title></head><body><nav><a href=/>home</a></nav><main><h1>A page</h1>"
        f"<p>Some words stand here.</p><p>{content}</p><p>And more of them.</p></main>"
        f'<div class="side"><p>{noise}</p></div></body></html>'
    )
