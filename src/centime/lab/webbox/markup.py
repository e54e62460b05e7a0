"""The bytes of a page, written by one kernel into a buffer: its path first, then its body.

Sentences are drawn slot by slot like links; each change of a page draws about an eighth of them anew, and the number of the revision
always changes. All URLs are ASCII. The links stand in the order of the page's row, each once, and nothing else in a body is a link,
except what the settings add: ways into traps, and the announcement of feeds on a root.

A redirect's body is the address that it leads to; a dead page has none.
"""

import numpy as np
import numpy.typing as npt

from centime.lab.webbox.chance import draw, unit
from centime.lab.webbox.change import changes_until, time_of
from centime.lab.webbox.ink import SENTENCES, WORDS, Bytes, Ink
from centime.lab.webbox.layout import BARE, DTD, FOUND, HTML, MOVED, START, TEXT, TRAITS, TRAPPED, XML, Layout, Numbers, form_of, site_of
from centime.lab.webbox.path import PATH_PIECES, piece, put_address, put_number, put_path
from centime.lab.webbox.row import Flags, write_row
from centime.model.document import NOFOLLOW
from centime.model.kernel import Whole, inlined, kernel

FORM, VERSION, PATH_END, BODY_END, MANNER = range(5)  # facts about a page that come back beside its bytes
FACTS = 5
PLAIN, BROKEN, HUGE, SLOW = range(4)  # manners of an HTML page
BROKEN_SHARE, HUGE_SHARE, SLOW_SHARE = 0.03, 0.002, 0.01
TRAP, FEEDS = 1, 2  # what is added to pages outside the truth

TITLE, SENTENCE_SLOT, SENTENCES_EACH, MANNER_OF, TRAP_ENTRY = 48, 49, 50, 51, 52
ENTRIES_TO_TRAPS = 1 / 16  # of the pages of a site with traps
LONGEST_BODY = 1 << 17  # room for the longest page that is drawn; huge ones are padded afterwards

(
    HTML_HEAD, TITLE_END, FEED_LINKS, NAVIGATION, HEADING, REVISION, REVISION_END, HTML_END, NEW_LINE,
    ITEM_HREF, ITEM_TEXT, ITEM_END, NO_FOLLOW_TEXT, PARAGRAPH, HREF, PARAGRAPH_END, LAST_PARAGRAPH, TRAP_LINKS,
    BROKEN_ITEM_HREF, BROKEN_ITEM_TEXT, BROKEN_HREF, BROKEN_NO_FOLLOW,
    XML_HEAD, XML_DOCTYPE, XML_DOCTYPE_END, XML_ROOT, XML_ENTRY, XML_TEXT, XML_HREF, XML_ENTRY_END, XML_END, DTD_TEXT, DTD_END,
) = range(len(PATH_PIECES), len(PATH_PIECES) + 33)  # fmt: skip
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
    '<!ELEMENT see EMPTY>\n<!ATTLIST see xlink:type CDATA #FIXED "simple" xlink:href CDATA #REQUIRED>\n<!-- Revision ',
    DTD_END: " -->\n",
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


