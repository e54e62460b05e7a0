"""Parameters that identify the reader and not the page. They are removed from every URL.

- Tracking: how the reader came here (`utm_source`, `gclid`). Removed by name, or by the beginning of the name.
- Sessions: who the reader is (`PHPSESSID`, `;jsessionid=`). A name that has no other meaning is removed with any value.
  A name with other meanings (`sid`, `session`) is removed only if its value looks like a session: at least 16 letters
  and digits, at least one of them a digit.

Names are compared without regard to case. The other parameters keep their order, because a server may depend on it.
"""

import re

TRACKING_BEGINNINGS = ("utm_", "mtm_", "pk_campaign", "pk_kwd", "hsa_", "aspsessionid")

_TRACKING_NAMES = """
    gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid ysclid twclid ttclid igshid igsh mc_cid mc_eid _ga _gl _hsenc
    _hsmi hsctatracking mkt_tok vero_id vero_conv oly_anon_id oly_enc_id wickedid rb_clickid s_kwcid ef_id _openstat
    epik li_fat_id zanpid srsltid sc_cid ml_subscriber ml_subscriber_hash guccounter guce_referrer guce_referrer_sig
"""

TRACKING = frozenset(_TRACKING_NAMES.split())

SESSIONS = frozenset(
    ["phpsessid", "jsessionid", "sessionid", "session_id", "sessid", "oscsid", "zenid", "cfid", "cftoken"]
)

PERHAPS_SESSIONS = frozenset(["sid", "session", "sess"])

_SESSION_VALUE = re.compile(r"(?=[A-Za-z]*[0-9])[0-9A-Za-z]{16,}").fullmatch

# A cheap test for every query that `without_readers` could change; it fails for most queries, which stay as they are.
_SUSPECT = re.compile(
    r"(?:^|&)(?:&|$|"
    + "|".join(map(re.escape, (*TRACKING_BEGINNINGS, *sorted(TRACKING | SESSIONS | PERHAPS_SESSIONS))))
    + ")",
    re.IGNORECASE,
).search

_PATH_SESSION = re.compile(
    r";(?:jsessionid|phpsessid|sessionid|sid)=[^/;]*|/\(S\([0-9A-Za-z]{24}\)\)(?=/|$)", re.IGNORECASE
)


def without_readers(query: str) -> str:
    """A query (without its `?`) without tracking, session and empty parameters."""
    if _SUSPECT(query) is None:
        return query
    return "&".join([piece for piece in query.split("&") if piece and not _about_the_reader(piece)])


def without_session(path: str) -> str:
    """A path without the sessions that Java servlets (`;jsessionid=`) and ASP.NET (`/(S(...))`) write into it."""
    while (shorter := _PATH_SESSION.sub("", path)) != path:  # a session may hide another: /(S(...));jsessionid=1
        path = shorter
    return path


def _about_the_reader(piece: str) -> bool:
    """Whether a parameter identifies the reader."""
    name, _, value = piece.partition("=")
    name = name.lower()
    if name in TRACKING or name in SESSIONS or name.startswith(TRACKING_BEGINNINGS):
        return True
    return name in PERHAPS_SESSIONS and _SESSION_VALUE(value) is not None
