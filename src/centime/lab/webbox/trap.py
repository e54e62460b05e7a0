"""Traps: endless URLs below /trap/. None of them is a page of the box.

/trap/calendar/2026/11         every month links to the next and the previous one
/trap/loop/a/a/a/              every folder links to folders below it
/trap/shop?sid=1f3a            every reply links to URLs with another session
"""

import re

import xxhash

CALENDAR = re.compile(rb"/trap/calendar/(\d{1,6})/(\d{1,2})")
LOOP = re.compile(rb"/trap/loop/(?:[a-z]/){1,4000}")
SHOP = re.compile(rb"/trap/shop\?(?:item=\d+&)?sid=([0-9a-f]{1,16})")
PAGE = (
    b'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>%s</title></head>'
    b"<body>\n<h1>%s</h1>\n%s</body></html>\n"
)
LINK = b'<p><a href="%s">%s</a></p>\n'


def body_of(path: bytes) -> bytes | None:
    """The page of a trap at a path; None if there is none."""
    if found := CALENDAR.fullmatch(path):
        year, month = int(found[1]), int(found[2])
        months = 12 * year + month - 1
        around = [(each // 12, each % 12 + 1) for each in (months - 1, months + 1) if each >= 0]
        links = b"".join(LINK % (b"/trap/calendar/%d/%d" % each, b"Month %d of %d" % each[::-1]) for each in around)
        return PAGE % (b"Calendar", b"Month %d of %d" % (month, year), links)
    if LOOP.fullmatch(path):
        return PAGE % (b"Folder", path, LINK % (b"a/", b"Deeper") + LINK % (b"b/", b"Deeper too"))
    if found := SHOP.fullmatch(path):
        following = b"%x" % xxhash.xxh3_64_intdigest(found[1])
        links = b"".join(
            LINK % (b"/trap/shop?item=%d&amp;sid=%s" % (item, following), b"Item %d" % item) for item in range(1, 6)
        )
        return PAGE % (b"Shop", b"Items", links)
    return None
