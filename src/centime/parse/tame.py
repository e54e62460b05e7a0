"""Whether HTML may be given to a parser that builds a tree, and what to give it otherwise.

Building a tree by the rules of HTML is not linear. An element looks up the stack of open elements, so n nested ones cost n**2 / 2
steps (50 000 deep: 3 seconds). An attribute is compared with those before it (100 000 in a tag: 20 seconds). A formatting element
that is never closed is copied into every later paragraph, so k of them and m paragraphs make k * m elements (a page of 21 KB:
500 MB). The parser cannot be stopped, so pages are measured before.

`is_tame` walks over the tags once, with a stack of its own, and adds up two bounds: steps (the depth and the attributes, at every
tag) and copies (the unclosed formatting elements but one, at every tag). Its stack never lacks an element that the parser's has: a
closing tag is believed only where it closes the innermost element, or one that HTML closes by itself. Badly nested pages are thus
over-estimated; up to some ten thousand tags that does no harm.

`flattened` is the way out: only links, directives and text, one after the other, every element closed at once. It has the
same links, and no structure.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, inlined, kernel

Bytes = npt.NDArray[np.uint8]

MOST_STEPS = 30_000_000  # about a tenth of a second
MOST_COPIES = 400_000  # about 150 MB
DEEPEST = 20_000
MOST_ATTRIBUTES = 64  # of a tag that is kept when a page is flattened

_VOID, _FORMATTING, _IMPLIED, _BLOCK, _RAW, _LINK, _FOREIGN, _CELL = (np.int64(1 << bit) for bit in range(8))
_NAMES = {
    _VOID: "area base br col embed hr img input link meta param source track wbr frame keygen",
    _FORMATTING: "a b big code em font i nobr s small strike strong tt u",
    _IMPLIED: "p li dd dt option optgroup rb rp rt rtc",
    _BLOCK: "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hgroup hr main menu nav ol p pre section summary ul li dd dt",
    _RAW: "script style xmp iframe noembed noframes textarea title",
    _LINK: "a area base frame iframe link meta",
    _FOREIGN: "svg math",
    _CELL: "td th tr tbody thead tfoot table caption colgroup",
}
_LONGEST_NAME = 11  # characters of a name that count: 37 ** 11 fits 63 bits


def _code(name: str) -> int:
    """A name of letters and digits as a number."""
    code = 0
    for character in name[:_LONGEST_NAME]:
        code = code * 37 + (ord(character) - 96 if character >= "a" else ord(character) - 21)
    return code


def _table() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Codes of the names that matter, sorted, and what each is."""
    roles: dict[int, int] = {}
    for role, names in _NAMES.items():
        for name in names.split():
            roles[_code(name)] = roles.get(_code(name), 0) | int(role)
    codes = sorted(roles)
    return np.array(codes, dtype=np.int64), np.array([roles[code] for code in codes], dtype=np.int64)


_CODES, _ROLES = _table()
_P, _A, _FRAME, _IFRAME, _TITLE = (np.int64(_code(name)) for name in ("p", "a", "frame", "iframe", "title"))


def is_tame(text: bytes) -> bool:
    """Whether a tree of this HTML costs a bounded time and memory."""
    return bool(_is_tame(np.frombuffer(text, dtype=np.uint8), _CODES, _ROLES, np.empty(DEEPEST + 1, dtype=np.int64)))


def flattened(text: bytes) -> bytes:
    """The same HTML less its structure: links, directives, title and text."""
    data = np.frombuffer(text, dtype=np.uint8)
    out = np.empty(3 * len(data) + 16, dtype=np.uint8)
    return out[: _flatten(data, _CODES, _ROLES, out)].tobytes()


@inlined
def _letter(byte: Whole) -> bool | np.bool_:
    """Whether a byte is an ASCII letter."""
    return 97 <= (byte | 32) <= 122


@inlined
def _name_at(data: Bytes, at: Whole) -> tuple[Whole, Whole]:
    """The code of the tag name at a place, and where it ends."""
    code = np.int64(0)
    count = 0
    while at < len(data):
        byte = np.int64(data[at])
        if byte in (32, 9, 10, 12, 13, 47, 62):
            break
        if count < _LONGEST_NAME:
            low = byte | 32
            code = code * 37 + (low - 96 if 97 <= low <= 122 else byte - 21 if 48 <= byte <= 57 else 0)
            count += 1
        at += 1
    return code, at


