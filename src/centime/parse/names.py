"""The element names of HTML as numbers, and the effect of each element on its words and on the elements around it.

A name is hashed while it is read: code = (257 * code + lower case byte) mod 2**54. A hash table maps the code to the
element. Elements that behave alike share a number (h1 to h6; thead, tbody and tfoot). All names without a meaning here
share UNKNOWN_BUCKETS numbers, so an end tag finds its open element without a comparison of names. Two unknown names
with the same number can be confused; this needs a hostile page, and the only effect is a wrong end of an element on
that same page.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined

Bytes = npt.NDArray[np.uint8]

_NUMBERED = """
    a area base link meta iframe frame html title textarea xmp plaintext svg math template br img
    p li dd dt td th tr tbody table caption option optgroup h1 ul ol form button script
"""
(
    A, AREA, BASE, LINK, META, IFRAME, FRAME, HTML, TITLE, TEXTAREA, XMP, PLAINTEXT, SVG, MATH, TEMPLATE,
    BR, IMG, P, LI, DD, DT, TD, TH, TR, SECTION, TABLE, CAPTION, OPTION, OPTGROUP, HEADING, UL, OL, FORM, BUTTON,
    SCRIPT,
) = range(1, 36)  # fmt: skip
_ALIASES = {
    "h2": HEADING, "h3": HEADING, "h4": HEADING, "h5": HEADING, "h6": HEADING,
    "thead": SECTION, "tfoot": SECTION, "image": IMG,
}  # fmt: skip

VOID, BREAKS, SPECIAL, FENCE, SCOPE, ENDS_P, RAW, BREAKOUT, NOTED, INTEGRATION, FORMATTING, ROOT, LANDMARK, STRUCK = (
    1 << bit for bit in range(14)
)
_ROLES = {
    # Has no content and no end tag.
    VOID: "area base basefont bgsound br col embed frame hr img image input keygen link meta param source track wbr",
    # Separates words.
    BREAKS: "address article aside blockquote body br button caption center col colgroup dd details dialog dir div dl "
    "dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html iframe input legend li "
    "listing main menu nav noscript object ol optgroup option p plaintext pre script search section select summary "
    "table tbody td textarea tfoot th thead title tr ul xmp",
    # Not closed by the end tag of an ordinary element.
    SPECIAL: "address applet article aside blockquote button caption center colgroup dd details dir div dl dt fieldset "
    "figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup li listing main marquee menu nav noscript "
    "object ol p pre search section select summary table tbody td template tfoot th thead tr ul",
    # Stops the search for an open li, dd or dt.
    FENCE: "applet article aside blockquote button caption center colgroup dd details dir dl dt fieldset figcaption "
    "figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup li listing main marquee menu nav noscript object ol "
    "pre search section select summary table tbody td template tfoot th thead tr ul",
    # Stops the search for any open element.
    SCOPE: "applet caption marquee object table td template th",
    ENDS_P: "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul "
    "xmp dd dt",
    RAW: "script style xmp iframe noembed textarea title plaintext",
    # Cannot be inside SVG or MathML, so it ends them.
    BREAKOUT: "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing "
    "menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var",
    NOTED: "a area base link meta iframe frame html title img",
    # An element of SVG or MathML that contains HTML.
    INTEGRATION: "foreignobject desc title mi mo mn ms mtext",
    # Closed by its end tag even if blocks are open inside it.
    FORMATTING: "a b big code em font i nobr s small strike strong tt u",
    # No step of the path of a word (`parse/words.py`).
    ROOT: "html body head",
    # A step of that path which has a name of its own.
    LANDMARK: "nav main article section aside header footer form table figure",
    # Marks its text as no longer valid.
    STRUCK: "del s strike",
}  # fmt: skip

_BREAKING = frozenset(_ROLES[BREAKS].split())
CODE_MASK = (1 << 54) - 1
_SLOTS = 2_048
UNKNOWN_BUCKETS = 64


def code_of(name: str) -> int:
    """The code of a name in lower case."""
    code = 0
    for byte in name.encode():
        code = (257 * code + byte) & CODE_MASK
    return code


def breaks_words(name: str) -> bool:
    """Whether an element separates the words before and behind it."""
    return name in _BREAKING


def _table() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Codes by slot, the number of each code, the roles of each number, and the count of numbers."""
    numbers = {name: number for number, name in enumerate(_NUMBERED.split(), 1)} | _ALIASES
    for names in _ROLES.values():
        for name in names.split():
            numbers.setdefault(name, max(numbers.values()) + 1)
    count = max(numbers.values()) + 1
    roles = np.zeros(count + UNKNOWN_BUCKETS, dtype=np.int64)
    for role, names in _ROLES.items():
        for name in names.split():
            roles[numbers[name]] |= role
    codes, found = np.zeros(_SLOTS, dtype=np.int64), np.zeros(_SLOTS, dtype=np.int64)
    for name, number in numbers.items():
        slot = _slot(code_of(name))
        while codes[slot]:
            slot = (slot + 1) % _SLOTS
        codes[slot], found[slot] = code_of(name), number
    return codes, found, roles, count


