"""The `.properties` file of a WebGraph: Java properties, `key=value` lines, that say how the `.graph` file beside it
was written.

`compressionflags` names the code of each part that is not in its default code: `OUTDEGREES_DELTA | RESIDUALS_NIBBLE`.
Every code is accepted for every part, also where WebGraph itself would never write it. `maxrefcount` bounds the
reference chains, which a reader in order has no need of; statistics (`bitsperlink` and the like) are passed over.
"""

from dataclasses import dataclass

from centime.graphs.webgraph.bits import DELTA, GAMMA, GOLOMB, NIBBLE, UNARY, ZETA
from centime.model.errors import BadGraph
from centime.model.graph import LARGEST_PAGE_COUNT

CODES = {"UNARY": UNARY, "GAMMA": GAMMA, "DELTA": DELTA, "ZETA": ZETA, "NIBBLE": NIBBLE, "GOLOMB": GOLOMB}
DEFAULT_CODES = {
    "OUTDEGREES": GAMMA,
    "REFERENCES": UNARY,
    "BLOCK_COUNT": GAMMA,
    "BLOCKS": GAMMA,
    "RESIDUALS": ZETA,
    "OFFSETS": GAMMA,
}
LARGEST_PARAMETER = 16


@dataclass(frozen=True, slots=True)
class Properties:
    """What a `.properties` file says about the stream beside it."""

    pages: int
    links: int
    window: int
    least_interval: int
    parameter: int
    out_degrees: int
    references: int
    block_counts: int
    blocks: int
    residuals: int


def parse_properties(text: str, name: str) -> Properties:
    """The properties that decoding needs; those that are missing or unknown to us are refused."""
    told = {}
    for line in text.splitlines():
        key, found, value = line.partition("=")
        if found and not key.startswith(("#", "!")):
            told[key.strip().lower()] = value.strip()
    if not f".{told.get('graphclass', 'BVGraph')}".endswith(".BVGraph"):
        raise BadGraph(f"{name}: the properties tell of a {told['graphclass']}, and only BVGraph can be read")
    if told.get("version", "0") != "0" or told.get("endianness", "big") != "big":
        raise BadGraph(f"{name}: only version 0 of the format, with big-endian bits, can be read")
    codes = dict(DEFAULT_CODES)
    for flag in told.get("compressionflags", "").replace("|", " ").split():
        part, _, code = flag.rpartition("_")
        if part not in codes or code not in CODES:
            raise BadGraph(f"{name}: the compression flag {flag} is unknown")
        codes[part] = CODES[code]
    coded = {codes[part] for part in codes if part != "OFFSETS"}
    return Properties(
        pages=_number(told, "nodes", LARGEST_PAGE_COUNT, name),
        links=_number(told, "arcs", 2**62, name),
        window=_number(told, "windowsize", LARGEST_PAGE_COUNT, name),
        least_interval=_number(told, "minintervallength", LARGEST_PAGE_COUNT, name),
        parameter=_number(told, "zetak", LARGEST_PARAMETER, name, least=1) if coded & {ZETA, GOLOMB} else 1,
        out_degrees=codes["OUTDEGREES"],
        references=codes["REFERENCES"],
        block_counts=codes["BLOCK_COUNT"],
        blocks=codes["BLOCKS"],
        residuals=codes["RESIDUALS"],
    )


def _number(told: dict[str, str], key: str, largest: int, name: str, least: int = 0) -> int:
    value = told.get(key)
    if value is None:
        raise BadGraph(f"{name}: the properties do not tell {key}")
    if not (value.isascii() and value.isdecimal() and len(value) < 20 and least <= int(value) <= largest):
        raise BadGraph(f"{name}: {key} in the properties must be a number from {least} to {largest}, not {value!r}")
    return int(value)
