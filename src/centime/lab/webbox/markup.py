"""The bytes of a page, written by one kernel into a buffer: first its path, then its body.

A page is a list of texts: pieces of markup, sentences, and the names (URLs and titles) of the pages it links to. The
kernel first makes the list and then copies all texts: with a single place that copies, it is small, fast to compile and
fast to run.

Sentences are drawn slot by slot like links. Each change of a page draws about an eighth of them again, and always
changes the revision number. All URLs are ASCII. The links have the order of the page's row, each appears once, and
nothing else in a body is a link, except what the settings add: links into traps, and the announcement of feeds on a
root.

The body of a redirect is its target URL; a dead page has no body.
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

FORM, VERSION, PATH_END, BODY_END, QUIRK = range(5)  # facts about a page, written beside its bytes
FACTS = 5
PLAIN, BROKEN, HUGE, SLOW = range(4)  # quirks of an HTML page
BROKEN_SHARE, HUGE_SHARE, SLOW_SHARE = 0.03, 0.002, 0.01
TRAP, FEEDS = 1, 2  # links added to pages that are not part of the truth

TITLE, SENTENCE_SLOT, SENTENCES_EACH, PAGE_QUIRK, TRAP_ENTRY = 48, 49, 50, 51, 52  # purposes of random numbers
ENTRIES_TO_TRAPS = 1 / 16  # of the pages of a site with traps
NAME_BYTES = 256  # room for the URL and the title of a target
MOST_TEXTS = 4096  # of a page
LONGEST_BODY = 1 << 17  # room for the longest page that is written; huge ones are padded afterwards

(
    HTML_HEAD, TITLE_END, FEED_LINKS, NAVIGATION, HEADING, REVISION, REVISION_END, HTML_END, NEW_LINE,
    ITEM_HREF, ITEM_TEXT, ITEM_END, NO_FOLLOW_TEXT, PARAGRAPH, HREF, PARAGRAPH_END, LAST_PARAGRAPH, TRAP_LINKS,
    BROKEN_ITEM_HREF, BROKEN_ITEM_TEXT, BROKEN_HREF, BROKEN_TEXT, BROKEN_NO_FOLLOW,
    XML_HEAD, XML_DOCTYPE, XML_DOCTYPE_END, XML_ROOT, XML_ENTRY, XML_TEXT, XML_HREF, XML_ENTRY_END, XML_END,
    DTD_TEXT, DTD_END,
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
    '"http://www.w3.org/1999/xlink">\n<!ELEMENT entry (title, text, see)>\n<!ELEMENT title (#PCDATA)>\n'
    '<!ELEMENT text (#PCDATA)>\n<!ELEMENT see EMPTY>\n<!ATTLIST see xlink:type CDATA #FIXED "simple" xlink:href CDATA '
    '#REQUIRED>\n<!ENTITY revision "',
    DTD_END: '">\n',  # an entity and not a comment, because a change must be a change of content
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
    """The URL and title of every target, followed by the page's own title and its version number."""
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
def _copy(buffer: Bytes, at: Whole, ink: Ink, names: Ink, texts: Numbers, length: Whole) -> Whole:
    """Writes the texts of a page: numbers from 0 up are texts of the ink, from -1 down they are names."""
    for place in range(length):
        number = texts[place]
        at = piece(buffer, at, ink, number) if number >= 0 else piece(buffer, at, names, -1 - number)
    return at


@inlined
def _say(texts: Numbers, length: Whole, number: Whole) -> Whole:
    texts[length] = number
    return length + 1


@inlined
def _name(texts: Numbers, length: Whole, number: Whole) -> Whole:
    texts[length] = -1 - number
    return length + 1


