"""The bytes of a page, written by one kernel into a buffer: its path first, then its body.

A page is a list of texts: pieces of markup, sentences, and the names (addresses and titles) of the pages it links to.
The list is made first, then all is copied: one place that copies keeps the kernel small, quick to compile and quick to
run.

Sentences are drawn slot by slot like links; each change of a page draws about an eighth of them anew, and the number of
the revision always changes. All URLs are ASCII. The links stand in the order of the page's row, each once, and nothing
else in a body is a link, except what the settings add: ways into traps, and the announcement of feeds on a root.

A redirect's body is the address that it leads to; a dead page has none.
"""

import numpy as np
import numpy.typing as npt

from centime.lab.webbox.chance import draw, unit
from centime.lab.webbox.change_process import changes_until, time_of
from centime.lab.webbox.ink import SENTENCES, WORDS, Bytes, Ink
from centime.lab.webbox.layout import (
    BARE,
    DTD,
    HTML,
    MOVED,
    MOVED_TEMPORARILY,
    START,
    TEXT,
    TRAITS,
    TRAPPED,
    XML,
    Layout,
    Numbers,
    form_of,
    site_of,
)
from centime.lab.webbox.page_links import MOST_LINKS, Flags, write_row
from centime.lab.webbox.path import PATH_PIECES, piece, put_address, put_number, put_path
from centime.model.document import NOFOLLOW
from centime.model.kernel import Whole, inlined, kernel

FORM, VERSION, PATH_END, BODY_END, MANNER = range(5)  # facts about a page that come back beside its bytes
FACTS = 5
PLAIN, BROKEN, HUGE, SLOW = range(4)  # manners of an HTML page
BROKEN_SHARE, HUGE_SHARE, SLOW_SHARE = 0.03, 0.002, 0.01
TRAP, FEEDS = 1, 2  # what is added to pages outside the truth

TITLE, SENTENCE_SLOT, SENTENCES_EACH, MANNER_OF, TRAP_ENTRY = 48, 49, 50, 51, 52
ENTRIES_TO_TRAPS = 1 / 16  # of the pages of a site with traps
NAME_BYTES = 256  # room for the address and the title of a target
LONGEST_ORDER = 4096  # texts of a page
LONGEST_BODY = 1 << 17  # room for the longest page that is drawn; huge ones are padded afterwards

(
    HTML_HEAD, TITLE_END, FEED_LINKS, NAVIGATION, HEADING, REVISION, REVISION_END, HTML_END, NEW_LINE,
    ITEM_HREF, ITEM_TEXT, ITEM_END, NO_FOLLOW_TEXT, PARAGRAPH, HREF, PARAGRAPH_END, LAST_PARAGRAPH, TRAP_LINKS,
    BROKEN_ITEM_HREF, BROKEN_ITEM_TEXT, BROKEN_HREF, BROKEN_TEXT, BROKEN_NO_FOLLOW,
    XML_HEAD, XML_DOCTYPE, XML_DOCTYPE_END, XML_ROOT, XML_ENTRY, XML_TEXT, XML_HREF, XML_ENTRY_END, XML_END, DTD_TEXT, DTD_END,
) = range(len(PATH_PIECES), len(PATH_PIECES) + 34)  # fmt: skip
PIECES = PATH_PIECES | {
    HTML_HEAD: '<!DOCTYPE html>\n<html lang="en"><head><meta charset="{charset}"><title>',
    TITLE_END: "</title>",
    FEED_LINKS: '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
    '<link rel="alternate" type="application/atom+xml" href="/atom.xml">',
    NAVIGATION: "</head>\n<body><header><nav><ul>\n",
    HEADING: "</ul></nav></header>\n<main><h1>",
    REVISION: "</h1>\n<p>Revision ",
    REVISION_END: ".</p>\n",
    HTML_END: "</main></body></html>\n",
    NEW_LINE: "\n",
    ITEM_HREF: '<li><a href="',
    ITEM_TEXT: '">',
    ITEM_END: "</a></li>\n",
    NO_FOLLOW_TEXT: '" rel="nofollow">',
    PARAGRAPH: "<p>",
    HREF: 'See <a href="',
    PARAGRAPH_END: "</a>.</p>\n",
    LAST_PARAGRAPH: "</p>\n",
    TRAP_LINKS: '<p><a href="/trap/calendar/2026/1">Calendar</a> <a href="/trap/loop/a/">More</a> '
    '<a href="/trap/shop?sid=1">Shop</a></p>\n',
    BROKEN_ITEM_HREF: "<LI><A HREF=",
    BROKEN_ITEM_TEXT: "><B><I>",
    BROKEN_HREF: "</TD></B><A HREF = '",
    BROKEN_TEXT: "'><B><I>",
    BROKEN_NO_FOLLOW: "' REL=NOFOLLOW><FONT>",
    XML_HEAD: '<?xml version="1.0" encoding="{charset}"?>\n',
    XML_DOCTYPE: '<!DOCTYPE catalogue SYSTEM "',
    XML_DOCTYPE_END: '">\n',
    XML_ROOT: '<catalogue xmlns:xlink="http://www.w3.org/1999/xlink" revision="',
    XML_ENTRY: "<entry><title>",
    XML_TEXT: "</title><text>",
    XML_HREF: '</text><see xlink:type="simple" xlink:href="',
    XML_ENTRY_END: '"/></entry>\n',
    XML_END: "</catalogue>\n",
    DTD_TEXT: "<!ELEMENT catalogue (entry*)>\n<!ATTLIST catalogue revision CDATA #REQUIRED xmlns:xlink CDATA #FIXED "
    '"http://www.w3.org/1999/xlink">\n<!ELEMENT entry (title, text, see)>\n<!ELEMENT title (#PCDATA)>\n<!ELEMENT text (#PCDATA)>\n'
    '<!ELEMENT see EMPTY>\n<!ATTLIST see xlink:type CDATA #FIXED "simple" xlink:href CDATA #REQUIRED>\n<!ENTITY revision "',
    DTD_END: '">\n',  # not a comment: a change must be one of the content that matters
}
FIRST_WORD = len(PIECES)
FIRST_SENTENCE = FIRST_WORD + len(WORDS)
WORD_COUNT, SENTENCE_COUNT = np.uint64(len(WORDS)), np.uint64(SENTENCES)


