"""HTML as Markdown (CommonMark, with tables of GFM): headings, paragraphs, lists, links, quotes, code, tables, images.

One pass over the nodes of a tree, in document order. An element that begins a block ends the one before it. The prefix
of a block (the marks of lists and quotes around it) is made from the stack of open elements. Elements without a form in
Markdown become their text. Text is escaped where it would look like a mark.
"""

import re
from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import lru_cache

from centime.parse.names import BREAKS, ROLES, code_of, element_of
from centime.warehouse.nodes import ELEMENT, TEXT
from centime.warehouse.sentences import HIDDEN
from centime.warehouse.tree import Tree

MOST_INDENT = 10  # lists and quotes in each other; deeper ones look like the deepest

_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "kbd": "`", "samp": "`", "del": "~~", "s": "~~"}
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPECIAL = re.compile(r"([\\`*_\[\]<>])")
_AT_BEGIN = re.compile(r"^(\d*)(?=#{1,6} |[+-] |(?<=\d)[.)] )")
_SPACES = re.compile(r"[ \t\r\n\f]+")


def markdown_of(tree: Tree, absolute: Callable[[str], str], left_out: Set[str] = frozenset()) -> str:
    """The page as Markdown; `absolute` turns a link as written into one that works elsewhere."""
    return _Writer(tree, absolute, HIDDEN | left_out).written()


@dataclass
class _Open:
    """An open element: its node and name; the text to write when it ends, and where in the line its mark is."""

    node: int
    name: str
    end: str = ""
    at: int = 0