@inlined
def _sentences(texts: Numbers, length: Whole, own: np.uint64, version: Whole, first: Whole, count: Whole) -> Whole:
    for slot in range(first, first + count):
        texts[length] = FIRST_SENTENCE + np.int64(draw(own, slot, (version + slot) // 8) % SENTENCE_COUNT)
        length += 1
    return length


@kernel
def _html(
    texts: Numbers, layout: Layout, site: Whole, page: Whole, version: Whole, added: Whole, broken: bool,
    flags: Flags, count: Whole, template: Whole,
) -> Whole:  # fmt: skip
    own = draw(layout.seed, SENTENCE_SLOT, page)
    each = 1 + np.int64(7.0 * unit(draw(layout.seed, SENTENCES_EACH, page)))
    length = _name(texts, _say(texts, 0, HTML_HEAD), 2 * count)
    length = _say(texts, length, TITLE_END)
    if added & FEEDS and page == layout.sites[site, START]:
        length = _say(texts, length, FEED_LINKS)
    length = _say(texts, length, NAVIGATION)
    for place in range(template):
        length = _name(texts, _say(texts, length, BROKEN_ITEM_HREF if broken else ITEM_HREF), 2 * place)
        length = _name(texts, _say(texts, length, BROKEN_ITEM_TEXT if broken else ITEM_TEXT), 2 * place + 1)
        length = _say(texts, length, NEW_LINE if broken else ITEM_END)
    length = _name(texts, _say(texts, length, HEADING), 2 * count)
    length = _name(texts, _say(texts, length, REVISION), 2 * count + 1)
    length = _say(texts, length, REVISION_END)
    slot: Whole = 0
    for place in range(template, count):
        length = _sentences(texts, _say(texts, length, PARAGRAPH), own, version, slot, each)
        slot += each
        length = _name(texts, _say(texts, length, BROKEN_HREF if broken else HREF), 2 * place)
        if flags[place] & NOFOLLOW:
            length = _say(texts, length, BROKEN_NO_FOLLOW if broken else NO_FOLLOW_TEXT)
        else:
            length = _say(texts, length, BROKEN_TEXT if broken else ITEM_TEXT)
        length = _name(texts, length, 2 * place + 1)
        length = _say(texts, length, NEW_LINE if broken else PARAGRAPH_END)
    if (
        added & TRAP
        and layout.sites[site, TRAITS] & TRAPPED
        and count
        and unit(draw(layout.seed, TRAP_ENTRY, page)) < ENTRIES_TO_TRAPS
    ):
        length = _say(texts, length, TRAP_LINKS)
    length = _sentences(texts, _say(texts, length, PARAGRAPH), own, version, slot, 8)
    length = _say(texts, length, LAST_PARAGRAPH)
    return length if broken else _say(texts, length, HTML_END)


@kernel
def _xml(texts: Numbers, layout: Layout, page: Whole, version: Whole, count: Whole, template: Whole) -> Whole:
    own = draw(layout.seed, SENTENCE_SLOT, page)
    length = _say(texts, 0, XML_HEAD)
    if template:
        length = _name(texts, _say(texts, length, XML_DOCTYPE), 0)
        length = _say(texts, length, XML_DOCTYPE_END)
    length = _name(texts, _say(texts, length, XML_ROOT), 2 * count + 1)
    length = _say(texts, length, ITEM_TEXT)
    for place in range(template, count):
        length = _name(texts, _say(texts, length, XML_ENTRY), 2 * place + 1)
        length = _sentences(texts, _say(texts, length, XML_TEXT), own, version, 2 * place, 2)
        length = _name(texts, _say(texts, length, XML_HREF), 2 * place)
        length = _say(texts, length, XML_ENTRY_END)
    return _say(texts, length, XML_END)


@inlined
def quirk_of(layout: Layout, form: Whole, page: Whole) -> Whole:
    """Whether a page is broken, huge, slow, or plain."""
    chance = unit(draw(layout.seed, PAGE_QUIRK, page))
    if form != HTML or chance > BROKEN_SHARE + HUGE_SHARE + SLOW_SHARE:
        return PLAIN
    return BROKEN if chance < BROKEN_SHARE else (HUGE if chance < BROKEN_SHARE + HUGE_SHARE else SLOW)


@kernel
def write_page(
    layout: Layout,
    ink: Ink,
    page: Whole,
    time: float,
    added: Whole,
    buffer: Bytes,
    facts: Numbers,
    times: npt.NDArray[np.float64],
) -> None:
    """Writes the path and body of a page at a time; `facts` gets their ends, `times[0]` the time of the last change."""
    targets, flags = np.empty(MOST_LINKS, dtype=np.int64), np.empty(MOST_LINKS, dtype=np.uint8)
    site = site_of(layout, page)
    local = page - layout.sites[site, START]
    form = form_of(layout, site, local)
    version = changes_until(layout, site, page, time)
    quirk = quirk_of(layout, form, page)
    times[0] = time_of(layout, site, page, version)
    at = put_path(buffer, 0, layout, ink, site, local)
    facts[FORM], facts[VERSION], facts[PATH_END], facts[QUIRK] = form, version, at, quirk
    count, template = write_row(layout, site, local, form, version, targets, flags)
    names = _name_all(layout, ink, site, page, version, targets, count)
    texts = np.empty(MOST_TEXTS, dtype=np.int64)
    length: Whole = 0
    if form in (HTML, BARE):
        length = _html(texts, layout, site, page, version, added, quirk == BROKEN, flags, count, template)
    elif form == XML:
        length = _xml(texts, layout, page, version, count, template)
    elif form in (MOVED, MOVED_TEMPORARILY):
        length = _name(texts, 0, 0)
    elif form == TEXT:
        own = draw(layout.seed, SENTENCE_SLOT, page)
        sentences = 8 + np.int64(64.0 * unit(draw(layout.seed, SENTENCES_EACH, page)))
        length = _sentences(texts, _say(texts, _name(texts, 0, 0), NEW_LINE), own, version, 0, sentences)
        length = _name(texts, length, 1)
    elif form == DTD:
        length = _say(texts, _name(texts, _say(texts, 0, DTD_TEXT), 1), DTD_END)
    facts[BODY_END] = _copy(buffer, at, ink, names, texts, length)
