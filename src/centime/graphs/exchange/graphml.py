"""GraphML files (`.graphml`): nodes and edges in XML, as NetworkX, igraph, Gephi and yEd write them.

Pages are named by the ids of the nodes; in files of igraph, whose ids are numbers, by their names (the key `v_name`) if
they have some. The data of the key whose `attr.name` is `weight` are the weights. An edge that
is not directed leads both ways. A document type is refused, so no entity is ever expanded.
"""

from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from centime.graphs.exchange.named_links import Edge, weight_of
from centime.graphs.packed import TextFile
from centime.model.errors import BadGraph

IGRAPH_NAME = "v_name"


class _Handler:
    """Collects the edges of a document while it is parsed."""

    def __init__(self, text: TextFile) -> None:
        self.text = text
        self.found: list[Edge] = []
        self.weight_key = ""
        self.undirected = False
        self.edge: Edge | None = None
        self.node: Edge | None = None
        self.names: dict[str, str] = {}  # of nodes, by their ids
        self.words: list[str] | None = None
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse

    def refuse(self, *_: object) -> NoReturn:
        """Refuses a document type, which could define entities."""
        raise BadGraph(f"{self.text.path}, line {self.parser.CurrentLineNumber}: a document type is not read")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handles the beginning of an element."""
        line = self.parser.CurrentLineNumber
        match name.rpartition(":")[2]:
            case "key" if attributes.get("attr.name") == "weight" and attributes.get("for") in ("edge", "all"):
                self.weight_key = attributes.get("id", "")
            case "graph":
                self.undirected = attributes.get("edgedefault") == "undirected"
            case "node":
                self.node = Edge(line, attributes.get("id", ""))
            case "edge":
                directed = attributes.get("directed", "false" if self.undirected else "true")
                source, target = (self._name(attributes.get(end, "")) for end in ("source", "target"))
                self.edge = Edge(line, source, target, 1.0, directed == "false")
            case "data" if self.node is not None and attributes.get("key") == IGRAPH_NAME:
                self.words = []
            case "data" if self.edge is not None and attributes.get("key") == self.weight_key:
                self.words = []

    def _name(self, node: str) -> str:
        return self.names.get(node, node)

    def characters(self, text: str) -> None:
        """Text of an element; only that of a weight or a name counts."""
        if self.words is not None:
            self.words.append(text)

    def end(self, name: str) -> None:
        """Handles the end of an element."""
        if self.words is not None and self.node is not None:
            named = "".join(self.words).strip()
            if named:
                self.names[self.node.source] = named
            self.words = None
        elif self.node is not None and name.rpartition(":")[2] == "node":
            self.found.append(self.node._replace(source=self._name(self.node.source)))
            self.node = None
        elif self.words is not None and self.edge is not None:
            weight = weight_of(self.text, self.edge.line, "".join(self.words).strip())
            self.edge, self.words = self.edge._replace(weight=weight), None
        elif self.edge is not None and name.rpartition(":")[2] == "edge":
            self.found.append(self.edge)
            self.edge = None


def read_graphml(text: TextFile) -> Iterator[Edge]:
    """The nodes and edges of a GraphML file."""
    handler = _Handler(text)
    try:
        for line in text.lines():
            handler.parser.Parse(line)
            yield from handler.found
            handler.found.clear()
        handler.parser.Parse(b"", True)
    except expat.ExpatError as wrong:
        raise BadGraph(f"{text.path}, line {wrong.lineno}: {expat.ErrorString(wrong.code)}") from None
