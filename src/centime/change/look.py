"""One look at a page, from its words to what the shard is told: compares it, and asks for a twin read where that would
teach something.

    look = Look(words, before, advice, signature)
    seen = look.seen(words of the page again, if look.wants_twin)
"""

import msgspec
import numpy as np

from centime.change.lesson import lesson
from centime.change.noise import NO_ADVICE, Advice, Seen
from centime.change.page_state import version_of
from centime.change.reading import Compared, Page, Verdict, compare
from centime.change.rule import Table
from centime.model.words import Words

MOST_UNCOVERED = 0.2  # share of words on places that no twin read has tested


def seen_again(words: Words, before: bytes, table: Table) -> Seen:
    """What a read shows that has the bytes of the last one: nothing but the state under newer rules, if there are any.

    Without it, a rule that has ended would go on hiding what it hid at the last read.
    """
    state = (
        b"" if not before or version_of(before) == table.version else Page(words).state(table, table.version).packed()
    )
    return Seen(int(Verdict.SAME), state=state)


class Look:
    """A read of a page whose bytes differ from the last one, or that is the first."""

    def __init__(
        self, words: Words, before: bytes = b"", advice: Advice = NO_ADVICE, signature: int = 0, text: bytes = b""
    ) -> None:
        self.page = Page(words, text)
        self._before = before
        self._advice = advice
        self._compared = (
            Compared(Verdict.UNKNOWN)
            if not before
            else Compared(Verdict.MARKUP)
            if signature == words.signature
            else compare(self.page, before, advice.table)
        )

    @property
    def changed(self) -> bool:
        """Whether something differs that is not known to be volatile."""
        return self._compared.verdict is Verdict.CHANGED

    @property
    def wants_twin(self) -> bool:
        """Whether reading the page again at once would teach something that the host allows to ask."""
        if self._compared.verdict is Verdict.UNKNOWN:
            return self._advice.early and self._uncovered() > MOST_UNCOVERED
        settled = set(self._advice.settled)
        return (
            self._compared.verdict is Verdict.CHANGED
            and self._advice.late
            and any(one.place not in settled for one in self._compared.differences)
        )

    def _uncovered(self) -> float:
        covered = set(np.frombuffer(self._advice.covered, dtype="<u4").tolist())
        groups = self.page.groups
        counts: dict[int, int] = dict(zip(groups.places.tolist(), groups.counts.tolist(), strict=True))
        return sum(count for place, count in counts.items() if place not in covered) / max(1, sum(counts.values()))

    def seen(self, twin: Words | None = None) -> Seen:
        """What this look shows; `twin` are the words of the page, read again."""
        table, compared = self._advice.table, self._compared
        if twin is None:
            state = self._state(table)
            if compared.verdict.minor and self._before and version_of(self._before) == table.version:
                state = b""
            return Seen(int(compared.verdict), compared.differences, compared.hidden, state)
        again = Page(twin)
        lessons = tuple(
            msgspec.structs.replace(rule, since=table.version + 1) for rule in lesson(self.page, again, table)
        )
        learned = Table(table.version + 1, (*table.rules, *lessons)) if lessons else table
        if lessons and compared.verdict is Verdict.CHANGED:
            compared = compare(self.page, self._before, learned)
        covered = tuple(sorted({*self.page.groups.places.tolist(), *again.groups.places.tolist()}))
        plain = self._state(table) if lessons else b""
        return Seen(
            int(compared.verdict),
            compared.differences,
            compared.hidden,
            self._state(learned),
            True,
            lessons,
            covered,
            plain,
        )

    def _state(self, table: Table) -> bytes:
        return self.page.state(table, table.version).packed()