@kernel
def put_title(buffer: Bytes, at: Whole, layout: Layout, ink: Ink, page: Whole) -> Whole:
    """Writes the title of a page: two words and its number."""
    bits = draw(layout.seed, TITLE, page)
    at = piece(buffer, at, ink, FIRST_WORD + np.int64(bits % WORD_COUNT))
    buffer[at] = 32
    at = piece(buffer, at + 1, ink, FIRST_WORD + np.int64((bits >> np.uint64(32)) % WORD_COUNT))
    buffer[at] = 32
    return put_number(buffer, at + 1, page)


@inlined
def _name_all(
    layout: Layout, ink: Ink, site: Whole, page: Whole, version: Whole, targets: Numbers, count: Whole
) -> Ink:
    """Address and title of every target, one after the other, and then the page's own title and the number of its
    version.
    """
    text, ends = np.empty(NAME_BYTES * (MOST_LINKS + 1), dtype=np.uint8), np.zeros(2 * MOST_LINKS + 3, dtype=np.int64)
    at: Whole = 0
    for place in range(count + 1):
        target = page
        if place < count:
            target = targets[place]
            at = put_address(text, at, layout, ink, site, target)
            ends[2 * place + 1] = at
        at = put_title(text, at, layout, ink, target)
        ends[2 * place + (2 if place < count else 1)] = at
    ends[2 * count + 2] = put_number(text, at, version)
    return Ink(text, ends)


@inlined
def _copy(buffer: Bytes, at: Whole, ink: Ink, names: Ink, order: Numbers, length: Whole) -> Whole:
    """Writes the texts of a page in their order: numbers from 0 are the ink's, from -1 down the names."""
    for place in range(length):
        number = order[place]
        at = piece(buffer, at, ink, number) if number >= 0 else piece(buffer, at, names, -1 - number)
    return at


@inlined
def _say(order: Numbers, length: Whole, number: Whole) -> Whole:
    order[length] = number
    return length + 1


@inlined
def _name(order: Numbers, length: Whole, number: Whole) -> Whole:
    order[length] = -1 - number
    return length + 1


