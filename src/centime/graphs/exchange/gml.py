"""GML files (`.gml`): `graph [ directed 1 node [ id 0 label "a" ] edge [ source 0 target 1 weight 2 ] ]`.

Pages are named by the labels of nodes, or by their names (igraph), or by their ids if they have none. `weight`, or
`value` if there is none, is the weight of an edge. Edges lead both ways unless the graph says `directed 1` before them.
Everything else is ignored, at any depth.
"""

import re
from collections.abc import Iterator
from html import unescape

from centime.graphs.exchange.named_links import Edge, weight_of
from centime.graphs.exchange.tokens import Token, read_tokens, refuse
from centime.graphs.packed import TextFile

TOKEN = re.compile(r'(?P<skip>\s+|#.*)|"(?P<text>[^"]*)"|(?P<sign>[\[\]])|(?P<word>[^\s\[\]"]+)')


class _Names:
    """The names of nodes by their ids."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.of: dict[str, str] = {}
        self.taken: dict[str, str] = {}

    def add(self, node: dict[str, str], line: int) -> str:
        """The name of a node; BadGraph if it has no id, or another node has the same name."""
        page = node.get("id")
        if page is None:
            refuse(self.text, line, "a node has no id")
        name = unescape(node.get("label", node.get("name", page)))
        if self.taken.setdefault(name, page) != page:
            refuse(self.text, line, f"two nodes are called {name[:40]!r}")
        self.of[page] = name
        return name


def read_gml(text: TextFile) -> Iterator[Edge]:
    """The nodes and edges of a GML file."""
    names = _Names(text)
    opened: list[str] = []
    directed, has_graph = False, False
    fields: dict[str, str] = {}
    key: Token | None = None
    line = 1
    for token in read_tokens(text, TOKEN):
        line = token.line
        if token.kind == "sign" and token.word == "]":
            if key is not None or not opened:
                refuse(text, line, "unexpected ']'")
            if opened == ["graph", "node"]:
                yield Edge(line, names.add(fields, line))
            elif opened == ["graph", "edge"]:
                yield _edge(text, line, fields, names, both_ways=not directed)
            opened.pop()
        elif key is None:
            if token.kind != "word":
                refuse(text, line, f"expected a key, not {token.word[:40]!r}")
            key = token
        elif token.kind == "sign":
            opened.append(key.word.lower())
            has_graph = has_graph or opened == ["graph"]
            if len(opened) == 2:
                fields = {}
            key = None
        else:
            if opened == ["graph"] and key.word == "directed":
                directed = token.word == "1"
            if len(opened) == 2:
                fields[key.word] = token.word
            key = None
    if key is not None or opened:
        refuse(text, line, "the file is cut off")
    if not has_graph:
        refuse(text, line, "expected 'graph ['")


def _edge(text: TextFile, line: int, fields: dict[str, str], names: _Names, *, both_ways: bool) -> Edge:
    if "source" not in fields or "target" not in fields:
        refuse(text, line, "an edge has no source or no target")
    source, target = (names.of.get(fields[end], fields[end]) for end in ("source", "target"))
    weight = weight_of(text, line, fields.get("weight", fields.get("value", "1")))
    return Edge(line, source, target, weight, both_ways)
