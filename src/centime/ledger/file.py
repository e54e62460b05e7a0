"""A ledger in one file: versioned, checksummed and replaced atomically.

    8 bytes   "CENTIME" and the format version, one byte
    8 bytes   length of the header
    header    JSON: the kind of ledger, its facts, and the name, type and shape of each array
    arrays    one after the other, as they are in memory (little-endian)
    32 bytes  SHA-256 of everything before it

Nothing is unpickled, so a foreign file is harmless. The file is written under a temporary name, synced and
renamed over the old one: a crash or a full disk leaves the old file unchanged.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.files.replacement import replacing_file
from centime.ledger.exact import ExactLedger
from centime.ledger.opic import OpicLedger
from centime.model.errors import BadInput, DamagedFile

MAGIC = b"CENTIME"
VERSION = 1
KINDS: dict[str, type[ExactLedger] | type[OpicLedger]] = {"exact": ExactLedger, "opic": OpicLedger}


def save(ledger: ExactLedger | OpicLedger, path: str | Path) -> None:
    """Writes the whole ledger, with its known rows, to one file."""
    kind = next(name for name, known in KINDS.items() if type(ledger) is known)
    facts, arrays = ledger.state()
    write_state(Path(path), kind, facts, arrays)


def load(path: str | Path) -> ExactLedger | OpicLedger:
    """The ledger of a file; it continues exactly as the saved one."""
    kind, facts, arrays = read_state(Path(path))
    if kind not in KINDS:
        raise DamagedFile(f"{path}: contains a {kind!r}, which is not a ledger that this version knows")
    return KINDS[kind].from_state(facts, arrays)


def write_state(path: Path, kind: str, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Writes facts and arrays to a file, with the name of their kind."""
    described = [{"name": name, "type": array.dtype.str, "shape": array.shape} for name, array in arrays.items()]
    header = json.dumps({"kind": kind, "facts": facts, "arrays": described}).encode()
    digest = hashlib.sha256()
    with replacing_file(path, durable=True) as file:
        for piece in (MAGIC + bytes([VERSION]), len(header).to_bytes(8, "little"), header):
            file.write(piece)
            digest.update(piece)
        for array in arrays.values():
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            file.write(data)
            digest.update(data)
        file.write(digest.digest())


def read_state(path: Path) -> tuple[str, dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Kind, facts and arrays of a file of `write_state`; BadInput if there is no such file, DamagedFile says what is
    wrong with the file.
    """
    try:
        data = path.read_bytes()
    except OSError as reason:
        raise BadInput(f"{path}: the ledger cannot be read ({reason.strerror})") from None
    if data[:7] != MAGIC:
        raise DamagedFile(f"{path}: not a file of Centime (it does not start with {MAGIC.decode()!r})")
    if len(data) < 48:
        raise DamagedFile(f"{path}: cut short at byte {len(data)}")
    if data[7] != VERSION:
        raise DamagedFile(f"{path}: format version {data[7]}; this version reads {VERSION}")
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise DamagedFile(f"{path}: damaged or cut short: the checksum of its {len(data)} bytes is wrong")
    end = 16 + int.from_bytes(data[8:16], "little")
    header = json.loads(data[16:end])
    arrays: dict[str, npt.NDArray[Any]] = {}
    for described in header["arrays"]:
        array = np.frombuffer(data, dtype=described["type"], count=int(np.prod(described["shape"])), offset=end)
        arrays[described["name"]] = array.reshape(described["shape"]).copy()
        end += array.nbytes
    return header["kind"], header["facts"], arrays
