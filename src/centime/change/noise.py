"""The volatile parts of a host's pages, as learned from its reads. Part of a shard's state: it changes only by
`observe`, and follows from the visits alone.

    rules       from twin reads (`lesson.py`), each with the version from which it is in force
    covered     places that a twin read has tested
    suspects    places that have changed: how often, in which of the last reads, and with which values
    evidence    how often each rule hides something new (`evidence.py`)
    specimens   words of places that differ again and again (`specimen.py`)

A restless place has at most MOST_RESTLESS_WORDS words and changed in at least 60 % of its last 6 to 16 reads, and in
the shorter intervals among them too; it counts as volatile until it changes in fewer than 30 %. Less suffices if a part
of the place is masked: a clock beside a date. A shared value was reported by another page of the host before, and the
place had at least SHARED_AFTER such confirmations and never a value that returned: only the first page reports it, and
none at all once the place has had TICKS such values.

A place that appeared and disappeared COMES_AND_GOES times, always with the same words, on any pages, is a banner: its
coming and going is no change.

A rule that has hidden nothing new in QUIET_READS reads of its place is no longer in force; the next one of that place
has twice the time.

Twin reads are few: at most 2 + pages/16 when pages are first read, from the third page on; at the first, second and
fourth change of a place; and then at most 4 + reads * (1 % + 4 % of the recent success) in all.

The module is long because everything that a host has learned changes together, at each read.

Over 400 lines: the rules above read and write the same suspects, and hold only together.
"""

import msgspec
import numpy as np

from centime.change.advice import Advice
from centime.change.evidence import Evidence
from centime.change.history import FRESH, LEAST_ODDS, counts, noise_odds
from centime.change.page_state import PageState, unpacked, version_of
from centime.change.reading import Difference, Verdict
from centime.change.rule import ANYWHERE, MASK, MOST_RULES, SET, WATCHED, WHOLE, Rule, Table
from centime.change.seen import Seen
from centime.change.specimen import MOST_COMPARISONS, MOST_SPECIMENS, Kept, restless

MOST_RESTLESS_WORDS = 48
LEAST_READS, MOST_READS = 6, 16
ENTER, ENTER_SHORT, LEAVE = 0.6, 0.55, 0.3
HINTED = 0.45  # of these suffices for a place of which a part is masked
SHARED_AFTER, SHARED_VALUES, TICKS = 4, 2, 5
RETURNED = 4  # former values of which none may return if a place shows a value shared by all pages
REMEMBERED = 24  # former values that show whether a page has the shared value
LEAST_SECONDS = 1e-3  # between two reads of a page
QUIET_READS = 8
MOST_SUSPECTS = 64
MOST_MERGED, MERGED_CHANGES = 256, 2  # places that are counted, and times after which one is watched
MOST_WATCHED, MOST_TOGETHER = 24, 4
MOST_COVERED = 2_048
PAGES_BEFORE = 2  # pages of a host that are read before one is read twice: many hosts have no more
KINDS = {WHOLE: "differs at every read", SET: "comes in any order", MASK: "words that differ in a text that stays"}
RESTLESS = "changes at most reads"
TWIN_AT = frozenset({1, 2, 4})  # changes of a place at which a twin read is made
LEAST_COMING = 0.25  # share of the reads in which it does
MOST_STILL = 0.02  # probability that a page with noise is still for so long
COMES_AND_GOES = 4  # times after which a place is expected to come and go
LONE_TWINS = 8  # the same for a place that comes and goes: a twin read shows that only half of the time


class Suspect(msgspec.Struct, array_like=True):
    """A place that has changed."""

    changes: int = 0
    reads: list[float] = []  # seconds since the read before: above 0 if the place had changed, else below 0
    restless: bool = False
    value: int = -1  # the last that was reported
    page: int = -1  # by this page
    confirmed: int = 0  # how often another page reported the value that one had reported
    values: int = 0
    returned: bool = False
    former: list[int] = []
    words: int = 0
    lone: int = 0  # how often the place came or went
    taught: bool = False  # a twin read has shown a part of it to be volatile


