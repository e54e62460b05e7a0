"""Targets of fuzzing for versions of documents: trees, deltas between two of them, frames of chains."""

import copy
from contextlib import suppress

import numpy as np

from bench.fuzz_target import Target, must
from bench.fuzz_web import DECLARED, HTML, TAGS, XML
from centime.model.errors import DamagedFile
from centime.store.versions.chain import packed, unpacked
from centime.warehouse.comparison import Document, tree_change
from centime.warehouse.delta import Version
from centime.warehouse.tree import NotWellFormed
from centime.warehouse.written_delta import as_xml, operations

BEFORE = b"<html><body><p>the version before</p></body></html>"


def version_targets() -> dict[str, Target]:
    """The targets by name."""
    return {
        "html delta": Target(HTML, lambda page: _compare(page, HTML[0], "text/html"), TAGS, 4),
        "xml delta": Target(XML, lambda document: _compare(document, XML[0], "text/xml"), DECLARED, 4),
        "version frame": Target([packed(page, BEFORE) for page in HTML], _unpack, (), 1),
    }


def _compare(document: bytes, other: bytes, content_type: str) -> None:
    """The delta from a document to another leads there and back."""
    versions = [Document(document, content_type), Document(other, content_type)]
    versions[0].sentences()
    with suppress(NotWellFormed):
        change = tree_change(versions, 0, 1)
        parents = change.old.parent[1:]
        must(
            bool(((parents >= 0) & (parents < np.arange(1, len(change.old)))).all()), "a parent is before its children"
        )
        old, new = Version.of(change.old, change.old_xids), Version.of(change.new, change.new_xids)
        at = copy.deepcopy(old)
        at.apply(change.delta)
        must(at == new, "the delta leads to the new version")
        at.apply(change.delta.inverse())
        must(at == old, "the inverse leads back")
        as_xml(operations(change))


def _unpack(frame: bytes) -> None:
    with suppress(DamagedFile):
        must(len(unpacked(frame, BEFORE, 300)) == 300, "a version has the size that it should have")
