"""Loads an XML document: parses it with its DTD and its entities, validates it, and reports its parts.

Everything external comes from `Held`, which returns what a crawl has stored. Parts that it lacks are *wanted*; nothing
is ever read from the disk or the network. Traps of lxml:

    resolve_empty(), None      fall through to libxml2's own loader, which reads files: answer with empty bytes
    resolve_file()             loses the base URL, so relative references inside are wrong
    collect_ids                a duplicate xml:id refuses the whole document

Bombs: libxml2 bounds depth, lengths and the amplification of entities; the caller bounds time and memory, because it
loads in a process of its own (`crawl/documents/examining.py`).
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from lxml import etree

MOST_PARTS = 256  # external parts of one document, parts of parts included
MOST_PART_BYTES = 64 << 20  # of all of them
MOST_LISTED = 100  # entities, links and the like that are listed

_XLINK = "{http://www.w3.org/1999/xlink}"
_INCLUDES = ("{http://www.w3.org/2001/XInclude}include", "{http://www.w3.org/2003/XInclude}include")

_LIMITS = frozenset(
    [
        etree.ErrorTypes.ERR_RESOURCE_LIMIT,  # depth, lengths, the amplification of entities
        etree.ErrorTypes.ERR_UNSUPPORTED_ENCODING,
        etree.ErrorTypes.ERR_NAME_TOO_LONG,
    ]
)

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(r"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']")
_LONGEST_DECLARATION = 512  # bytes

_NO_ENDS: Mapping[str, str] = MappingProxyType({})

Held = Callable[[str, str], bytes | None]  # the stored part with a URL and a public identifier


class State(StrEnum):
    """The result of loading a document."""

    VALID = "valid"
    INVALID = "invalid"
    WELL_FORMED = "well formed"  # it has no document type
    WAITING = "waiting"  # for parts that are not stored yet
    BROKEN = "not well formed"
    GIVEN_UP = "given up"  # loading it took too much time, memory or parts, or exceeds what the parser can do


@dataclass(slots=True)
class Loaded:
    """A document, as it was loaded."""

    state: State
    error: str = ""  # the first one
    wanted: list[str] = field(default_factory=list)  # URLs of parts that are not stored
    facts: dict[str, Any] = field(default_factory=dict)


class _Resolver(etree.Resolver):  # type: ignore[misc]  # lxml has no types
    """Answers with stored parts."""

    def __init__(self, held: Held, ends: Mapping[str, str]) -> None:
        self._held = held
        self._ends = ends
        self._bytes = 0
        self.requested: list[str] = []
        self.wanted: list[str] = []
        self.trouble = ""

    def resolve(self, system_url: str | None, public_id: str | None, context: Any) -> Any:
        url = system_url or ""
        end = self._ends.get(url, url)
        body = None
        self.requested.append(url)
        if len(self.requested) <= MOST_PARTS and self._bytes <= MOST_PART_BYTES:
            body = self._held(end, public_id or "")
            if body is None and url not in self.wanted:
                self.wanted.append(url)
            self._bytes += len(body or b"")
        else:
            self.trouble = f"it has more than {MOST_PARTS} external parts, or more than {MOST_PART_BYTES >> 20} MiB"
        return self.resolve_string(body or b"", context, base_url=end)


def load(body: bytes, url: str, held: Held, ends: Mapping[str, str] = _NO_ENDS, *, is_recoded: bool = False) -> Loaded:
    """Loads a document that was read at a URL; `ends` says to which URLs parts redirect. The declared encoding of a
    body that `is_recoded` does not count.
    """
    if not is_recoded and (trouble := _contradiction(body)):
        return Loaded(State.BROKEN, trouble)
    resolver = _Resolver(held, ends)
    parser = _parser(resolver, validate=False)
    try:
        tree = etree.fromstring(body, parser, base_url=url).getroottree()
    except etree.LxmlError as error:
        if resolver.trouble:
            return Loaded(State.GIVEN_UP, resolver.trouble)
        if limit := _limit(parser.error_log):
            return Loaded(State.GIVEN_UP, limit)
        if resolver.wanted:  # the error may be that an entity of a missing DTD is not declared
            return _without(resolver, _said(error, url), {})
        return Loaded(State.BROKEN if _breaks(parser.error_log) else State.INVALID, _said(error, url))
    facts = facts_of(tree)
    facts["parts"] = list(dict.fromkeys(resolver.requested))[:MOST_LISTED]
    if resolver.trouble:
        return Loaded(State.GIVEN_UP, resolver.trouble, [], facts)
    if resolver.wanted:
        return _without(resolver, "", facts)
    if not facts["doctype"]:
        return Loaded(State.WELL_FORMED, "", [], facts)
    parser = _parser(_Resolver(held, ends), validate=True)
    try:
        etree.fromstring(body, parser, base_url=url)
    except etree.LxmlError as error:
        if limit := _limit(parser.error_log):
            return Loaded(State.GIVEN_UP, limit, [], facts)
        return Loaded(State.INVALID, _said(error, url), [], facts)
    if tree.docinfo.standalone and not _stands_alone(body, url, tree):
        return Loaded(State.INVALID, "it says standalone='yes', and its DTD changes values of attributes", [], facts)
    return Loaded(State.VALID, "", [], facts)


def _said(error: Any, url: str) -> str:
    """An error with its place, and with the part of the document in which it is, if that is external."""
    return str(error.msg if getattr(error, "filename", None) in (url, "<string>") else error)


def _contradiction(body: bytes) -> str:
    """What is wrong if the byte order mark of a document contradicts its declared encoding; else empty."""
    for mark, name in _MARKS.items():
        if body.startswith(mark) and not body.startswith(codecs.BOM_UTF32_LE):
            found = _DECLARED.match(body[len(mark) :][:_LONGEST_DECLARATION].decode(name, "replace"))
            if found and not found[1].lower().startswith(name.removesuffix("-le").removesuffix("-be")):
                return f"its encoding is {name} by its byte order mark, and {found[1]} by its declaration"
    return ""


def _stands_alone(body: bytes, url: str, tree: Any) -> bool:
    """Whether a document has the same attributes without its external parts."""
    try:
        alone = etree.fromstring(
            body, _parser(_Resolver(lambda url, public: b"", _NO_ENDS), validate=False), base_url=url
        )
    except etree.LxmlError:  # the validating parser knows of entities
        return True
    pairs = zip(tree.getroot().iter(etree.Element), alone.iter(etree.Element), strict=False)
    return all(sorted(one.items()) == sorted(other.items()) for one, other in pairs)


def _limit(errors: Iterable[Any]) -> str:
    """The limit of the parser that a document exceeds; empty if it exceeds none. It says nothing about the document: it
    may be well formed.
    """
    for one in errors:
        if one.type in _LIMITS or "too big found" in one.message:  # comments and instructions have no type of their own
            return f"a limit of the parser: {one.message.strip()}"
    return ""


def _breaks(errors: Iterable[Any]) -> bool:
    """Whether a document is not well formed, namespaces included. libxml2 also refuses documents that are only not
    valid, and takes a declaration that ends in another entity than it begins in, which is not valid, for a fatal error.
    """
    return any(
        one.domain == etree.ErrorDomains.NAMESPACE
        or (one.level == etree.ErrorLevels.FATAL and one.type != etree.ErrorTypes.ERR_ENTITY_BOUNDARY)
        for one in errors
    )


def _without(resolver: _Resolver, error: str, facts: dict[str, Any]) -> Loaded:
    """A document that lacks parts: it waits for them, unless one is not of the web."""
    for url in resolver.wanted:
        if not url.startswith(("http://", "https://")):
            return Loaded(State.GIVEN_UP, f"it needs {url}, which is not a web URL and is never read", [], facts)
    return Loaded(State.WAITING, error, resolver.wanted, facts)


def _parser(resolver: _Resolver, *, validate: bool) -> Any:
    parser = etree.XMLParser(
        load_dtd=True,
        dtd_validation=validate,
        attribute_defaults=True,
        resolve_entities=True,
        no_network=True,
        huge_tree=False,
        collect_ids=False,
    )
    parser.resolvers.add(resolver)
    return parser


def facts_of(tree: Any) -> dict[str, Any]:
    """The facts of a document."""
    root, about = tree.getroot(), tree.docinfo
    name = etree.QName(root)
    shape = _shape(root)
    return {
        "root": name.localname,
        "root_namespace": name.namespace or "",
        "namespaces": shape["namespaces"],
        "version": about.xml_version,
        "doctype": bool(about.internalDTD is not None or about.externalDTD is not None),
        "public_id": about.public_id or "",
        "system_id": about.system_url or "",
        "dtd": _dtd(about.externalDTD if about.externalDTD is not None else about.internalDTD),
        "entities": sorted(_entities(about))[:MOST_LISTED],
        "stylesheets": _stylesheets(root)[:MOST_LISTED],
        **{key: shape[key] for key in ("elements", "names", "attributes", "depth", "xlinks", "includes")},
    }


def _shape(root: Any) -> dict[str, Any]:
    """Counts of elements and attributes, the depth, and links; in one pass."""
    elements = attributes = depth = deepest = 0
    tags: dict[str, None] = {}
    xlinks: list[str] = []
    includes: list[str] = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "end":
            depth -= 1
            continue
        depth += 1
        deepest = max(deepest, depth)
        elements += 1
        attributes += len(element.attrib)
        tags[element.tag] = None
        if (href := element.get(_XLINK + "href")) is not None:
            xlinks.append(href)
        if element.tag in _INCLUDES:
            includes.append(element.get("href", ""))
    return {
        "elements": elements,
        "attributes": attributes,
        "depth": deepest,
        "namespaces": list(dict.fromkeys(tag[1:].partition("}")[0] for tag in tags if tag[0] == "{"))[:MOST_LISTED],
        "names": len(tags),
        "xlinks": xlinks[:MOST_LISTED],
        "includes": includes[:MOST_LISTED],
    }


def _entities(about: Any) -> Iterator[str]:
    for dtd in (about.internalDTD, about.externalDTD):
        if dtd is not None:
            yield from (entity.name for entity in dtd.iterentities() if entity.name)


def _stylesheets(root: Any) -> list[str]:
    before = root.itersiblings(tag=etree.ProcessingInstruction, preceding=True)
    return [one.get("href") or "" for one in before if one.target == "xml-stylesheet"][::-1]


def _dtd(dtd: Any) -> dict[str, Any] | None:
    """How many elements a DTD declares, and how deep documents of it can be; None if there is no bound."""
    if dtd is None:
        return None
    children = {element.name: _names(element.content) for element in dtd.iterelements()}
    return {"elements": len(children), "depth": longest_path(children)}


def _names(content: Any) -> frozenset[str]:
    """The elements that a content model names."""
    found, waiting = set(), [content]
    while waiting:
        one = waiting.pop()
        if one is None:
            continue
        if one.type == "element":
            found.add(one.name)
        waiting += [one.left, one.right]
    return frozenset(found)


def longest_path(children: Mapping[str, Iterable[str]]) -> int | None:
    """The nodes of the longest path in a graph; None if it has a cycle."""
    lengths: dict[str, int] = {}
    for start in children:
        waiting: list[tuple[str, bool]] = [(start, False)]
        on_path: set[str] = set()
        while waiting:
            name, done = waiting.pop()
            if done:
                on_path.discard(name)
                lengths[name] = 1 + max((lengths[one] for one in children.get(name, ())), default=0)
            elif name in on_path:
                return None
            elif name not in lengths:
                on_path.add(name)
                waiting.append((name, True))
                waiting += [(one, False) for one in children.get(name, ())]
    return max(lengths.values(), default=0)