class Noise(msgspec.Struct, array_like=True):
    """The volatile parts of a host's pages."""

    version: int = 0
    rules: list[Rule] = []
    covered: bytes = b""  # places, 32 bits each
    suspects: dict[int, Suspect] = {}
    quiet: dict[int, int] = {}  # by the key of a rule: reads in which it hid nothing new
    evidence: dict[int, Evidence] = {}  # by the key of a rule
    specimens: dict[int, Kept] = {}  # by page
    merged: dict[int, int] = {}  # by place: how often it was one of those of which one had changed
    pages: int = 0
    reads: int = 0
    early: int = 0
    twins: int = 0
    success: float = 1.0

    def table(self) -> Table:
        """The rules, for a fetcher."""
        return Table(self.version, tuple(msgspec.structs.replace(rule, sample="") for rule in self.rules))

    def volatile_parts(self, state: bytes) -> list[tuple[str, str]]:
        """The volatile parts of a page with this state: what kind each is of, and a sample of its text."""
        page = unpacked(state)
        veiled, own = page.veiled_histories(), page.histories()
        found = [
            (KINDS[rule.kind], rule.sample)
            for rule in self.rules
            if rule.kind in KINDS and rule.key in veiled and rule.holds(self.version) and self._hides(rule, veiled)
        ]
        restless = [
            place
            for place, suspect in self.suspects.items()
            if place in own and suspect.restless and not _was_still(suspect, own[place])
        ]
        return list(dict.fromkeys([*found, *((RESTLESS, "") for _ in restless)]))

    def _hides(self, rule: Rule, histories: dict[int, int]) -> bool:
        """Whether a rule would hide a difference of a page with these histories."""
        evidence = self.evidence.get(rule.key, Evidence()).found()
        return noise_odds(histories[rule.key], evidence) >= LEAST_ODDS

    def advice(self, page: int, *, first: bool, twins: bool = True) -> Advice:
        """What a fetcher needs for the next read of a page; without `twins`, no page is read twice."""
        affordable = self.twins < 4 + self.reads * (0.01 + 0.04 * self.success)
        early = twins and first and self.pages >= PAGES_BEFORE and self.early < 2 + self.pages / 16
        late = twins and not first and affordable
        settled = (
            ()
            if not late
            else tuple(
                place
                for place, suspect in self.suspects.items()
                if self._at_rest(suspect) or not _deserves_twin(suspect)
            )
        )
        kept = self.specimens[page].specimen if page in self.specimens else None
        room = not first and len(self.specimens) < MOST_SPECIMENS
        evidence = {} if first else {key: one.found() for key, one in self.evidence.items()}
        return Advice(self.table(), early, late, self.covered if early else b"", settled, kept, room, evidence)

    def learned_since(self, state: bytes) -> bool:
        """Whether a part of a page with this state counts as volatile by rules that were learned after it was read."""
        if version_of(state) == self.version:
            return False
        page = unpacked(state)
        return any(
            rule.since > page.version
            and (rule.place == ANYWHERE or page.has(rule.place))
            and (rule.kind != WATCHED or (rule.place in self.suspects and self._at_rest(self.suspects[rule.place])))
            for rule in reversed(self.rules)
        )

    def observe(self, page: int, before: bytes, seen: Seen, seconds: float) -> tuple[Verdict, bytes]:
        """Learns from a read; returns its verdict and the new state of the page, empty if the last one stays.

        `before` is the state of the page, empty for a first read, and `seconds` the time since that read.
        """
        verdict = Verdict(seen.verdict)
        if seen.selected:
            return verdict, seen.state
        self.reads += 1
        if not before:
            self.pages += 1
        state = seen.state
        if seen.twin:
            state = self._twin(seen, first=not before)
        if not before or verdict is Verdict.UNKNOWN:
            return verdict, state
        old = unpacked(before)
        if verdict is Verdict.CHANGED and not seen.surprises:
            restful = [one for one in seen.differences if not self._excused(one, page, old)]
            if not restful:
                verdict = Verdict.VOLATILE
        self._count(old, seen, seconds)
        self._note(seen, page, seconds)
        self._watch_merged(seen)
        self._weigh(old, seen)
        self._compare_specimen(page, seen)
        if state:
            self._inherit(old, unpacked(state))
        return verdict, state

    # ---- twin reads

    def _twin(self, seen: Seen, *, first: bool) -> bytes:
        """Learns from a twin read; returns the state of the page that agrees with the rules as they are now."""
        self.twins += 1
        self.early += first
        known = np.frombuffer(self.covered, dtype="<u4")
        self.covered = np.union1d(known, np.array(seen.covered, dtype="<u4"))[:MOST_COVERED].astype("<u4").tobytes()
        self.success = 0.8 * self.success + 0.2 * bool(seen.lessons)
        if not seen.lessons:
            return seen.state
        expected = seen.lessons[0].since == self.version + 1
        self._add(seen.lessons)
        return seen.state if expected else seen.plain

    def _add(self, rules: tuple[Rule, ...]) -> None:
        self.version += 1
        self.rules += [msgspec.structs.replace(rule, since=self.version) for rule in rules]
        del self.rules[:-MOST_RULES]
        for rule in rules:
            self.quiet.pop(rule.key, None)

    # ---- places that changed

    def _excused(self, one: Difference, page: int, before: PageState) -> bool:
        """Whether a difference says nothing about the page itself."""
        suspect = self.suspects.get(one.place)
        if suspect is None:
            return False
        if self._shared(suspect) and one.value >= 0 and suspect.value == one.value and suspect.page != page:
            return True
        if (
            self._shared(suspect)
            and suspect.values > TICKS
            and suspect.confirmed >= 2 * suspect.values
            and before.values().get(one.place, -1) in _values(suspect)
        ):
            return True
        excused = (suspect.restless and one.words <= MOST_RESTLESS_WORDS) or (
            one.lone and one.value in (-1, *_values(suspect)) and _comes_and_goes(suspect)
        )
        return excused and not _was_still(suspect, before.histories().get(one.place, FRESH))

    def _at_rest(self, suspect: Suspect) -> bool:
        return suspect.restless or self._shared(suspect) or _comes_and_goes(suspect)

    def _shared(self, suspect: Suspect) -> bool:
        return (
            not suspect.returned
            and suspect.confirmed >= SHARED_AFTER
            and suspect.values >= SHARED_VALUES
            and suspect.confirmed >= suspect.values - 1
        )

    def _note(self, seen: Seen, page: int, seconds: float) -> None:
        """Notes the values of the places that differ."""
        for one in seen.differences:
            if one.place < 0:
                continue
            suspect = self.suspects.get(one.place)
            if suspect is None:
                suspect = self.suspects[one.place] = Suspect(reads=[max(seconds, LEAST_SECONDS)])
                if len(self.suspects) > MOST_SUSPECTS:
                    self._forget_one(one.place)
            suspect.changes += 1
            suspect.lone += one.lone
            if seen.lessons:
                suspect.taught, suspect.changes, suspect.lone = True, 0, 0
            suspect.words = one.words
            was = self._at_rest(suspect)
            if one.value == suspect.value:
                suspect.confirmed += suspect.page != page
            else:
                suspect.returned = suspect.returned or one.value in suspect.former[-RETURNED:]
                suspect.former = [*suspect.former, suspect.value][-REMEMBERED:]
                suspect.value, suspect.page = one.value, page
                suspect.values += 1
            if self._at_rest(suspect) and not was:
                self._watch(one.place)

    def _forget_one(self, kept: int) -> None:
        """Forgets the suspect that changed least."""
        least = min((place for place in self.suspects if place != kept), key=lambda k: (self.suspects[k].changes, k))
        del self.suspects[least]

    def _count(self, before: PageState, seen: Seen, seconds: float) -> None:
        """Counts for each suspect of a page whether it has changed."""
        if not self.suspects:
            return
        changed = {one.place: one.words for one in seen.differences}
        present = before.places() | changed.keys()
        for place, suspect in self.suspects.items():
            if place not in present and not suspect.lone:
                continue
            interval = max(seconds, LEAST_SECONDS)
            suspect.reads = [*suspect.reads, interval if place in changed else -interval][-MOST_READS:]
            was = suspect.restless
            suspect.restless = _is_restless(suspect, HINTED if self._is_masked(place) else 1.0)
            if suspect.restless and not was:
                self._watch(place)

    def _watch_merged(self, seen: Seen) -> None:
        """Watches places that are merged with others on large pages, once they were suspected together with different
        ones: those that change are among them at every change, the others are not.
        """
        for place in seen.merged:
            self.merged[place] = self.merged.get(place, 0) + 1
        most = max((self.merged[place] for place in seen.merged), default=0)
        if most >= MERGED_CHANGES and sum(rule.kind == WATCHED for rule in self.rules) < MOST_WATCHED:
            places = [place for place in seen.merged if self.merged[place] == most]
            if len(places) <= MOST_TOGETHER:
                for place in places:
                    self._watch(place)
                    del self.merged[place]
        while len(self.merged) > MOST_MERGED:
            del self.merged[min(self.merged, key=lambda place: (self.merged[place], place))]

    def _is_masked(self, place: int) -> bool:
        """Whether a part of a place is known to be volatile: then it takes less to see that all of it is."""
        return any(rule.place == place and rule.kind == MASK and not rule.until for rule in self.rules)

    def _watch(self, place: int) -> None:
        if not any(rule.place == place and rule.kind == WATCHED for rule in self.rules):
            self._add((Rule(place, WATCHED),))

    # ---- specimens

    def _compare_specimen(self, page: int, seen: Seen) -> None:
        """Learns from the specimen of a page, and keeps the new one."""
        if page in self.specimens:
            kept = self.specimens[page]
            kept.add(seen.gaps)
            known = {rule.key for rule in self.rules if not rule.until}
            useful = [one for one in self.specimens.values() if one.short or not self._restless(one.specimen.place)]
            learned = [rule for rule in restless(useful) if rule.key not in known]
            if learned:
                self._add(tuple(learned))
            if kept.comparisons >= MOST_COMPARISONS or (seen.specimen is not None and not seen.specimen.words):
                del self.specimens[page]
            elif seen.specimen is not None:
                kept.specimen = seen.specimen
        elif seen.specimen is not None and seen.specimen.words and len(self.specimens) < MOST_SPECIMENS:
            self.specimens[page] = Kept(seen.specimen)

    def _restless(self, place: int) -> bool:
        return place in self.suspects and self.suspects[place].restless

    # ---- hidden words

    def _weigh(self, before: PageState, seen: Seen) -> None:
        """Counts how often rules hide something new; ends those that have not for QUIET_READS reads.

        Differences that are reported as changes count too, unless a twin read has shown that it stays: a rule that is
        not believed would otherwise be believed less with every still read, and never again.
        """
        hides = before.hides()
        for key, history in before.veiled_histories().items():
            stirred = key in seen.stirred
            differed = stirred and not (seen.twin and key in seen.surprises)
            self.evidence.setdefault(key, Evidence()).add(history, differed=differed)
            if stirred:
                self.quiet[key] = 0
            elif hides[key]:
                self.quiet[key] = self.quiet.get(key, 0) + 1
                if self.quiet[key] >= QUIET_READS << min(self._ended(key), 8):
                    self._end(key)

    def _inherit(self, before: PageState, now: PageState) -> None:
        """Counts the differences of pages at the place of a rule before the rule existed."""
        for key, history in now.veiled_histories().items():
            if key not in before.hides():
                one = self.evidence.setdefault(key, Evidence())
                for length in range(history.bit_length() - 2, -1, -1):
                    one.add(history >> length + 1, differed=bool(history >> length & 1))

    def _ended(self, key: int) -> int:
        """How often a rule has ended: one that came back gets more time."""
        return len({rule.until for rule in self.rules if rule.until and rule.key == key})

    def _end(self, key: int) -> None:
        """Ends a rule."""
        self.version += 1
        self.rules = [
            msgspec.structs.replace(rule, until=self.version)
            if rule.key == key and rule.kind != WATCHED and not rule.until
            else rule
            for rule in self.rules
        ]
        self.quiet.pop(key, None)
        self.evidence.pop(key, None)


