"""Who may read, and who may give orders: clients on loopback without a token, all others with one.

    tokens     256 random bits each, in a file as NAME sha256:HEX, one on each line; the token itself is shown once.
               They are random, so a plain hash cannot be guessed. The file is read again when it changes
    a browser  gives its token once and gets a cookie, HttpOnly and SameSite=Strict; sessions are in memory and end
               with the server, with their token or after SESSION_SECONDS
    a program  sends `Authorization: Bearer TOKEN`
    a form     has a value that only a page of this server knows (CSRF), and a request that says that it comes from
               another site is refused

Without a token the server listens on loopback only, and answers only if the Host header names this machine: a page of
another site whose name leads to 127.0.0.1 (DNS rebinding) gets nothing.

Failures are counted by address, and only further failures are refused: a client with a valid token or session is
answered, whatever others at the same address do. Tokens are too long to be guessed, so this costs no safety.
"""

import hashlib
import hmac
import ipaddress
import logging
import math
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
_NAME = re.compile(r"[\w.-]{1,60}").fullmatch
_LINE = re.compile(r"([\w.-]{1,60}) sha256:([0-9a-f]{64})").fullmatch
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d{1,5})?").fullmatch

_log = logging.getLogger("centime.serve")


class Tokens:
    """The tokens of a file as it is now: it is read again whenever it changes."""

    def __init__(self, path: Path) -> None:
        """Reads the file; BadInput if it has no token or is damaged."""
        self._path = path
        self._stamp = _stamp(path)  # before the file is read, so that no change after it is missed
        self._names = _read_tokens(path)  # hash -> name

    def holder(self, token: str) -> str | None:
        """The name of a token; None if it is not one of these."""
        return self.holder_of_hash(hash_of(token))

    def holder_of_hash(self, digest: str) -> str | None:
        """The name of the token with this hash; None if there is no such token, or no longer."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            self._read_again()
        return self._names.get(digest)

    def _read_again(self) -> None:
        try:
            self._names = _read_tokens(self._path)
        except BadInput as trouble:
            self._names = {}
            _log.warning("no request is accepted until the tokens can be read: %s", trouble)
        else:
            _log.info("the tokens of %s are read again: %d", self._path, len(self._names))


def _stamp(path: Path) -> tuple[int, ...]:
    """Values that differ when a file was written or replaced; () if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


def _read_tokens(path: Path) -> dict[str, str]:
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
    return names


def add_token(path: Path, name: str) -> str:
    """Adds a token to a file, which only its owner can read, and returns it: it is stored nowhere else."""
    if not _NAME(name):
        raise BadInput(f"the name of a token is 1 to 60 letters, digits and any of _ . -, not {name!r}")
    before = path.read_bytes() if path.exists() else b""
    if any(line.split(b" ")[0] == name.encode() for line in before.splitlines()):
        raise BadInput(f"{path}: there is a token of the name {name} already; remove its line to replace it")
    token = secrets.token_urlsafe(32)
    replace_file(path, before + f"{name} sha256:{hash_of(token)}\n".encode())
    return token


def hash_of(token: str) -> str:
    """The stored form of a token."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Visitor:
    """The sender of a request: the name of a token, or "local" without tokens; `cookie` is that of a browser."""

    name: str
    cookie: str = ""


class Access:
    """Decides which requests are answered, and identifies their senders."""

    def __init__(
        self, tokens: Tokens | None, clock: Callable[[], float] = time.monotonic, *, behind_proxy: bool = False
    ) -> None:
        """`behind_proxy`: every request comes through a proxy, whose headers name its origin."""
        self.tokens = tokens
        self.behind_proxy = behind_proxy
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self.failures = Attempts(10, 60.0, clock)  # wrong tokens and signatures
        self.orders = Attempts(120, 60.0, clock)
        self.pushes = Attempts(600, 60.0, clock)

    def visitor(self, cookie: str, authorization: str) -> Visitor | None:
        """The sender of a request; None if a token is required and is missing or wrong."""
        if self.tokens is None:
            return Visitor("local", cookie)
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer":
            name = self.tokens.holder(token.strip())
            return None if name is None else Visitor(name)
        digest, until = self._sessions.get(cookie, ("", 0.0))
        name = self.tokens.holder_of_hash(digest) if self._clock() < until else None
        return None if name is None else Visitor(name, cookie)

    def log_in(self, token: str) -> str | None:
        """A new session of the holder of a token; None if it is wrong."""
        if self.tokens is None or self.tokens.holder(token.strip()) is None:
            return None
        cookie = new_cookie()
        self._sessions[cookie] = (hash_of(token.strip()), self._clock() + SESSION_SECONDS)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def log_out(self, cookie: str) -> None:
        """Ends a session."""
        self._sessions.pop(cookie, None)

    def form_key(self, cookie: str) -> str:
        """The secret that a form of a page for this browser contains."""
        return hmac.new(self._secret, cookie.encode(errors="replace"), "sha256").hexdigest()

    def is_own_form(self, cookie: str, key: str) -> bool:
        """Whether a form was on a page that this server made for this browser."""
        return bool(cookie) and hmac.compare_digest(self.form_key(cookie).encode(), key.encode(errors="replace"))

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server: with tokens any name is accepted, without them only loopback."""
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

    def wait(self, address: str) -> int:
        """Whole seconds until an address may try again; 0 if it may now."""
        begun, count = self._counts.get(address, (0.0, 0))
        left = self._seconds - (self._clock() - begun)
        return max(1, math.ceil(left)) if count >= self._most and left > 0.0 else 0

    def count(self, address: str) -> None:
        """Counts one attempt."""
        begun, count = self._counts.pop(address, (0.0, 0))
        now = self._clock()
        self._counts[address] = (begun, count + 1) if now - begun < self._seconds else (now, 1)
        while len(self._counts) > MOST_SESSIONS:
            self._counts.popitem(last=False)
