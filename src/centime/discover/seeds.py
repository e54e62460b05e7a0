"""Reads the seeds of a crawl from the words that a person typed.

- `sitemap:URL` is a sitemap, which is fetched first.
- A word that contains `://` is a URL; it must be http or https.
- A word that names a file means the words in this file, one per line. Empty lines are skipped, and so is a comment
  from a `#` at the beginning of a line or after white space. A `#` inside a word belongs to the word.
- Any other word is a host with or without a path: `example.org` is `https://example.org/`, and `http://example.org/`
  if nothing answers there.

A word that is none of these is refused by name, in a file also with its line. Nothing is skipped silently.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from centime.discover.canonical import canonical
from centime.files.frame import LARGEST_FRAME
from centime.model.errors import BadInput

LARGEST_FILE = 1 << 30
MOST_BYTES = LARGEST_FRAME - (1 << 20)  # all seeds, with the settings, are one frame of the journal

_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Canonical URLs of pages and of sitemaps, each once, in the order given."""

    urls: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    guessed: frozenset[str] = frozenset()  # those of both that were given without a scheme


# A word with such an ending names a file, so it is refused if the file is missing.
FILE_ENDINGS = (".txt", ".csv", ".tsv", ".lst", ".list", ".urls", ".toml", ".json")


def without_comment(line: str) -> str:
    """A line of a file without its comment and the white space around it."""
    return _COMMENT.sub("", line).strip()


def read_seeds(words: Sequence[str]) -> Seeds:
    """The seeds of these words; BadInput names a word that cannot be a seed."""
    urls: dict[str, bool] = {}  # whether the scheme is guessed
    sitemaps: dict[str, bool] = {}
    for word in words:
        if "://" not in word and not word.startswith("sitemap:") and _is_file(word):
            _read_file(Path(word), urls, sitemaps)
        else:
            _take(word.strip(), "", urls, sitemaps)
    must_fit((*urls, *sitemaps))
    guessed = frozenset(url for url, is_guessed in (*urls.items(), *sitemaps.items()) if is_guessed)
    return Seeds(tuple(urls), tuple(sitemaps), guessed)


def must_fit(seeds: Iterable[str]) -> None:
    """Raises BadInput if a crawl cannot have all of these seeds, including those of earlier runs."""
    size = sum(len(url) + len('"",') for url in seeds)
    if size > MOST_BYTES:
        raise BadInput(
            f"the seeds have {size:,} bytes together, a crawl has at most {MOST_BYTES:,}: "
            "give it some of them, and the others with `centime publish`"
        )


def _take(word: str, where: str, urls: dict[str, bool], sitemaps: dict[str, bool]) -> None:
    """Adds the seed of one word."""
    into, address = (sitemaps, word.removeprefix("sitemap:")) if word.startswith("sitemap:") else (urls, word)
    url = canonical(address if "://" in address else f"https://{address}")
    if not address or url is None or not _names_a_host(address, url):
        hint = "a seed is a URL of http or https, a host such as example.org, a file of them, or sitemap:URL"
        raise BadInput(f"{where}{word!r} cannot be a seed: {hint}")
    into[url] = "://" not in address and into.get(url, True)


def _names_a_host(address: str, url: str) -> bool:
    """Whether a word without a scheme looks like a host, and not like a missing file."""
    if "://" in address:
        return True
    host = url.partition("//")[2].partition("/")[0]
    if address.startswith((".", "/", "~")) or address.lower().endswith(FILE_ENDINGS):
        return False
    return "." in host or ":" in host or host == "localhost"


def _is_file(word: str) -> bool:
    """Whether a word names a file."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _read_file(path: Path, urls: dict[str, bool], sitemaps: dict[str, bool]) -> None:
    """Adds the seeds of a file."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"the file of seeds {path} is larger than 1 GiB")
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                word = without_comment(line)
                if word:
                    _take(word, f"line {number} of {path}: ", urls, sitemaps)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the file of seeds {path} cannot be read: {error}") from error
