"""The owner of a crawl folder: this user, who created or confirmed it on this machine, or somebody else.

The subscriptions of a crawl can start programs (`command:`) and append to files (`file:`). A user who runs a crawl
folder of another person must not run that person's programs. So

    STATE/secret    32 random bytes of this user on this machine, mode 0600. STATE is $XDG_STATE_HOME/centime, or
                    ~/.local/state/centime
    DIR/owner       HMAC-SHA256 under that secret of the user's id, the crawl's identity and the inode of DIR

A new crawl signs its folder. A folder whose signature is missing or wrong is foreign. The signature names
no path, so a renamed folder stays one's own. A copy, a restored backup and an unpacked archive have another inode and
are foreign: in between, anybody may have changed them.
"""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from centime.files.disk import create_file, make_folder, write_whole
from centime.files.replacement import replace_file
from centime.model.errors import NoRoom

OWNER = "owner"
SECRET_BYTES = 32


def sign(path: Path, identity: int) -> str:
    """Signs a crawl folder as this user's own; returns why that is impossible, or ""."""
    try:
        replace_file(path / OWNER, _signature(path, identity, _secret(create=True)) + b"\n")
    except _Unusable as trouble:
        return str(trouble)
    return ""


def foreign(path: Path, identity: int) -> str:
    """Why a crawl folder counts as foreign; "" if it is this user's own."""
    try:
        signature = _signature(path, identity, _secret(create=False))
        found = (path / OWNER).read_bytes()[:200].strip()
    except _Unusable as trouble:
        return str(trouble)
    except OSError:
        found = b""
    return "" if hmac.compare_digest(found, signature) else "it was not created by you on this machine, or was copied"


class _Unusable(Exception):
    """The secret of this user cannot be used."""


def _signature(path: Path, identity: int, secret: bytes) -> bytes:
    said = f"centime {os.geteuid()} {identity} {path.stat().st_ino}"
    return hmac.new(secret, said.encode(), hashlib.sha256).hexdigest().encode()


def _state() -> Path:
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if given.is_absolute():
        return given / "centime"
    try:
        return Path.home() / ".local" / "state" / "centime"
    except RuntimeError:
        raise _Unusable("you have no home directory, where a secret to recognise your crawls could be kept") from None


def _secret(*, create: bool) -> bytes:
    file = _state() / "secret"
    try:
        if create and not file.exists():
            _create_secret(file)
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            about, secret = os.fstat(handle), os.read(handle, SECRET_BYTES + 1)
        finally:
            os.close(handle)
    except (OSError, NoRoom) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) else str(trouble)
        raise _Unusable(f"the secret that recognises your crawls, {file}, cannot be used: {reason}") from trouble
    if about.st_uid != os.geteuid() or about.st_mode & 0o077 or len(secret) != SECRET_BYTES:
        raise _Unusable(f"the secret that recognises your crawls, {file}, is damaged, or not yours alone")
    return secret


def _create_secret(file: Path) -> None:
    """Creates the secret as a whole; of two processes at the same time, one wins."""
    file.parent.parent.mkdir(parents=True, exist_ok=True)
    make_folder(file.parent)
    beside = file.with_name(f".secret.{secrets.token_hex(6)}")
    try:
        handle = create_file(beside, os.O_WRONLY | os.O_EXCL)
        try:
            write_whole(handle, secrets.token_bytes(SECRET_BYTES), 0, beside)
            os.fsync(handle)
        finally:
            os.close(handle)
        with suppress(FileExistsError):
            os.link(beside, file)
    finally:
        beside.unlink(missing_ok=True)