@kernel
def _sentences(buffer: Bytes, at: Whole, ink: Ink, own: np.uint64, version: Whole, first: Whole, count: Whole) -> Whole:
    for slot in range(first, first + count):
        at = piece(buffer, at, ink, FIRST_SENTENCE + np.int64(draw(own, slot, (version + slot) // 8) % SENTENCE_COUNT))
    return at


@kernel
def _html(
    buffer: Bytes, at: Whole, layout: Layout, ink: Ink, site: Whole, page: Whole, version: Whole, added: Whole, manner: Whole,
    targets: Numbers, flags: Flags, count: Whole, template: Whole,
) -> Whole:  # fmt: skip
    own = draw(layout.seed, SENTENCE_SLOT, page)
    each = 1 + np.int64(7.0 * unit(draw(layout.seed, SENTENCES_EACH, page)))
    at = put_title(buffer, piece(buffer, at, ink, HTML_HEAD), layout, ink, page)
    at = piece(buffer, at, ink, TITLE_END)
    if added & FEEDS and page == layout.sites[site, START]:
        at = piece(buffer, at, ink, FEED_LINKS)
    at = piece(buffer, at, ink, NAVIGATION)
    broken = manner == BROKEN
    for place in range(template):
        at = piece(buffer, at, ink, BROKEN_ITEM_HREF if broken else ITEM_HREF)
        at = put_address(buffer, at, layout, ink, site, targets[place])
        at = piece(buffer, at, ink, BROKEN_ITEM_TEXT if broken else ITEM_TEXT)
        at = put_title(buffer, at, layout, ink, targets[place])
        at = piece(buffer, at, ink, NEW_LINE if broken else ITEM_END)
    at = put_title(buffer, piece(buffer, at, ink, HEADING), layout, ink, page)
    at = put_number(buffer, piece(buffer, at, ink, REVISION), version)
    at = piece(buffer, at, ink, REVISION_END)
    slot: Whole = 0
    for place in range(template, count):
        at = piece(buffer, at, ink, PARAGRAPH)
        at = _sentences(buffer, at, ink, own, version, slot, each)
        slot += each
        at = piece(buffer, at, ink, BROKEN_HREF if broken else HREF)
        at = put_address(buffer, at, layout, ink, site, targets[place])
        if flags[place] & NOFOLLOW:
            at = piece(buffer, at, ink, BROKEN_NO_FOLLOW if broken else NO_FOLLOW_TEXT)
        elif broken:
            buffer[at] = 39  # the quotation mark that BROKEN_HREF opens
            at = piece(buffer, at + 1, ink, BROKEN_ITEM_TEXT)
        else:
            at = piece(buffer, at, ink, ITEM_TEXT)
        at = put_title(buffer, at, layout, ink, targets[place])
        at = piece(buffer, at, ink, NEW_LINE if broken else PARAGRAPH_END)
    if added & TRAP and layout.sites[site, TRAITS] & TRAPPED and count and unit(draw(layout.seed, TRAP_ENTRY, page)) < ENTRIES_TO_TRAPS:
        at = piece(buffer, at, ink, TRAP_LINKS)
    at = _sentences(buffer, piece(buffer, at, ink, PARAGRAPH), ink, own, version, slot, 8)
    at = piece(buffer, at, ink, LAST_PARAGRAPH)
    return at if broken else piece(buffer, at, ink, HTML_END)


@kernel
def _xml(
    buffer: Bytes,
    at: Whole,
    layout: Layout,
    ink: Ink,
    site: Whole,
    page: Whole,
    version: Whole,
    targets: Numbers,
    count: Whole,
    template: Whole,
) -> Whole:
    own = draw(layout.seed, SENTENCE_SLOT, page)
    at = piece(buffer, at, ink, XML_HEAD)
    if template:
        at = put_address(buffer, piece(buffer, at, ink, XML_DOCTYPE), layout, ink, site, targets[0])
        at = piece(buffer, at, ink, XML_DOCTYPE_END)
    at = put_number(buffer, piece(buffer, at, ink, XML_ROOT), version)
    at = piece(buffer, at, ink, ITEM_TEXT)
    for place in range(template, count):
        at = put_title(buffer, piece(buffer, at, ink, XML_ENTRY), layout, ink, targets[place])
        at = _sentences(buffer, piece(buffer, at, ink, XML_TEXT), ink, own, version, 2 * place, 2)
        at = put_address(buffer, piece(buffer, at, ink, XML_HREF), layout, ink, site, targets[place])
        at = piece(buffer, at, ink, XML_ENTRY_END)
    return piece(buffer, at, ink, XML_END)


@inlined
def manner_of(layout: Layout, form: Whole, page: Whole) -> Whole:
    """Whether a page is broken, huge, slow, or none of them."""
    chance = unit(draw(layout.seed, MANNER_OF, page))
    if form != HTML or chance > BROKEN_SHARE + HUGE_SHARE + SLOW_SHARE:
        return PLAIN
    return BROKEN if chance < BROKEN_SHARE else (HUGE if chance < BROKEN_SHARE + HUGE_SHARE else SLOW)


@kernel
def write_page(
    layout: Layout, ink: Ink, page: Whole, time: float, added: Whole, buffer: Bytes, facts: Numbers, times: npt.NDArray[np.float64],
    targets: Numbers, flags: Flags,
) -> None:  # fmt: skip
    """Writes path and body of a page as it is at a time; the facts say where they end, `times[0]` when it last changed."""
    site = site_of(layout, page)
    local = page - layout.sites[site, START]
    form = form_of(layout, site, local)
    version = changes_until(layout, site, page, time)
    manner = manner_of(layout, form, page)
    times[0] = time_of(layout, site, page, version)
    at = put_path(buffer, 0, layout, ink, site, local)
    facts[FORM], facts[VERSION], facts[PATH_END], facts[MANNER] = form, version, at, manner
    count, template = write_row(layout, site, local, form, version, targets, flags)
    if form in (HTML, BARE):
        at = _html(buffer, at, layout, ink, site, page, version, added, manner, targets, flags, count, template)
    elif form == XML:
        at = _xml(buffer, at, layout, ink, site, page, version, targets, count, template)
    elif form in (MOVED, FOUND):
        at = put_address(buffer, at, layout, ink, site, targets[0])
    elif form == TEXT:
        at = put_title(buffer, at, layout, ink, page)
        at = piece(buffer, at, ink, NEW_LINE)
        own = draw(layout.seed, SENTENCE_SLOT, page)
        at = _sentences(buffer, at, ink, own, version, 0, 8 + np.int64(64.0 * unit(draw(layout.seed, SENTENCES_EACH, page))))
        at = put_number(buffer, at, version)
    elif form == DTD:
        at = put_number(buffer, piece(buffer, at, ink, DTD_TEXT), version)
        at = piece(buffer, at, ink, DTD_END)
    facts[BODY_END] = at


@kernel
def write_title(layout: Layout, ink: Ink, page: Whole, buffer: Bytes) -> Whole:
    """Writes the title of a page; gives back its length."""
    return put_title(buffer, 0, layout, ink, page)