def _slot(code: int) -> int:
    """The slot at which the search for a code begins."""
    return (code ^ (code >> 11)) % _SLOTS


_CODES, _NUMBERS, ROLES, _KNOWN = _table()
NAMES = len(ROLES)

# The attributes that an element is searched for: at most three.
_WANTED = {
    A: ("href", "rel", "xlink:href"), AREA: ("href", "rel", "alt"), LINK: ("href", "rel", "title"),
    META: ("content", "http-equiv", "name"), BASE: ("href",), IFRAME: ("src", "srcdoc"), FRAME: ("src",),
    HTML: ("lang",), IMG: ("alt",), TEMPLATE: ("shadowrootmode",),
    SCRIPT: ("type",),
}  # fmt: skip
WANTED = np.zeros((NAMES, 3), dtype=np.int64)
for _number, _names in _WANTED.items():
    WANTED[_number, : len(_names)] = [code_of(_name) for _name in _names]

# Kinds of bytes: white space, ends of tag names, ends of attribute names.
SPACE, TAG_END, NAME_END = 1, 2, 4
KINDS = np.zeros(256, dtype=np.uint8)
KINDS[[9, 10, 12, 13, 32]] = SPACE | TAG_END | NAME_END
KINDS[[47, 62]] = TAG_END | NAME_END
KINDS[61] = NAME_END
LOWER = np.arange(256, dtype=np.int64)  # every byte in lower case
LOWER[65:91] += 32


@bare_inlined
def name_at(data: Bytes, at: Whole, end: Whole, stop: Whole) -> tuple[Whole, Whole]:
    """The code and the end of the name at `at`: it ends before a byte of the kind `stop`; its first byte may be any."""
    code = LOWER[data[at]]
    at += 1
    while at < end:
        byte = data[at]
        if KINDS[byte] & stop:
            break
        code = (257 * code + LOWER[byte]) & CODE_MASK
        at += 1
    return code, at


@bare_inlined
def code_between(data: Bytes, at: Whole, end: Whole) -> Whole:
    """The code of the name from `at` to `end`, in any case."""
    code = np.int64(0)
    for place in range(at, end):
        code = (257 * code + LOWER[data[place]]) & CODE_MASK
    return code


@bare_inlined
def attribute_name_at(data: Bytes, at: Whole, end: Whole) -> tuple[Whole, Whole]:
    """The code of the attribute at `at`, and the place after its name and white space: of its `=`, if it has one."""
    code, at = name_at(data, at, end, NAME_END)
    while at < end and KINDS[data[at]] & SPACE:
        at += 1
    return code, at


@bare_inlined
def element_of(code: Whole) -> Whole:
    """The number of the element with this code."""
    slot = (code ^ (code >> 11)) % _SLOTS
    while _CODES[slot] != 0:
        if _CODES[slot] == code:
            return np.int64(_NUMBERS[slot])
        slot = (slot + 1) % _SLOTS
    return unknown_element(code)


@bare_inlined
def unknown_element(code: Whole) -> Whole:
    """The number of a name without a meaning."""
    return _KNOWN + code % UNKNOWN_BUCKETS
