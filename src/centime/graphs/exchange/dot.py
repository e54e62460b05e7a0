"""DOT files (`.dot`, `.gv`), as Graphviz reads them: `digraph { a -> b -> c [weight=2]; d }`.

Pages are named by the ids of nodes; labels are ignored. `->` leads one way, `--` both ways. The attribute `weight` of
an edge is its weight. Statements in `subgraph` and in braces count like any others; ports are ignored.

Trap: a group of nodes at an end of an edge (`a -> {b c}`) and ids in HTML are refused, not guessed.
"""

import re
from collections.abc import Iterator

from centime.graphs.exchange.named_links import Edge, weight_of
from centime.graphs.exchange.tokens import Token, read_tokens, refuse
from centime.graphs.packed import TextFile

TOKEN = re.compile(
    r'(?P<skip>\s+|//.*|#.*)|(?P<comment>/\*)|"(?P<text>(?:\\.|[^"\\])*)"|(?P<sign>->|--|[\[\]{};,=:+])'
    r'|(?P<word>-?[\d.]+|[^\s"\[\]{};,=:+<>/#-]+)',
    re.DOTALL,
)
ARROWS = ("->", "--")
END = Token(0, "end", "")


class _Statements:
    """The statements of a file, token by token."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.tokens = read_tokens(text, TOKEN)
        self.now = END
        self.step()

    def step(self) -> Token:
        """The current token; the next one becomes current."""
        before = self.now
        following = next(self.tokens, None)
        self.now = Token(before.line, "end", "") if following is None else following
        return before

    def takes(self, sign: str) -> bool:
        """Whether the current token is this sign, which is then passed."""
        found = self.now.kind == "sign" and self.now.word == sign
        if found:
            self.step()
        return found

    def name(self) -> str:
        """A name: a word, or a text in quotes, several with `+` between them."""
        if self.now.kind not in ("word", "text"):
            what = "the end" if self.now.kind == "end" else repr(self.now.word)
            refuse(self.text, self.now.line, f"expected a node, not {what}")
        token = self.step()
        name = token.word
        if token.kind == "text":
            name = name.replace('\\"', '"').replace("\\\n", "")
            while self.takes("+"):
                name += self.name()
        return name

    def node(self) -> str:
        """The name of a node; its port is passed."""
        name = self.name()
        while self.takes(":"):
            self.name()
        return name

    def weight(self) -> float:
        """Passes the attributes in brackets; the last weight among them, 1 by default."""
        weight = 1.0
        while self.takes("["):
            while not self.takes("]"):
                key, line = self.name(), self.now.line
                value = self.name() if self.takes("=") else "1"
                if key == "weight":
                    weight = weight_of(self.text, line, value)
                if not self.takes(","):
                    self.takes(";")
        return weight


def read_dot(text: TextFile) -> Iterator[Edge]:
    """The nodes and edges of a DOT file."""
    statements = _Statements(text)
    words = []
    while statements.now.is_name and statements.now.kind != "end":
        words.append(statements.name().lower())
    if not {"graph", "digraph"} & set(words[:2]) or not statements.takes("{"):
        refuse(text, statements.now.line, "expected 'digraph {' or 'graph {'")
    depth = 1
    while depth:
        line = statements.now.line
        if statements.takes("}"):
            depth -= 1
            if statements.now.kind == "sign" and statements.now.word in ARROWS:
                refuse(text, line, "an edge of a group of nodes is not read; write one edge for each node")
        elif statements.takes("{"):
            depth += 1
        elif not statements.takes(";") and not statements.takes(","):
            yield from _statement(statements)
    if statements.now.kind != "end":
        refuse(text, statements.now.line, "something follows the graph")


def _statement(statements: _Statements) -> Iterator[Edge]:
    """The edges of one statement, or the node that it mentions."""
    line, quoted = statements.now.line, statements.now.kind == "text"
    nodes, ways = [statements.node()], []
    word = "" if quoted else nodes[0].lower()
    if word == "subgraph":
        if statements.now.is_name and statements.now.kind != "end":
            statements.name()
        return
    if statements.takes("="):
        statements.name()
        return
    while statements.now.kind == "sign" and statements.now.word in ARROWS:
        ways.append(statements.step().word == "--")
        if statements.now.kind == "sign" and statements.now.word == "{":
            refuse(statements.text, line, "an edge of a group of nodes is not read; write one edge for each node")
        nodes.append(statements.node())
    weight = statements.weight()
    if ways:
        for source, target, both in zip(nodes, nodes[1:], ways, strict=False):
            yield Edge(line, source, target, weight, both)
    elif word not in ("node", "edge", "graph"):
        yield Edge(line, nodes[0])