def _deserves_twin(suspect: Suspect) -> bool:
    """Whether a twin read at the next change of a place may teach something: at the first few, or if it comes and goes;
    at the second, fourth, eighth and so on if twin reads have taught something, in case its rules hold no longer.
    """
    following = suspect.changes + 1
    return (
        following in TWIN_AT or 0 < suspect.lone < LONE_TWINS or (suspect.taught and following & (following - 1) == 0)
    )


def _values(suspect: Suspect) -> set[int]:
    """The last values of a place that is there."""
    return {value for value in (suspect.value, *suspect.former) if value >= 0}


def _comes_and_goes(suspect: Suspect) -> bool:
    """Whether a place has often come and gone, and always said the same."""
    return (
        suspect.lone >= COMES_AND_GOES
        and suspect.changes == suspect.lone
        and len(_values(suspect)) == 1
        and _share(suspect) >= LEAST_COMING
    )


def _share(suspect: Suspect) -> float:
    """The share of the last reads in which a place has changed."""
    return sum(read > 0 for read in suspect.reads) / max(1, len(suspect.reads))


def _was_still(suspect: Suspect, history: int) -> bool:
    """Whether a page has not differed at a place for so long that it does not take part in the noise of others
    there."""
    differed, still = counts(history)
    return not differed and (1 - _share(suspect)) ** still < MOST_STILL


def _is_restless(suspect: Suspect, factor: float) -> bool:
    """Whether a place changes in most reads, however short the interval; with a smaller factor, in fewer."""
    if suspect.words > MOST_RESTLESS_WORDS or len(suspect.reads) < LEAST_READS:
        return False
    share = _share(suspect)
    if suspect.restless:
        return share >= factor * LEAVE
    reads = sorted(suspect.reads, key=abs)
    half = len(reads) // 2
    return (
        share >= factor * ENTER
        and sum(read > 0 for read in reads[:half]) >= factor * factor * ENTER_SHORT * half
        and abs(reads[-1]) >= 2 * abs(reads[0])
    )
