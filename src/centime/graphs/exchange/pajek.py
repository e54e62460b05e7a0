"""Pajek files (`.net`): `*Vertices n`, one vertex per line, then `*Arcs` or `*Edges` with `source target weight`.

Arcs are links; edges lead both ways. `*Arcslist` and `*Edgeslist` have a source and its targets in each line. A vertex
without a label has its number as its name.
"""

import re
from collections.abc import Iterator

from centime.graphs.exchange.named_links import Edge, text_lines, weight_of
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph

WORD = re.compile(r'"[^"]*"|\S+')
LISTS = ("*arcslist", "*edgeslist")


def read_pajek(text: TextFile) -> Iterator[Edge]:
    """The vertices and links of a Pajek file."""
    labels: dict[str, str] = {}
    section = ""
    for number, line in text_lines(text):
        words = [word.strip('"') for word in WORD.findall(line)]
        if not words or words[0].startswith("%"):
            continue
        if words[0].startswith("*"):
            section = words[0].lower()
        elif section == "*vertices":
            labels[words[0]] = words[1] if len(words) > 1 else words[0]
            yield Edge(number, labels[words[0]])
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
