"""The reads of a host: when each page is read, what it says then, and what has truly changed since the last read."""

import math
import re
from dataclasses import dataclass
from random import Random

from bench.changes.mutations import KINDS, MINOR, planted
from bench.changes.noises import DAY, HOUR, Constants, constants, rendered
from bench.changes.prose import digits
from bench.changes.templates import source

CHANGES_PER_READ = 0.25
MINOR_SHARE = 0.15  # of the changes: markup only
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A host of the bed."""

    template: str
    noises: tuple[str, ...]
    pages: int = 20
    reads: int = 16
    redesigned: bool = False  # half way, all paths change
    unique: bool = False  # each page has class names of its own
    noise_ends: bool = False  # half way, the noise of the last read stays


@dataclass(frozen=True, slots=True)
class Read:
    """One read of a page."""

    time: float
    page: int
    source: str
    noises: tuple[str, ...]
    seed: int
    noise_time: float
    constants: Constants
    changed: tuple[str, ...]  # the kinds of changes since the last read
    redesigned: bool

    def body(self, again: int = 0) -> bytes:
        """The bytes of the page; those of the twin reads a few seconds later."""
        random = Random(self.seed if self.noise_time != self.time else self.seed + again)
        later = again * Random(self.seed ^ again).uniform(2, 18) if self.noise_time == self.time else 0.0
        return rendered(self.source, self.noises, random, self.noise_time + later, self.constants)


def reads_of(site: Site, seed: int) -> list[Read]:
    """All reads of a host by time."""
    random = Random(seed)
    found = []
    for page in range(site.pages):
        found += _reads_of_page(site, page, random)
    return sorted(found, key=lambda read: (read.time, read.page))


def _reads_of_page(site: Site, page: int, random: Random) -> list[Read]:
    text = source(site.template, random)
    if site.unique:
        text = text.replace("<div", f'<div class="u{_name(random)}"').replace("<main", f'<main id="m{_name(random)}"')
    usual = random.choice([2 * HOUR, 6 * HOUR, 12 * HOUR, DAY])
    times = [random.uniform(0, 5 * DAY)]
    while len(times) < site.reads:
        times.append(times[-1] + min(5 * DAY, max(HOUR, random.lognormvariate(math.log(usual), 0.8))))
    kept = constants(random, times[0])
    rate = CHANGES_PER_READ * (site.reads - 1) / (times[-1] - times[0])
    following = times[0] + random.expovariate(rate)
    half, was_redesigned, found = (times[0] + times[-1]) / 2, False, []
    stopped: tuple[int, float] | None = None
    for time in times:
        changed = []
        while following < time:
            kind, text = _change(text, random)
            changed += [kind] if kind else []
            following += random.expovariate(rate)
        redesigned = site.redesigned and not was_redesigned and time > half
        if redesigned:
            was_redesigned, text = True, _redesign(text)
        number = random.randrange(1 << 60)
        if site.noise_ends and time > half and stopped is None:
            stopped = (number, time)
        noise_seed, noise_time = stopped if stopped is not None else (number, time)
        found.append(Read(time, page, text, site.noises, noise_seed, noise_time, kept, tuple(changed), redesigned))
    return found


def _change(text: str, random: Random) -> tuple[str, str]:
    kind = random.choice(KINDS) if random.random() >= MINOR_SHARE else random.choice(MINOR)
    for _ in range(6):
        changed = planted(text, kind, random)
        if changed is not None:
            return kind, changed
        kind = random.choice(KINDS)
    return "", text


def _redesign(text: str) -> str:
    for old, new in (
        ('class="story"', 'class="story2"'),
        ("<article>", '<article class="n"><div class="wrap">'),
        ("</article>", "</div></article>"),
        ('class="body"', 'class="text"'),
        ('<nav class="top">', '<nav class="bar">'),
    ):
        text = text.replace(old, new)
    return re.sub(r"</h1>", '</h1><p class="share">Share this page with friends</p>', text, count=1)


def _name(random: Random) -> str:
    return digits(random, 6).translate(_LETTERS)