@inlined
def _sentences(order: Numbers, length: Whole, own: np.uint64, version: Whole, first: Whole, count: Whole) -> Whole:
    for slot in range(first, first + count):
        order[length] = FIRST_SENTENCE + np.int64(draw(own, slot, (version + slot) // 8) % SENTENCE_COUNT)
        length += 1
    return length


@kernel
def _html(
    order: Numbers, layout: Layout, site: Whole, page: Whole, version: Whole, added: Whole, broken: bool,
    flags: Flags, count: Whole, template: Whole,
) -> Whole:  # fmt: skip
    own = draw(layout.seed, SENTENCE_SLOT, page)
    each = 1 + np.int64(7.0 * unit(draw(layout.seed, SENTENCES_EACH, page)))
    length = _name(order, _say(order, 0, HTML_HEAD), 2 * count)
    length = _say(order, length, TITLE_END)
    if added & FEEDS and page == layout.sites[site, START]:
        length = _say(order, length, FEED_LINKS)
    length = _say(order, length, NAVIGATION)
    for place in range(template):
        length = _name(order, _say(order, length, BROKEN_ITEM_HREF if broken else ITEM_HREF), 2 * place)
        length = _name(order, _say(order, length, BROKEN_ITEM_TEXT if broken else ITEM_TEXT), 2 * place + 1)
        length = _say(order, length, NEW_LINE if broken else ITEM_END)
    length = _name(order, _say(order, length, HEADING), 2 * count)
    length = _name(order, _say(order, length, REVISION), 2 * count + 1)
    length = _say(order, length, REVISION_END)
    slot: Whole = 0
    for place in range(template, count):
        length = _sentences(order, _say(order, length, PARAGRAPH), own, version, slot, each)
        slot += each
        length = _name(order, _say(order, length, BROKEN_HREF if broken else HREF), 2 * place)
        if flags[place] & NOFOLLOW:
            length = _say(order, length, BROKEN_NO_FOLLOW if broken else NO_FOLLOW_TEXT)
        else:
            length = _say(order, length, BROKEN_TEXT if broken else ITEM_TEXT)
        length = _name(order, length, 2 * place + 1)
        length = _say(order, length, NEW_LINE if broken else PARAGRAPH_END)
    if (
        added & TRAP
        and layout.sites[site, TRAITS] & TRAPPED
        and count
        and unit(draw(layout.seed, TRAP_ENTRY, page)) < ENTRIES_TO_TRAPS
    ):
        length = _say(order, length, TRAP_LINKS)
    length = _sentences(order, _say(order, length, PARAGRAPH), own, version, slot, 8)
    length = _say(order, length, LAST_PARAGRAPH)
    return length if broken else _say(order, length, HTML_END)


@kernel
def _xml(order: Numbers, layout: Layout, page: Whole, version: Whole, count: Whole, template: Whole) -> Whole:
    own = draw(layout.seed, SENTENCE_SLOT, page)
    length = _say(order, 0, XML_HEAD)
    if template:
        length = _name(order, _say(order, length, XML_DOCTYPE), 0)
        length = _say(order, length, XML_DOCTYPE_END)
    length = _name(order, _say(order, length, XML_ROOT), 2 * count + 1)
    length = _say(order, length, ITEM_TEXT)
    for place in range(template, count):
        length = _name(order, _say(order, length, XML_ENTRY), 2 * place + 1)
        length = _sentences(order, _say(order, length, XML_TEXT), own, version, 2 * place, 2)
        length = _name(order, _say(order, length, XML_HREF), 2 * place)
        length = _say(order, length, XML_ENTRY_END)
    return _say(order, length, XML_END)


@inlined
def manner_of(layout: Layout, form: Whole, page: Whole) -> Whole:
    """Whether a page is broken, huge, slow, or none of them."""
    chance = unit(draw(layout.seed, MANNER_OF, page))
    if form != HTML or chance > BROKEN_SHARE + HUGE_SHARE + SLOW_SHARE:
        return PLAIN
    return BROKEN if chance < BROKEN_SHARE else (HUGE if chance < BROKEN_SHARE + HUGE_SHARE else SLOW)


@kernel
def write_page(
    layout: Layout, ink: Ink, page: Whole, time: float, added: Whole, buffer: Bytes, facts: Numbers, times: npt.NDArray[np.float64]
) -> None:  # fmt: skip
    """Writes path and body of a page as it is at a time; the facts say where they end, `times[0]` when it last
    changed.
    """
    targets, flags = np.empty(MOST_LINKS, dtype=np.int64), np.empty(MOST_LINKS, dtype=np.uint8)
    site = site_of(layout, page)
    local = page - layout.sites[site, START]
    form = form_of(layout, site, local)
    version = changes_until(layout, site, page, time)
    manner = manner_of(layout, form, page)
    times[0] = time_of(layout, site, page, version)
    at = put_path(buffer, 0, layout, ink, site, local)
    facts[FORM], facts[VERSION], facts[PATH_END], facts[MANNER] = form, version, at, manner
    count, template = write_row(layout, site, local, form, version, targets, flags)
    names = _name_all(layout, ink, site, page, version, targets, count)
    order = np.empty(LONGEST_ORDER, dtype=np.int64)
    length: Whole = 0
    if form in (HTML, BARE):
        length = _html(order, layout, site, page, version, added, manner == BROKEN, flags, count, template)
    elif form == XML:
        length = _xml(order, layout, page, version, count, template)
    elif form in (MOVED, MOVED_TEMPORARILY):
        length = _name(order, 0, 0)
    elif form == TEXT:
        own = draw(layout.seed, SENTENCE_SLOT, page)
        sentences = 8 + np.int64(64.0 * unit(draw(layout.seed, SENTENCES_EACH, page)))
        length = _sentences(order, _say(order, _name(order, 0, 0), NEW_LINE), own, version, 0, sentences)
        length = _name(order, length, 1)
    elif form == DTD:
        length = _say(order, _name(order, _say(order, 0, DTD_TEXT), 1), DTD_END)
    facts[BODY_END] = _copy(buffer, at, ink, names, order, length)
