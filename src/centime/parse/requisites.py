"""The requisites of a page: the files that a browser loads to show it, as written, in one pass over its bytes.

- `src` of `img`, `source`, `input`, `video`, `audio`, `track`, `embed`, `script`, `iframe` and `frame`; `srcset`;
  `poster`; `data` of `object`; `background` of a body or a table and its parts;
- `href` of a `link` whose rel names a file: style sheets, icons, manifests, preloads; its `imagesrcset`;
- `href` and `xlink:href` of `image`, `use` and `feImage` in SVG;
- what CSS names (`parse/css.py`): in `style` elements, and in the `style` of any element;
- what scripts seem to load (`parse/script.py`);
- what is in the `srcdoc` of an `iframe`, which is a page of its own.

Files count everywhere: in `noscript` and `template` too, and all sources of a `picture`. `data-src` and `data-srcset`
are the usual names for scripts that load images late.

Tokens are those of `parse/scan.py`, which looks for other things and runs for every page: this pass runs only if a
crawl fetches requisites. Time is linear, and memory a constant per byte.
"""

import re
from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, late_kernel
from centime.parse.css import files_of_css, is_file
from centime.parse.names import KINDS, LOWER, SPACE, TAG_END, attribute_name_at, code_of, name_at
from centime.parse.references import without_references
from centime.parse.script import files_of_script
from centime.parse.tokens import END_OF_PAGE, declaration_end, raw_end, value_at

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int64]

MOST_FILES = 20_000  # of one page or style sheet

# Attributes with files, and those that decide about them.
_ATTRIBUTES = (
    "src", "srcset", "href", "xlink:href", "data", "poster", "background", "data-src", "data-srcset", "imagesrcset",
    "rel", "srcdoc", "style",
)  # fmt: skip
_SRCSETS = frozenset(map(_ATTRIBUTES.index, ("srcset", "data-srcset", "imagesrcset")))
_HREF, _REL, _SRCDOC, _STYLE = map(_ATTRIBUTES.index, ("href", "rel", "srcdoc", "style"))
_STYLE_TEXT, _SCRIPT_TEXT = len(_ATTRIBUTES), len(_ATTRIBUTES) + 1  # for the texts of such elements
_WANTED = {
    "img image": "src srcset data-src data-srcset",
    "source input": "src srcset data-src data-srcset",
    "video audio track embed bgsound script frame": "src poster data-src",
    "iframe": "src data-src srcdoc",
    "link": "href rel imagesrcset",
    "object": "data",
    "use feimage": "href xlink:href",
    "body table thead tbody tfoot td th tr": "background",
    "style title textarea xmp noembed noframes plaintext": "",
}
_RAW = "script style title textarea xmp iframe noembed noframes plaintext"
_FILE_RELS = """
    stylesheet icon apple-touch-icon apple-touch-icon-precomposed mask-icon fluid-icon manifest preload modulepreload
"""
_RELS = frozenset(_FILE_RELS.split())
_IS_RAW, _IS_STYLE, _IS_SCRIPT, _IS_LAST, _NEEDS_REL = (1 << bit for bit in range(20, 25))
_SLOTS = 256

_SOURCE = re.compile(r"[\s,]*+(\S++)")
_DESCRIPTORS = re.compile(r"[^,(]*+(?:\([^)]*+\)?[^,(]*+)*+,?+")


def _table(meanings: dict[str, int]) -> tuple[Codes, Codes]:
    """The codes of names by slot, and the meaning of each."""
    codes, found = np.zeros(_SLOTS, dtype=np.int64), np.zeros(_SLOTS, dtype=np.int64)
    for name, meaning in meanings.items():
        code = code_of(name)
        slot = (code ^ (code >> 11)) % _SLOTS
        while codes[slot]:
            slot = (slot + 1) % _SLOTS
        codes[slot], found[slot] = code, meaning
    return codes, found


def _meanings() -> dict[str, int]:
    meanings = {
        name: sum(1 << _ATTRIBUTES.index(attribute) for attribute in wanted.split())
        for names, wanted in _WANTED.items()
        for name in names.split()
    }
    for name in _RAW.split():
        meanings[name] |= _IS_RAW
    meanings["image"] |= meanings["use"]
    meanings["style"] |= _IS_STYLE
    meanings["script"] |= _IS_SCRIPT
    meanings["plaintext"] |= _IS_LAST
    meanings["link"] |= _NEEDS_REL
    return meanings


_ELEMENT_CODES, _MEANINGS = _table(_meanings())
_ATTRIBUTE_CODES, _PLACES = _table({name: place for place, name in enumerate(_ATTRIBUTES)})


def requisites_of(text: bytes, *, xml: bool = False) -> tuple[str, ...]:
    """The requisites of a page in valid UTF-8, each once, as written; `xml` if it is XHTML, SVG or other XML."""
    found: dict[str, None] = {}
    for href in _all_files(text, xml=xml, nested=False):
        found.setdefault(href)
        if len(found) >= MOST_FILES:
            break
    return tuple(found)


def requisites_of_css(text: str) -> tuple[str, ...]:
    """The files that a style sheet names, each once, as written."""
    return tuple(dict.fromkeys(files_of_css(text)))[:MOST_FILES]


def requisites_of_script(text: str) -> tuple[str, ...]:
    """The files that a script seems to load, each once, as written."""
    return tuple(dict.fromkeys(files_of_script(text)))[:MOST_FILES]