@inlined
def _role(codes: npt.NDArray[np.int64], roles: npt.NDArray[np.int64], code: Whole) -> Whole:
    """What a name is."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return roles[low] if low < len(codes) and codes[low] == code else np.int64(0)


@inlined
def _tag_end(data: Bytes, at: Whole) -> tuple[Whole, Whole]:
    """The place after the `>` that ends a tag whose name ends at `at`, and a bound on its attributes; quotes hide `>` only after `=`."""
    valued = False
    attributes = 1
    while at < len(data):
        byte = data[at]
        if byte == 62:
            return at + 1, attributes
        if valued and byte in (34, 39):
            at += 1
            while at < len(data) and data[at] != byte:
                at += 1
            valued = False
            attributes += 1
        elif byte == 61:
            valued = True
        elif byte in (32, 9, 10, 12, 13):
            attributes += 0 if valued else 1
        else:
            valued = False
            attributes += 1 if byte == 47 else 0
        at += 1
    return min(at, len(data)), attributes


@inlined
def _declaration_end(data: Bytes, at: Whole) -> Whole:
    """The place after the comment, CDATA section or other declaration that begins with `<!` or `<?` at `at`."""
    size = len(data)
    if at + 3 < size and data[at + 1] == 33 and data[at + 2] == 45 and data[at + 3] == 45:
        at += 4
        if at < size and data[at] == 62:
            return at + 1
        if at + 1 < size and data[at] == 45 and data[at + 1] == 62:
            return at + 2
        while at + 2 < size:
            if (
                data[at] == 45
                and data[at + 1] == 45
                and (data[at + 2] == 62 or (data[at + 2] == 33 and at + 3 < size and data[at + 3] == 62))
            ):
                return at + (3 if data[at + 2] == 62 else 4)
            at += 1
        return size
    cdata = at + 2 < size and data[at + 1] == 33 and data[at + 2] == 91
    while at < size:
        if data[at] == 62 and (not cdata or (data[at - 1] == 93 and data[at - 2] == 93)):
            return at + 1
        at += 1
    return size


@inlined
def _raw_end(data: Bytes, at: Whole, code: Whole) -> Whole:
    """Where the closing tag of raw text stands, or the end."""
    while at + 2 < len(data):
        if data[at] == 60 and data[at + 1] == 47 and _letter(np.int64(data[at + 2])):
            closing, _ = _name_at(data, at + 2)
            if closing == code:
                return at
        at += 1
    return len(data)


@kernel
def _is_tame(data: Bytes, codes: npt.NDArray[np.int64], roles: npt.NDArray[np.int64], stack: npt.NDArray[np.int64]) -> bool | np.bool_:
    """Walks over the tags with a stack that never lacks an open element, and adds up what a parser might do."""
    size = len(data)
    at: Whole = 0
    depth = formatting = foreign = 0
    steps = copies = np.int64(0)
    while at + 1 < size:
        if data[at] != 60:
            at += 1
            continue
        byte = np.int64(data[at + 1])
        if byte in (33, 63):
            at = _declaration_end(data, at)
            continue
        closing = byte == 47
        if closing and at + 2 < size:
            byte = np.int64(data[at + 2])
        if not _letter(byte):
            at += 1
            continue
        code, at = _name_at(data, at + (2 if closing else 1))
        role = _role(codes, roles, code)
        at, attributes = _tag_end(data, at)
        steps += depth + attributes * attributes // 2
        copies += max(formatting - 1, 0)
        if closing:
            while depth > 0 and stack[depth - 1] != code:
                top = _role(codes, roles, stack[depth - 1])
                if not (top & _IMPLIED or (top & _CELL and role & _CELL)):
                    break
                depth -= 1
            if depth > 0 and stack[depth - 1] == code:
                depth -= 1
                if role & _FORMATTING:
                    formatting -= 1
                if role & _FOREIGN:
                    foreign -= 1
            continue
        if foreign > 0:
            if data[at - 2] == 47:
                continue
        elif role & _VOID:
            continue
        elif role & _RAW:
            at = _raw_end(data, at, code)
        if depth > 0 and foreign == 0:
            top = stack[depth - 1]
            if (top == code and role & (_IMPLIED | _CELL)) or (top == _P and role & _BLOCK):
                depth -= 1
        if depth >= DEEPEST or steps > MOST_STEPS or copies > MOST_COPIES:
            return False
        stack[depth] = code
        depth += 1
        if role & _FORMATTING:
            formatting += 1
        if role & _FOREIGN:
            foreign += 1
    return steps <= MOST_STEPS and copies <= MOST_COPIES


@kernel
def _flatten(data: Bytes, codes: npt.NDArray[np.int64], roles: npt.NDArray[np.int64], out: Bytes) -> Whole:
    """Writes links, directives, title and text; gives the number of bytes written."""
    size = len(data)
    at: Whole = 0
    written: Whole = 0
    while at < size:
        if data[at] != 60:
            out[written] = data[at]
            written += 1
            at += 1
            continue
        byte = np.int64(data[at + 1]) if at + 1 < size else np.int64(0)
        if byte in (33, 63):
            at = _declaration_end(data, at)
            continue
        closing = byte == 47
        if closing and at + 2 < size:
            byte = np.int64(data[at + 2])
        if not _letter(byte):
            out[written] = 32
            written += 1
            at += 1
            continue
        start = at
        code, at = _name_at(data, at + (2 if closing else 1))
        name_end = at
        role = _role(codes, roles, code)
        at, attributes = _tag_end(data, at)
        out[written] = 32
        written += 1
        raw = role & _RAW and not closing
        end = _raw_end(data, at, code) if raw else at
        if not closing and (role & _LINK or code == _TITLE) and data[at - 1] == 62 and attributes <= MOST_ATTRIBUTES:
            # A frame outside a frameset would be dropped: it goes on as an inline one.
            name = b"iframe" if code == _FRAME else b"title" if code == _TITLE else b""
            written = _tag(data, start, name_end, at, name, out, written)
            if code == _TITLE:
                for place in range(at, end):
                    out[written] = data[place]
                    written += 1
            for letter in b"</a>" if code == _A else b"</iframe>" if code in (_FRAME, _IFRAME) else b"</title>" if code == _TITLE else b"":
                out[written] = letter
                written += 1
        at = end
    return written


@inlined
def _tag(data: Bytes, start: Whole, name_end: Whole, end: Whole, name: bytes, out: Bytes, written: Whole) -> Whole:
    """Copies a tag, under another name if one is given; gives where writing goes on."""
    out[written] = 60
    written += 1
    if len(name) > 0:
        for letter in name:
            out[written] = letter
            written += 1
    else:
        for place in range(start + 1, name_end):
            out[written] = data[place]
            written += 1
    for place in range(name_end, end):
        out[written] = data[place]
        written += 1
    return written
