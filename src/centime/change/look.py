"""One look at a page, from its words to the report for the shard: compares it, and requests a twin read where that
would teach something.

    look = Look(words, before, advice, signature)
    seen = look.seen(words of the page again, if look.wants_twin)
"""

import msgspec
import numpy as np

from centime.change.advice import NO_ADVICE, Advice
from centime.change.history import FRESH, counts
from centime.change.lesson import gaps_from, lesson, specimen_of
from centime.change.page_state import hidden_after, unpacked, version_of, with_hidden
from centime.change.reading import Compared, Page, Verdict, compare
from centime.change.rule import NO_TABLE, Rule, Table
from centime.change.seen import Seen
from centime.change.specimen import Specimen
from centime.model.words import Words

MOST_MERGED = 64  # places that are reported
OFTEN = 2  # differences among the last comparisons of a place, after which a specimen is taken
MOST_UNCOVERED = 0.2  # share of words on places that no twin read has tested


def seen_again(words: Words, before: bytes, table: Table) -> Seen:
    """The report of a read with the same bytes as the last one: only the state under newer rules, if there are any.

    Without it, a rule that has ended would still hide what it hid at the last read.
    """
    if not before:
        return Seen(int(Verdict.SAME))
    hidden = hidden_after(before)
    if version_of(before) == table.version:
        return Seen(int(Verdict.SAME), hidden=hidden)
    page = Page(words)
    old = unpacked(with_hidden(before, hidden))
    state = page.state(table, table.version).continuing(old, page.places_of_rules(table))
    return Seen(int(Verdict.SAME), state=state.packed())


def seen_selected(words: Words, before: bytes, signature: int, *, same: bool) -> Seen:
    """The report of a read of elements that a person has selected: any word that differs is a change, however often.

    `signature` is that of the last read, and `same` says whether the bytes are.
    """
    verdict = Verdict.SAME if same else Verdict.CHANGED if signature else Verdict.UNKNOWN
    if verdict is Verdict.CHANGED and signature == words.signature:
        verdict = Verdict.MARKUP
    if before and signature == words.signature:
        return Seen(int(verdict), selected=True)
    # The state is kept so that a read in which the selector finds nothing is compared with this one.
    return Seen(int(verdict), state=Page(words).state(NO_TABLE, NO_TABLE.version).packed(), selected=True)


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
            else compare(self.page, before, advice)
        )

    @property
    def changed(self) -> bool:
        """Whether something differs that is not known to be volatile."""
        return self._compared.verdict is Verdict.CHANGED

    @property
    def wants_twin(self) -> bool:
        """Whether a second read at once would teach something, and the host's budget of twin reads allows it."""
        if self._compared.verdict is Verdict.UNKNOWN:
            return self._advice.early and self._uncovered() > MOST_UNCOVERED
        settled = set(self._advice.settled)
        return self._advice.late and (
            self._compared.doubtful
            or (self.changed and any(one.place not in settled for one in self._compared.differences))
        )

    def _uncovered(self) -> float:
        covered = set(np.frombuffer(self._advice.covered, dtype="<u4").tolist())
        groups = self.page.groups
        counts: dict[int, int] = dict(zip(groups.places.tolist(), groups.counts.tolist(), strict=True))
        return sum(count for place, count in counts.items() if place not in covered) / max(1, sum(counts.values()))

    def seen(self, twin: Words | None = None) -> Seen:
        """The report of this look; `twin` are the words of the page, read again."""
        table, compared = self._advice.table, self._compared
        if twin is None:
            return self._seen(compared, table)
        again = Page(twin)
        lessons = tuple(
            msgspec.structs.replace(rule, since=table.version + 1) for rule in lesson(self.page, again, table)
        )
        learned = Table(table.version + 1, (*table.rules, *lessons)) if lessons else table
        if self._before and compared.verdict is not Verdict.MARKUP:
            advice = msgspec.structs.replace(self._advice, table=learned)
            compared = compare(self.page, self._before, advice, again)
        covered = tuple(sorted({*self.page.groups.places.tolist(), *again.groups.places.tolist()}))
        return msgspec.structs.replace(
            self._seen(compared, learned),
            twin=True,
            lessons=lessons,
            covered=covered,
            plain=self._state(compared, table) if lessons else b"",
        )

    def _seen(self, compared: Compared, table: Table) -> Seen:
        specimen, gaps = self._specimen(compared)
        seen = Seen(
            int(compared.verdict),
            compared.differences,
            stirred=compared.stirred,
            surprises=compared.surprises,
            merged=compared.merged[:MOST_MERGED],
            specimen=specimen,
            gaps=gaps,
        )
        if self._before and compared.verdict.minor and version_of(self._before) == table.version:
            if compared.state is None:
                return msgspec.structs.replace(seen, hidden=hidden_after(self._before))
            if compared.state.hides().keys() == unpacked(self._before).hides().keys():
                return msgspec.structs.replace(seen, hidden=hidden_after(self._before, compared.state))
        return msgspec.structs.replace(seen, state=self._state(compared, table))

    def _specimen(self, compared: Compared) -> tuple[Specimen | None, tuple[Rule, ...]]:
        """The specimen to keep of the page, and the differences from the last one."""
        last = self._advice.specimen
        if last is not None:
            return specimen_of(self.page, last.place), gaps_from(last, self.page)
        if not self._advice.takes_specimen or compared.state is None:
            return None, ()
        own = compared.state.histories()
        often = [
            one.place for one in compared.differences if not one.lone and counts(own.get(one.place, FRESH))[0] >= OFTEN
        ]
        return (specimen_of(self.page, often[0]), ()) if often else (None, ())

    def _state(self, compared: Compared, table: Table) -> bytes:
        """The state of the page under the rules of a table."""
        state = self.page.state(table, table.version)
        if self._before:
            old = compared.state or unpacked(with_hidden(self._before, hidden_after(self._before)))
            state = state.continuing(old, self.page.places_of_rules(table))
        return state.packed()
