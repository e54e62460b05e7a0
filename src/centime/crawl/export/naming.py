"""Names of files for URLs: safe on any file system, different for different URLs, and never both file and folder.

Characters that a name cannot hold become `_`, and a part of the URL's hash is added, so that no two URLs get the same
name.
"""

import re
from collections.abc import Callable

from xxhash import xxh3_64_hexdigest

LONGEST = 80  # characters of a part

_UNSAFE = re.compile(r"[^A-Za-z0-9.~_-]")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_RESERVED = re.compile(r"(?i)^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)|^\.|\.$|^$")


def markdown_name(url: str) -> str:
    """The file of a page in a folder of Markdown files.

    >>> markdown_name("https://a.example/tea/"), markdown_name("https://a.example/tea/green.html")
    ('a.example/tea/index.md', 'a.example/tea/green.html.md')
    """
    folders, last, query = _parts(url)
    stem = (
        _safe(last, url, also=bool(query) or last == "index") if last else _hashed("index", url) if query else "index"
    )
    return "/".join([*(f"{one}_" if one.endswith((".md", "_")) else one for one in folders), f"{stem}.md"])


def page_name(url: str, is_known: Callable[[str], bool] = lambda url: False) -> str:
    """The file of a page in a copy of its site; `is_known` says whether another URL is a page too.

    >>> page_name("https://a.example/tea"), page_name("https://a.example/v1.2/tea.html?x=1")
    ('a.example/tea/index.html', 'a.example/v1.2_/tea-d69d429e.html')
    """
    folders, last, query = _parts(url)
    host, *folders = folders
    folders = [f"{one}_" if _SUFFIX.search(one) or one.endswith("_") else one for one in folders]
    if last and _SUFFIX.search(last):
        return "/".join([host, *folders, _safe(last, url, also=bool(query))])
    plain = url.partition("?")[0]
    others = [f"{plain.rstrip('/')}/index.html", *([f"{plain}/"] if last else [])]
    index = "index.html" if not query and not any(map(is_known, others)) else _hashed("index.html", url)
    return "/".join(
        [host, *folders, *([_safe(f"{last}_" if last.endswith("_") else last, last)] if last else []), index]
    )


def _parts(url: str) -> tuple[list[str], str, str]:
    """The folders of a URL with its host, its last part, and its query."""
    scheme, _, rest = url.partition("://")
    path, _, query = rest.partition("?")
    host, *folders, last = [*path.split("/"), ""] if "/" not in path else path.split("/")
    name = _safe(host.replace(":", "_") + ("_http" if scheme == "http" else ""), "")
    return [name, *(_safe(one, one) for one in folders)], last, query


def _safe(part: str, hashed: str, *, also: bool = False) -> str:
    """A part of a path that is safe; with a hash if it had to be changed, or if `also` is true."""
    made = _UNSAFE.sub("_", part)
    if _RESERVED.search(made):
        made = f"_{made.strip('.')}"
    if made == part and len(part) <= LONGEST and not also:
        return made
    return _hashed(made, hashed or part)


def _hashed(part: str, text: str) -> str:
    found = _SUFFIX.search(part)
    stem, suffix = (part[: found.start()], found[0]) if found else (part, "")
    return f"{stem[: LONGEST - 20]}-{xxh3_64_hexdigest(text.encode())[:8]}{suffix}"
