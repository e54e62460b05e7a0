"""Measures which changes and which noise each method reports, on real and hand-made pages.

python -m bench.changes [PART ...] [--json]
"""

import sys
from collections.abc import Iterator
from random import Random

from selectolax.lexbor import LexborHTMLParser

from bench.changes.history import Site
from bench.changes.methods import METHODS
from bench.changes.mutations import KINDS
from bench.changes.noises import FAST, SLOW, VARIANTS
from bench.changes.tally import Tally, run, together
from bench.changes.templates import GENERATORS, HAND_MADE, source
from bench.crawl_server import NotToBeHad
from bench.figure import Figure, shortest
from bench.report import Benchmarks, run_parts
from centime.change.look import Look
from centime.model.kernel import compile_at_once
from centime.parse.document import read_document

HOSTS, SEEDS = 4, (1, 2, 3)  # hosts of 20 pages, each read 16 times, for each noise and seed
SOME = ("advertisement", "order", "watching", "token", "stamp")
LEAST_SEEN, MOST_FALSE_FAST, MOST_FALSE_SLOW, MOST_FALSE_AGE = 99.5, 1.0, 5.0, 20.0


def sites(hosts: int) -> dict[str, list[Site]]:
    """The hosts of the main table, by noise."""
    made, real = list(HAND_MADE), list(GENERATORS)
    found = {}
    for number, noise in enumerate(["none", *FAST, *SLOW, "all fast", "all"]):
        noises = {"none": (), "all fast": FAST, "all": FAST + SLOW}.get(noise, (noise,))
        templates = [
            made[(number + one // 2 * 3) % len(made)] if one % 2 == 0 else real[(number + one) % len(real)]
            for one in range(hosts)
        ]
        found[noise] = [Site(template=template, noises=noises) for template in templates]
    return found


def further_sites() -> dict[str, list[Site]]:
    """Hosts that are shown beside the main table."""
    return {
        "redesign": [
            Site(template="news", noises=SOME, redesigned=True, reads=20),
            Site(template="shop", noises=("variant", "cookie"), redesigned=True, reads=20),
        ],
        "unique templates": [Site(template=one, noises=SOME, unique=True) for one in ("news", "wiki", "forum")],
        VARIANTS[0]: [Site(template=one, noises=(VARIANTS[0], *SOME)) for one in ("news", "shop", "docbook")],
        VARIANTS[1]: [Site(template=one, noises=(VARIANTS[1], *SOME)) for one in ("news", "shop", "wiki")],
        "noise that stops": [Site(template=one, noises=SOME, noise_ends=True, reads=24) for one in ("news", "sphinx")],
        "slow counter in a sentence": [
            Site(template=one, noises=("slow counter in a sentence",)) for one in ("news", "docbook", "wiki")
        ],
        "one template, 60 pages": [Site(template="news", noises=SOME, pages=60, reads=8)],
    }


def centime() -> Iterator[Figure]:
    """What Centime reports, over all seeds, with what is asked of it."""
    ours = Tally()
    for seed in SEEDS:
        ours.add(run(sites(HOSTS), seed, ["Centime"])["Centime"])
    yield Figure("reads", ours.reads, "")
    for kind in (*KINDS, "several"):
        share = ours.seen[kind]
        yield Figure(f"seen: {kind} ({share.all})", share.percent, "%", "at least", LEAST_SEEN)
    yield Figure("bytes differ, but said to be the same", ours.silent, "", "at most", 0.0)
    for noise in FAST:
        yield Figure(f"false: {noise}", ours.false[noise].percent, "%", "at most", MOST_FALSE_FAST)
    for noise in SLOW:
        limit = MOST_FALSE_AGE if noise == "age" else MOST_FALSE_SLOW
        yield Figure(f"false: {noise}", ours.false[noise].percent, "%", "at most", limit)
    for noise in ("none", "all fast", "all"):
        yield Figure(f"false: {noise}", ours.false[noise].percent, "%")
    yield Figure("extra reads per 100", 100 * ours.twins / ours.reads, "", "at most", 3.0)
    yield Figure("extra reads per page", ours.twins / ours.pages, "", "at most", 0.5)
    yield Figure("state of a page, the largest", ours.state_bytes, "bytes", "at most", 500.0)


def further() -> Iterator[Figure]:
    """What Centime reports where the template changes, is unique, has variants, or comes to rest."""
    for name, hosts in further_sites().items():
        tally = run({name: hosts}, SEEDS[0], ["Centime"])["Centime"]
        yield Figure(f"{name}: seen", together(tally.seen.values()).percent, "%")
        yield Figure(f"{name}: false", together(tally.false.values()).percent, "%")
        if tally.redesigns.all:
            yield Figure(f"{name}: said to be a change", tally.redesigns.percent, "%")
        yield Figure(f"{name}: extra reads per page", tally.twins / tally.pages, "")


def others() -> Iterator[Figure]:
    """What other methods report, on half of the hosts of one seed."""
    names = [name for name in METHODS if name != "Centime"]
    for name, tally in run(sites(HOSTS // 2), SEEDS[0], names).items():
        yield Figure(f"{name}: seen", together(tally.seen.values()).percent, "%")
        for title, noises in (("fast", FAST), ("slow", SLOW)):
            false = together(tally.false[noise] for noise in noises)
            yield Figure(f"{name}: false, {title} noises", false.percent, "%")


def speed() -> Iterator[Figure]:
    """What parsing and comparing cost."""
    random = Random(1)
    pages: list[bytes] = []
    while len(pages) < 20:
        page = source("docbook" if len(pages) % 2 else "sphinx", random).encode()
        pages += [page] if 24_000 < len(page) < 28_000 else []

    def parse() -> None:
        for page in pages:
            read_document(page, url="http://h/", content_type="text/html; charset=utf-8")

    def look() -> None:
        for page in pages:
            words = read_document(page, url="http://h/", content_type="text/html; charset=utf-8").words
            assert words is not None
            Look(words).seen()

    def tree() -> None:
        for page in pages:
            LexborHTMLParser(page).css("a[href]")

    for work in (parse, look, tree):
        work()
    ours, lexbor = (1e6 * shortest(work, 20) / len(pages) for work in (parse, tree))
    yield Figure("parsing a page of 26 KB, words included", ours, "us", "at most", 145.0)
    yield Figure("over lexbor's tree and its links", ours / lexbor, "times")
    yield Figure("parsing and comparing it", 1e6 * shortest(look, 20) / len(pages), "us")


PARTS: Benchmarks = {"centime": centime, "further": further, "others": others, "speed": speed}
ABOUT = {
    "centime": "planted changes and noise",
    "further": "redesigns, unique templates, variants, noise that stops",
    "others": "digests, the signature of 0.1, simhash",
    "speed": "what a page costs",
}

if __name__ == "__main__":
    compile_at_once()
    try:
        sys.exit(run_parts("bench.changes", "Which changes and which noise are reported", PARTS, ABOUT))
    except NotToBeHad as error:
        sys.exit(f"The pages of documentation are needed. {error}")