class _Writer:
    def __init__(self, tree: Tree, absolute: Callable[[str], str], hidden: Set[str]) -> None:
        self._tree, self._absolute, self._hidden = tree, absolute, hidden
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._open: list[_Open] = [_Open(0, "")]
        self._prefix = ""  # of a heading
        self._items: list[int] = []  # the number of the next item, for each open list; 0 if it has none
        self._item = ""  # the mark of an item whose first block has not come
        self._row: list[str] | None = None
        self._rows: list[list[str]] = []
        self._verbatim = 0
        self._quotes = 0  # open ones
        self._marked: list[_Open] = []  # open links and emphasis whose mark is in the line

    def written(self) -> str:
        """The whole text."""
        tree = self._tree
        parents, kinds, contents = tree.parent.tolist(), tree.kind.tolist(), tree.content.tolist()
        labels = tree.label.tolist()
        names: dict[int, str] = {}
        inside: set[int] = set()  # hidden elements, and what is in them
        for node in range(1, len(tree)):
            parent = parents[node]
            while self._open[-1].node != parent and parent not in inside:
                self._close()
            if parent in inside:
                inside.add(node)
                continue
            if kinds[node] == ELEMENT:
                label = labels[node]
                name = names.get(label) or names.setdefault(label, tree.contents.name(label))
                if name in self._hidden:
                    inside.add(node)
                else:
                    self._begin(node, name)
            elif kinds[node] == TEXT:
                self._text(tree.contents.text(contents[node]))
        while len(self._open) > 1:
            self._close()
        self._end_block()
        return "\n\n".join(self._blocks) + "\n" if self._blocks else ""

    def _attribute(self, node: int, wanted: str) -> str:
        parts = self._tree.contents.parts(int(self._tree.content[node]))
        return dict(zip(parts[::2], parts[1::2], strict=False)).get(wanted, "")

    def _begin(self, node: int, name: str) -> None:
        opened = _Open(node, name)
        if _is_block(name) and self._row is None:
            self._end_block()
        elif _is_block(name):
            self._line.append(" ")
        if name in _HEADINGS:
            self._prefix = f"{_HEADINGS[name]} "
        elif name in ("ul", "ol"):
            self._items.append(1 if name == "ol" else 0)
        elif name == "li":
            number = self._items[-1] if self._items else 0
            self._item = f"{number}. " if number else "- "
            if self._items and number:
                self._items[-1] += 1
        elif name == "pre":
            self._verbatim += 1
        elif name == "br":
            self._line.append(" " if self._row is not None or self._prefix else "\\\n")
        elif name == "hr":
            self._blocks.append("---")
        elif name == "table":
            self._rows = []
        elif name == "tr":
            self._row = []
        elif name in ("td", "th") and self._row is not None:
            self._end_cell()
        elif name == "a" and (href := self._attribute(node, "href")) and not self._verbatim:
            opened.end, opened.at = f"]({_target(self._absolute(href))})", len(self._line)
            self._line.append("[")
        elif name == "img" and (alt := self._attribute(node, "alt").strip()) and not self._verbatim:
            self._line.append(f"![{_escaped(alt)}]({_target(self._absolute(self._attribute(node, 'src')))})")
        elif name in _MARKS and not self._verbatim:
            opened.end, opened.at = _MARKS[name], len(self._line)
            self._line.append(_MARKS[name])
        elif name == "blockquote":
            self._quotes += 1
        self._open.append(opened)
        if opened.end:
            self._marked.append(opened)

    def _close(self) -> None:
        closed = self._open.pop()
        name = closed.name
        if closed.end:
            self._marked.pop()
            self._end_marked(closed)
        elif name == "pre":
            self._end_verbatim()
        elif name in ("ul", "ol"):
            self._end_block()
            del self._items[-1:]
        elif name == "tr" and self._row is not None:
            self._end_cell()
            self._rows.append([cell for cell in self._row if cell is not None])
            self._row = None
        elif name == "table":
            self._end_table()
        elif self._row is None and _is_block(name):
            self._end_block()
        self._quotes -= name == "blockquote"

    def _drop_marks(self) -> None:
        """Leaves out the marks of elements that are still open where the line ends."""
        for one in self._marked:
            self._line[one.at] = one.end = ""
        self._marked = []

    def _end_marked(self, closed: _Open) -> None:
        """Ends a link or emphasis; white space goes outside, and empty ones are left out."""
        mark, inner = self._line[closed.at], "".join(self._line[closed.at + 1 :])
        text = inner.strip()
        before = " " if inner[:1].isspace() else ""
        after = " " if text and inner[-1:].isspace() else ""
        self._line[closed.at :] = [f"{before}{mark}{text}{closed.end}{after}" if text else before]

    def _text(self, text: str) -> None:
        if self._verbatim:
            self._line.append(text)
        elif any(one.name in ("code", "kbd", "samp") for one in self._open[-3:] if one.end):
            self._line.append(_SPACES.sub(" ", text).replace("`", "'"))
        else:
            self._line.append(_escaped(_SPACES.sub(" ", text)))

    def _end_block(self) -> None:
        """Ends a paragraph or heading; a mark that is not closed in it is left out."""
        self._drop_marks()
        text = "".join(self._line).strip(" ")
        self._line, prefix, self._prefix = [], self._prefix, ""
        text = _SPACES.sub(" ", text).strip() if "\\\n" not in text else text.strip()
        if text:
            self._put(f"{prefix}{text}" if prefix else _AT_BEGIN.sub(r"\1\\", text))

    def _end_verbatim(self) -> None:
        self._verbatim -= 1
        self._drop_marks()
        text = "".join(self._line).strip("\r\n").replace("\r", "")
        self._line = []
        if text.strip():
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            self._put(f"{fence}\n{text}\n{fence}")

    def _end_cell(self) -> None:
        self._drop_marks()
        text = _SPACES.sub(" ", "".join(self._line)).strip().replace("|", "\\|")
        self._line = []
        if self._row is not None and (self._row or text):
            self._row.append(text)
        elif self._row is not None and text == "":
            self._row.append("")

    def _end_table(self) -> None:
        rows = [row[1:] if row and not row[0] else row for row in self._rows]
        rows, self._rows = [row for row in rows if any(row)], []
        if not rows:
            return
        width = max(map(len, rows))
        rows[0] += [""] * (width - len(rows[0]))  # others may be shorter
        lines = [f"| {' | '.join(row)} |" for row in rows]
        self._put("\n".join([lines[0], f"|{'---|' * width}", *lines[1:]]))

    def _put(self, text: str) -> None:
        """Adds a block, with the prefixes of the lists and quotes around it."""
        quotes = min(self._quotes, MOST_INDENT)
        widths = [len(f"{max(1, number - 1)}. ") if number else 2 for number in self._items[:MOST_INDENT]]
        mark, self._item = self._item, ""
        rest = " " * sum(widths)
        first = " " * sum(widths[:-1]) + mark if mark and widths else rest
        before = "> " * quotes
        lines = text.split("\n")
        self._blocks.append("\n".join(f"{before}{first if not at else rest}{line}" for at, line in enumerate(lines)))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _target(url: str) -> str:
    return re.sub(r"[\s()<>]", lambda found: f"%{ord(found[0]):02X}", url)


@lru_cache(maxsize=4096)
def _is_block(name: str) -> bool:
    return name != "br" and bool(ROLES[element_of(code_of(name))] & BREAKS)
