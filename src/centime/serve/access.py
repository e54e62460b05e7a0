"""Who may look, and who may order: loopback without a token, everybody else with one.

    tokens     256 random bits each, in a file as NAME sha256:HEX, one on each line; the token itself is shown once.
               They are random, so a plain hash cannot be guessed
    a browser  gives its token once and gets a cookie, HttpOnly and SameSite=Strict; sessions are in memory and end
               with the server or after SESSION_SECONDS
    a program  sends `Authorization: Bearer TOKEN`
    a form     has a value that only a page of this server knows (CSRF), and a request that says that it comes from
               another site is refused

Without a token the server listens on loopback only, and answers only if the Host header names this machine: a page of
another site whose name leads to 127.0.0.1 (DNS rebinding) gets nothing.
"""

import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from centime.files.replacement import replace_file
from centime.model.errors import BadInput

SESSION_SECONDS = 7 * 86_400.0
MOST_SESSIONS = 10_000
COOKIE = "centime"
_NAME = re.compile(r"[\w.-]{1,60}").fullmatch
_LINE = re.compile(r"([\w.-]{1,60}) sha256:([0-9a-f]{64})").fullmatch
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d{1,5})?").fullmatch


class Tokens:
    """The tokens of a file, by the hash of each."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)  # hash -> name

    @classmethod
    def read(cls, path: Path) -> "Tokens":
        """The tokens of a file; BadInput if it has none."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as trouble:
            raise BadInput(f"{path}: {getattr(trouble, 'strerror', None) or 'not a text file'}") from trouble
        names = {}
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                found = _LINE(line.strip())
                if found is None:
                    raise BadInput(f"{path}, line {number}: a token is written as NAME sha256:HEX, by --new-token")
                names[found[2]] = found[1]
        if not names:
            raise BadInput(f"{path}: there is no token in this file; --new-token NAME adds one")
        return cls(names)

    def holder(self, token: str) -> str | None:
        """The name of a token; None if it is not one of these."""
        return self._names.get(_hash(token))


def add_token(path: Path, name: str) -> str:
    """Adds a token to a file, which only its owner can read, and returns it: it is stored nowhere else."""
    if not _NAME(name):
        raise BadInput(f"the name of a token is 1 to 60 letters, digits and any of _ . -, not {name!r}")
    before = path.read_bytes() if path.exists() else b""
    if any(line.split(b" ")[0] == name.encode() for line in before.splitlines()):
        raise BadInput(f"{path}: there is a token of the name {name} already; remove its line to replace it")
    token = secrets.token_urlsafe(32)
    replace_file(path, before + f"{name} sha256:{_hash(token)}\n".encode())
    return token


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever sent a request: the name of a token, or "local" without tokens; `cookie` is of a browser."""

    name: str
    cookie: str = ""


class Access:
    """Decides which requests are answered."""

    def __init__(self, tokens: Tokens | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.tokens = tokens
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self.failures = Attempts(10, 60.0, clock)  # wrong tokens and signatures
        self.orders = Attempts(120, 60.0, clock)
        self.pushes = Attempts(600, 60.0, clock)

    def visitor(self, cookie: str, authorization: str) -> Visitor | None:
        """Who sent a request; None if that needs a token and there is none, or a wrong one."""
        if self.tokens is None:
            return Visitor("local", cookie)
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer":
            name = self.tokens.holder(token.strip())
            return None if name is None else Visitor(name)
        name, until = self._sessions.get(cookie, ("", 0.0))
        return Visitor(name, cookie) if name and self._clock() < until else None

    def log_in(self, token: str) -> str | None:
        """A new session of the holder of a token; None if it is wrong."""
        name = None if self.tokens is None else self.tokens.holder(token.strip())
        if name is None:
            return None
        cookie = new_cookie()
        self._sessions[cookie] = (name, self._clock() + SESSION_SECONDS)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def log_out(self, cookie: str) -> None:
        """Ends a session."""
        self._sessions.pop(cookie, None)

    def form_key(self, cookie: str) -> str:
        """What a form of a page for this browser contains."""
        return hmac.new(self._secret, cookie.encode(errors="replace"), "sha256").hexdigest()

    def is_own_form(self, cookie: str, key: str) -> bool:
        """Whether a form was on a page that this server made for this browser."""
        return bool(cookie) and hmac.compare_digest(self.form_key(cookie), key)

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server: with tokens any name does, without them only loopback."""
        found = _HOST(host)
        if found is None:
            return False
        return self.tokens is not None or is_loopback(found[1].strip("[]"))


def new_cookie() -> str:
    """A random value for the cookie of a browser."""
    return secrets.token_urlsafe(24)


def is_loopback(name: str) -> bool:
    """Whether a name or an address is this machine."""
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_same_site(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a page of this server, or from a program, as far as its headers say."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin", "")
    return not origin or origin.partition("://")[2] == headers.get("host", "")


class Attempts:
    """Counts attempts of each address in a window of time."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def is_over(self, address: str) -> bool:
        """Whether an address has used up its attempts."""
        begun, count = self._counts.get(address, (0.0, 0))
        return count >= self._most and self._clock() - begun < self._seconds

    def count(self, address: str) -> None:
        """Counts one attempt."""
        begun, count = self._counts.pop(address, (0.0, 0))
        now = self._clock()
        self._counts[address] = (begun, count + 1) if now - begun < self._seconds else (now, 1)
        while len(self._counts) > MOST_SESSIONS:
            self._counts.popitem(last=False)
