"""Pajek files (`.net`): `*Vertices n`, one vertex per line, then `*Arcs` or `*Edges` with `source target weight`.

Arcs are links; edges lead both ways. `*Arcslist` and `*Edgeslist` have a source and its targets in each line. A vertex
without a label has its number as its name, also one that `*Vertices n` only counts. Other sections are ignored.

Trap: `*Matrix` is refused, not ignored, and so are two vertices of the same label, which are not one page.
"""

import re
from collections.abc import Iterator

from centime.graphs.exchange.named_links import Edge, text_lines, weight_of
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph

WORD = re.compile(r'"[^"]*"|\S+')
LISTS = ("*arcslist", "*edgeslist")
MOST_COUNTED = 10_000_000  # vertices that are counted and not listed


def read_pajek(text: TextFile) -> Iterator[Edge]:
    """The vertices and links of a Pajek file."""
    labels: dict[str, str] = {}
    taken: dict[str, str] = {}
    section, counted = "", 0
    for number, line in text_lines(text):
        words = [word.strip('"') for word in WORD.findall(line)]
        if not words or words[0].startswith("%"):
            continue
        if words[0].startswith("*"):
            yield from _only_counted(number, counted, labels, taken)
            section, counted = words[0].lower(), _count(text, number, words)
            if section == "*matrix":
                raise BadGraph(f"{text.path}, line {number}: *Matrix is not read; write *Arcs")
        elif section == "*vertices":
            label = labels[words[0]] = words[1] if len(words) > 1 else words[0]
            if taken.setdefault(label, words[0]) != words[0]:
                raise BadGraph(f"{text.path}, line {number}: two vertices are called {label[:40]!r}")
            yield Edge(number, label)
        elif section in ("*arcs", "*edges", *LISTS):
            if len(words) < 2:
                raise BadGraph(f"{text.path}, line {number}: expected two vertices")
            targets = words[1:] if section in LISTS else words[1:2]
            weight = weight_of(text, number, words[2]) if section not in LISTS and len(words) > 2 else 1.0
            for target in targets:
                ends = labels.get(words[0], words[0]), labels.get(target, target)
                yield Edge(number, *ends, weight, section.startswith("*edges"))
        elif not section:
            raise BadGraph(f"{text.path}, line {number}: expected *Vertices")
    yield from _only_counted(0, counted, labels, taken)


def _count(text: TextFile, line: int, words: list[str]) -> int:
    """How many vertices a heading counts."""
    if words[0].lower() != "*vertices" or len(words) < 2 or not words[1].isdecimal():
        return 0
    if len(words[1]) > 9 or int(words[1]) > MOST_COUNTED:
        raise BadGraph(f"{text.path}, line {line}: more than {MOST_COUNTED} vertices are counted")
    return int(words[1])


def _only_counted(line: int, count: int, labels: dict[str, str], taken: dict[str, str]) -> Iterator[Edge]:
    """The vertices that are counted and not listed; a label that is the number of one of them stays with its vertex."""
    for vertex in map(str, range(1, count + 1)):
        if vertex not in labels:
            label = labels[vertex] = vertex if vertex not in taken else f"vertex {vertex}"
            taken[label] = vertex
            yield Edge(line, label)
