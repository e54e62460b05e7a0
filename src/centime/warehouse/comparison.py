"""Two versions of a document beside each other: the sentences that changed, and the delta of their trees."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from centime.model.outcome import PageKind
from centime.parse.encoding import as_utf8
from centime.parse.kind import is_binary, kind_of
from centime.warehouse.contents import Contents
from centime.warehouse.delta import Delta, Xids, delta_between, first_xids, next_xids
from centime.warehouse.matching import Matching, match_trees
from centime.warehouse.sentences import paragraphs_of, sentences_of
from centime.warehouse.sequence_diff import Step, steps
from centime.warehouse.tree import NotWellFormed, Tree, html_tree, xml_tree

HTML, XML, TEXT, BINARY = "html", "xml", "text", "binary"
_NO_XIDS: Xids = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Document:
    """A version as it was received."""

    body: bytes
    content_type: str = ""
    url: str = ""

    def form(self) -> str:
        """Its form: html, xml, text, or binary, which is not read."""
        kind = kind_of(self.body, self.content_type)
        if kind is PageKind.HTML:
            return HTML
        if kind is PageKind.XML:
            return XML
        has_nul = b"\0" in self.body[:4096] and not self.body.startswith((b"\xff\xfe", b"\xfe\xff"))
        return BINARY if has_nul or is_binary(self.body, self.content_type) else TEXT

    def tree(self, contents: Contents) -> Tree:
        """Its tree; NotWellFormed if it has none."""
        form = self.form()
        if form == HTML:
            return html_tree(self.body, contents, self.content_type, self.url)
        if form == XML:
            return xml_tree(self.body, contents, self.content_type)
        raise NotWellFormed(f"{self.content_type or 'the document'} is neither HTML nor XML, so it has no tree")

    def sentences(self) -> list[str]:
        """Its sentences; of a document that is neither HTML nor well-formed XML, its lines."""
        return self._text(sentences_of)

    def paragraphs(self) -> list[str]:
        """Its text, a paragraph in each line."""
        return self._text(paragraphs_of)

    def _text(self, read: Callable[..., list[str]]) -> list[str]:
        form = self.form()
        if form == BINARY:
            return []
        if form != TEXT:
            try:
                return read(self.tree(Contents()), html=form == HTML)
            except NotWellFormed:
                pass
        return as_utf8(self.body, self.content_type, url=self.url)[0].decode(errors="replace").splitlines()


def changed_sentences(old: Document, new: Document) -> list[Step]:
    """The steps from the sentences of one version to those of another."""
    return steps(old.sentences(), new.sentences())


@dataclass(frozen=True, slots=True)
class TreeChange:
    """The delta between two versions, and both of their trees."""

    delta: Delta
    old: Tree
    new: Tree
    old_xids: Xids
    new_xids: Xids


def tree_change(versions: Sequence[Document], old: int, new: int) -> TreeChange:
    """The changes of the tree from one of these versions to a later one; NotWellFormed if one of the two has no tree.

    The first version numbers its nodes, and all versions between give identifiers to new nodes, so `versions` begins
    with the first known one. Others without a tree are skipped.
    """
    found: tuple[Tree, Xids] | None = None
    begin: tuple[Tree, Xids] | None = None
    for number, tree, xids, _ in numbered_trees(versions[: new + 1]):
        if not isinstance(tree, NotWellFormed):
            found = tree, xids
            begin = found if number == old else begin
        elif number in (old, new):
            raise tree
    if found is None or begin is None:
        raise IndexError(f"there are no versions {old} and {new}, in this order")
    return TreeChange(delta_between(*begin, *found), begin[0], found[0], begin[1], found[1])


def numbered_trees(
    versions: Iterable[Document],
) -> Iterator[tuple[int, Tree | NotWellFormed, Xids, Matching | None]]:
    """For each version: its number from 0 on, its tree or why it has none, the identifiers of its nodes, and their
    matching with the tree before, if there is one.
    """
    contents = Contents()
    before: tuple[Tree, Xids] | None = None
    free = 0
    for number, version in enumerate(versions):
        try:
            tree = version.tree(contents)
        except NotWellFormed as trouble:
            yield number, trouble, _NO_XIDS, None
            continue
        matching = None if before is None else match_trees(before[0], tree)
        if before is None or matching is None:
            xids, free = first_xids(tree), len(tree)
        else:
            xids, free = next_xids(matching, before[1], free)
        yield number, tree, xids, matching
        before = tree, xids