def icons_of_manifest(body: bytes) -> tuple[str, ...]:
    """The icons of a web application manifest, as written; none if it is not such a manifest."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return ()
    icons = found.get("icons") if isinstance(found, dict) else None
    sources = [icon.get("src") for icon in icons if isinstance(icon, dict)] if isinstance(icons, list) else []
    return tuple(dict.fromkeys(source for source in sources if isinstance(source, str) and is_file(source)))


def names_a_file(rel: str) -> bool:
    """Whether the rel of a link says that it leads to a file of the page."""
    return not _RELS.isdisjoint(rel.lower().split())


def _all_files(text: bytes, *, xml: bool, nested: bool) -> Iterator[str]:
    data = np.frombuffer(text, dtype=np.uint8)
    rows = np.empty((len(data) // 4 + 2, 4), dtype=np.int32)
    count = _find(data, xml, rows)
    tag, values = 0, dict[int, str]()
    for serial, place, start, end in rows[:count].tolist():
        if place >= _STYLE_TEXT:
            files = files_of_css if place == _STYLE_TEXT else files_of_script
            yield from files(text[start:end].decode("utf-8", "replace"))
            continue
        if serial != tag:
            yield from _files(values, nested=nested)
            tag, values = serial, {}
            if serial < 0:
                values[_REL] = ""
        if not values.get(place):  # the first of two attributes with one name counts
            values[place] = without_references(text[start:end], attribute=True)
    yield from _files(values, nested=nested)


def _files(values: dict[int, str], *, nested: bool) -> Iterator[str]:
    """The files of one element, by its attributes."""
    rel = values.get(_REL)
    for place, value in values.items():
        if place == _STYLE:
            yield from files_of_css(value)
        elif place == _SRCDOC:
            if not nested:
                yield from _all_files(value.encode("utf-8", "replace"), xml=False, nested=True)
        elif place == _REL or (rel is not None and not names_a_file(rel)):
            continue
        elif place in _SRCSETS:
            yield from _sources(value)
        elif is_file(href := value.strip()):
            yield href


def _sources(srcset: str) -> Iterator[str]:
    """The URLs of a srcset."""
    at = 0
    while found := _SOURCE.match(srcset, at):
        at = found.end()
        href = found[1].rstrip(",")
        if href == found[1]:
            at = _DESCRIPTORS.match(srcset, at).end()  # type: ignore[union-attr]  # it matches at any place
        if is_file(href):
            yield href


@bare_inlined
def _look_up(codes: Codes, meanings: Codes, code: Whole) -> Whole:
    """The meaning of a code; -1 if it has none."""
    slot = (code ^ (code >> 11)) % _SLOTS
    while codes[slot] != 0:
        if codes[slot] == code:
            return np.int64(meanings[slot])
        slot = (slot + 1) % _SLOTS
    return np.int64(-1)


@late_kernel(2.0)
def _find(data: Bytes, xml: bool, rows: Rows) -> Whole:
    """Writes a row for each attribute that matters: number of its tag (negative if only a rel makes files of them),
    place of its name, begin and end of its value; returns the number of rows.
    """
    size = len(data)
    at: Whole = np.int64(0)
    count: Whole = np.int64(0)
    serial = np.int64(0)
    while at < size:
        if data[at] != 60:
            at += 1
            continue
        following = np.int64(LOWER[data[at + 1]]) if at + 1 < size else np.int64(0)
        closing = following == 47
        if closing:
            following = np.int64(LOWER[data[at + 2]]) if at + 2 < size else np.int64(0)
        if not 97 <= following <= 122:
            at = declaration_end(data, at) if following in (33, 63) or closing else at + 1
            continue
        code, at = name_at(data, at + 1 + closing, size, TAG_END)
        meaning = np.int64(-1) if closing else _look_up(_ELEMENT_CODES, _MEANINGS, code)
        serial += 1
        at, count, closed = _attributes(data, at, meaning if meaning > 0 else np.int64(0), closing, serial, rows, count)
        if at < 0:
            break  # the page ends inside a tag, which does not count
        if meaning > 0 and meaning & _IS_RAW and not (xml and closed):
            start = at
            at = np.int64(size) if meaning & _IS_LAST else raw_end(data, at, code)
            if meaning & (_IS_STYLE | _IS_SCRIPT) and at > start:
                rows[count, 0], rows[count, 2], rows[count, 3] = serial, start, at
                rows[count, 1] = _STYLE_TEXT if meaning & _IS_STYLE else _SCRIPT_TEXT
                count += 1
    return count


@bare_inlined
def _attributes(
    data: Bytes, at: Whole, wanted: Whole, closing: bool | np.bool_, serial: Whole, rows: Rows, count: Whole
) -> tuple[Whole, Whole, bool | np.bool_]:
    """Reads the attributes of a tag; returns the place after it, the number of rows, and whether it closes itself."""
    size = len(data)
    first = count
    while at < size:
        byte = data[at]
        if byte == 62:
            return at + 1, count, False
        if byte == 47:
            at += 1
            if at < size and data[at] == 62:
                return at + 1, count, True
            continue
        if KINDS[byte] & SPACE:
            at += 1
            continue
        code, at = attribute_name_at(data, at, size)
        if at >= size or data[at] != 61:
            continue
        start, end, at = value_at(data, at + 1)
        if at < 0:
            break
        place = np.int64(-1) if closing else _look_up(_ATTRIBUTE_CODES, _PLACES, code)
        if (
            place >= 0
            and end > start
            and (wanted >> place & 1 or (place == _STYLE and _has_function(data, start, end)))
        ):
            rows[count, 0] = -serial if wanted & _NEEDS_REL else serial
            rows[count, 1], rows[count, 2], rows[count, 3] = place, start, end
            count += 1
    return np.int64(END_OF_PAGE), first, False


@bare_inlined
def _has_function(data: Bytes, start: Whole, end: Whole) -> bool | np.bool_:
    """Whether a style may name a file: it has a parenthesis, or a reference to one."""
    found = False
    for at in range(start, end):
        found = found or data[at] == 40 or data[at] == 38
    return found
