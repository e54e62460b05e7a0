"""The `.properties` file of a WebGraph: Java properties, `key=value` lines, that describe the encoding of the `.graph`
file.

`compressionflags` names the code of each part that is not in its default code: `OUTDEGREES_DELTA | RESIDUALS_NIBBLE`.
The reader accepts every code for every part, even where WebGraph itself would never write it. `maxrefcount` bounds the
reference chains; a sequential reader does not need it. Statistics (`bitsperlink` and the like) are ignored.
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
    """The encoding of a `.graph` file."""

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
    """Parses the properties that decoding needs; BadGraph if one is missing or not supported."""
    given = {}
    for line in text.splitlines():
        key, found, value = line.partition("=")
        if found and not key.startswith(("#", "!")):
            given[key.strip().lower()] = value.strip()
    if not f".{given.get('graphclass', 'BVGraph')}".endswith(".BVGraph"):
        raise BadGraph(f"{name}: the graph class is {given['graphclass']}; only BVGraph can be read")
    if given.get("version", "0") != "0" or given.get("endianness", "big") != "big":
        raise BadGraph(f"{name}: only version 0 of the format, with big-endian bits, can be read")
    codes = dict(DEFAULT_CODES)
    for flag in given.get("compressionflags", "").replace("|", " ").split():
        part, _, code = flag.rpartition("_")
        if part not in codes or code not in CODES:
            raise BadGraph(f"{name}: the compression flag {flag} is unknown")
        codes[part] = CODES[code]
    coded = {codes[part] for part in codes if part != "OFFSETS"}
    return Properties(
        pages=_number(given, "nodes", LARGEST_PAGE_COUNT, name),
        links=_number(given, "arcs", 2**62, name),
        window=_number(given, "windowsize", LARGEST_PAGE_COUNT, name),
        least_interval=_number(given, "minintervallength", LARGEST_PAGE_COUNT, name),
        parameter=_number(given, "zetak", LARGEST_PARAMETER, name, least=1) if coded & {ZETA, GOLOMB} else 1,
        out_degrees=codes["OUTDEGREES"],
        references=codes["REFERENCES"],
        block_counts=codes["BLOCK_COUNT"],
        blocks=codes["BLOCKS"],
        residuals=codes["RESIDUALS"],
    )


def _number(given: dict[str, str], key: str, largest: int, name: str, least: int = 0) -> int:
    value = given.get(key)
    if value is None:
        raise BadGraph(f"{name}: the properties have no {key}")
    if not (value.isascii() and value.isdecimal() and len(value) < 20 and least <= int(value) <= largest):
        raise BadGraph(f"{name}: {key} in the properties must be a number from {least} to {largest}, not {value!r}")
    return int(value)
