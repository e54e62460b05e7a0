"""Suffixes of paths that a crawl does not fetch by default: images, audio, video, archives, fonts, programs, office
files and styles.

A suffix with which the name of a page may end is not listed (`/wiki/Node.js`, `/wiki/Amazon.com`, `/wiki/X.ai`).
Fetching a script now and then costs less than missing a page; links of `<a>` seldom lead to one.

A last segment such as `File:Picture.jpg` names the page of a wiki about a file, in any language, so it has no suffix:
it begins with an upper case letter, or an encoded one, and has a colon. (Files themselves seldom do.)

The suffix is the part after the last dot of the last segment of the path; the query does not count. HTML, XML, XHTML,
DTD, RSS, RDF, XSL and plain text are fetched, and so is a path without a suffix or with a suffix that is not listed.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from centime.model.errors import BadSetting

_IMAGES = "jpg jpeg jpe gif png bmp tif tiff webp avif ico svg svgz psd eps heic xcf pnm ppm pgm pbm xpm djvu"
_AUDIO = "mp3 wav ogg oga flac aac m4a wma midi aif aiff opus"
_VIDEO = "mp4 m4v mpg mpeg avi mov wmv flv webm mkv ogv 3gp swf asf m3u8"
_ARCHIVES = (
    "zip gz tgz bz2 tbz xz txz zst 7z rar tar jar war ear cab deb rpm apk ipa dmg iso img pkg msi lz lzma whl egg"
    " gem crate"
)
_FONTS = "woff woff2 ttf otf eot pfb"
_PROGRAMS = "exe dll obj pyc bat appimage wasm swp sqlite mdb"
_OFFICE = "pdf doc docx xls xlsx ppt pptx odt ods odp rtf epub mobi azw3 vsd chm dvi"
_RESOURCES = "css mjs scss json jsonld webmanifest"

KINDS = {  # by the names that `--also` knows
    "images": frozenset(_IMAGES.split()),
    "audio": frozenset(_AUDIO.split()),
    "video": frozenset(_VIDEO.split()),
    "archives": frozenset(_ARCHIVES.split()),
    "fonts": frozenset(_FONTS.split()),
    "programs": frozenset(_PROGRAMS.split()),
    "office": frozenset(_OFFICE.split()),
    "styles": frozenset(_RESOURCES.split()),
}
SUFFIXES = frozenset[str]().union(*KINDS.values())
ALL = "all"

_is_suffix = re.compile("[a-z0-9]{1,12}").fullmatch
_is_page_about_file = re.compile("(?:[A-Z]|%[89A-F])[^:]*?(?::|%3A).").match


def suffixes_named(words: Iterable[str]) -> frozenset[str]:
    """The suffixes that words mean: each is a suffix, the name of a kind of files, or `all`."""
    named = frozenset(words)
    if ALL in named:
        return SUFFIXES | named
    return named.union(*(KINDS[word] for word in named if word in KINDS))


def check_suffix(word: str) -> None:
    """Raises BadSetting unless a word can be a suffix."""
    if not _is_suffix(word):
        raise BadSetting(
            f"a suffix has up to 12 letters and digits, as in pdf,css,js; kinds of files are {', '.join(KINDS)} and "
            f"{ALL}; {word!r} is none of them"
        )


def check_also(word: str) -> None:
    """The same for `--also`: also if it is almost the name of a kind."""
    check_suffix(word)
    if word not in SUFFIXES and word not in KINDS and (meant := get_close_matches(word, KINDS, 1, 0.75)):
        raise BadSetting(f"there is no kind of files {word!r}: did you mean {meant[0]}?")


def unlisted(words: Iterable[str]) -> list[str]:
    """Those of the words that are neither a kind of files nor a suffix that a crawl refuses by default."""
    return [word for word in words if word not in SUFFIXES and word not in KINDS and word != ALL]


def refused_suffixes(also: Iterable[str] = (), refused: Iterable[str] = ()) -> frozenset[str]:
    """The suffixes that a crawl refuses: those of the list without the ones that are fetched too, and `refused` ones in
    addition. Both are words as `suffixes_named` takes them.
    """
    return SUFFIXES - suffixes_named(also) | suffixes_named(refused)


def suffix_of(url: str) -> str:
    """The suffix of a canonical URL's path in lower case, without its dot; empty if it has none, or names a page."""
    end = url.find("?")
    last = url[url.rfind("/", 0, end if end >= 0 else len(url)) + 1 : end if end >= 0 else len(url)]
    dot = last.rfind(".")
    # A host is never mistaken for a file name: a canonical URL has a slash after its host.
    if dot < 0 or _is_page_about_file(last):
        return ""
    return last[dot + 1 :].lower()
