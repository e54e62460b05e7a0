"""The exact URL of a file, as a browser requests it, from the site or from an archive.

Unlike in the canonical form of a page, everything that the server sees is kept: parameters, empty queries and
percent-encoding stay as written. Only the rules of WHATWG apply, and fragment, user name and password are removed.
"""

import ada_url

from centime.discover.canonical import LONGEST_HREF, LONGEST_URL


def exact(href: str, base: str) -> str | None:
    """The exact URL of a file that is named on a page or in a style sheet at `base`; None if it has none."""
    if len(href) > LONGEST_HREF:
        return None
    try:
        url = ada_url.join_url(base, href)
    except ValueError:
        return None
    if not url.startswith(("http://", "https://")):
        return None
    url = url.partition("#")[0]
    slash = url.find("/", 8)
    if "@" in url[:slash]:
        scheme, _, rest = url.partition("://")
        url = f"{scheme}://{rest[rest.rfind('@', 0, slash - len(scheme) - 3) + 1 :]}"
    return url if len(url) <= LONGEST_URL else None
