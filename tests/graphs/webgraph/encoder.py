"""A slow, simple writer of WebGraph's BV format for the tests of the reader, with which it shares no code.

It writes one string of "0" and "1" per code. The caller chooses the references, so that unusual ones are tested too."""

from collections.abc import Sequence

Rows = Sequence[Sequence[int]]


def binary(value: int, width: int) -> str:
    return format(value, f"0{width}b") if width else ""


def unary(value: int) -> str:
    return "0" * value + "1"


def gamma(value: int) -> str:
    digits = format(value + 1, "b")
    return unary(len(digits) - 1) + digits[1:]


def delta(value: int) -> str:
    digits = format(value + 1, "b")
    return gamma(len(digits) - 1) + digits[1:]


def minimal_binary(value: int, size: int) -> str:
    width = (size - 1).bit_length()
    spare = 2**width - size
    return binary(value, width - 1) if value < spare else binary(value + spare, width)


def zeta(value: int, k: int) -> str:
    step = 0
    while value + 1 >= 2 ** ((step + 1) * k):
        step += 1
    low, high = 2 ** (step * k), 2 ** ((step + 1) * k)
    return unary(step) + minimal_binary(value + 1 - low, high - low)


def nibble(value: int) -> str:
    groups = [format(int(octal), "03b") for octal in format(value, "o")]
    return "".join("0" + group for group in groups[:-1]) + "1" + groups[-1]


def golomb(value: int, k: int) -> str:
    return unary(value // k) + minimal_binary(value % k, k)


def coded(value: int, code: str, k: int) -> str:
    match code:
        case "UNARY":
            return unary(value)
        case "GAMMA":
            return gamma(value)
        case "DELTA":
            return delta(value)
        case "ZETA":
            return zeta(value, k)
        case "NIBBLE":
            return nibble(value)
    return golomb(value, k)


def natural(value: int) -> int:
    return 2 * value if value >= 0 else -2 * value - 1


def blocks_of(row: Sequence[int], reference_row: Sequence[int]) -> list[int]:
    """Lengths of the runs of the reference row that are copied and skipped in turn, without the last run."""
    lengths, taking = [0], True
    for target in reference_row:
        if (target in row) == taking:
            lengths[-1] += 1
        else:
            lengths.append(1)
            taking = not taking
    return lengths[:-1]


def intervals_of(extra: Sequence[int], least: int) -> list[tuple[int, int]]:
    """The runs (left end, length) of at least `least` consecutive numbers."""
    runs: list[list[int]] = []
    for target in extra:
        if runs and runs[-1][0] + runs[-1][1] == target:
            runs[-1][1] += 1
        else:
            runs.append([target, 1])
    return [(left, length) for left, length in runs if length >= least > 0]


def encode(
    rows: Rows,
    references: Sequence[int],
    *,
    window: int = 7,
    least_interval: int = 4,
    k: int = 3,
    codes: dict[str, str] | None = None,
) -> tuple[bytes, str]:
    """The bytes of the `.graph` file and the text of the `.properties` file; `references` are cut to the window."""
    code = {
        "OUTDEGREES": "GAMMA",
        "REFERENCES": "UNARY",
        "BLOCK_COUNT": "GAMMA",
        "BLOCKS": "GAMMA",
        "RESIDUALS": "ZETA",
    }
    code.update(codes or {})
    bits = ""
    for page, row in enumerate(rows):
        bits += coded(len(row), code["OUTDEGREES"], k)
        if not row:
            continue
        reference = min(references[page], window, page)
        if window:
            bits += coded(reference, code["REFERENCES"], k)
        extra = list(row)
        if reference:
            reference_row = rows[page - reference]
            lengths = blocks_of(row, reference_row)
            bits += coded(len(lengths), code["BLOCK_COUNT"], k)
            for place, length in enumerate(lengths):
                bits += coded(length - (place > 0), code["BLOCKS"], k)
            extra = [target for target in row if target not in reference_row]
        if not extra:
            continue
        intervals = intervals_of(extra, least_interval)
        if least_interval:
            bits += gamma(len(intervals))
            after = 0
            for place, (left, length) in enumerate(intervals):
                bits += gamma(natural(left - page) if place == 0 else left - after - 1) + gamma(length - least_interval)
                after = left + length
        covered = {left + step for left, length in intervals for step in range(length)}
        residuals = [target for target in extra if target not in covered]
        for place, target in enumerate(residuals):
            gap = natural(target - page) if place == 0 else target - residuals[place - 1] - 1
            bits += coded(gap, code["RESIDUALS"], k)
    bits += "0" * (-len(bits) % 8)
    data = bytes(int(bits[place : place + 8], 2) for place in range(0, len(bits), 8))
    flags = " | ".join(f"{part}_{name}" for part, name in (codes or {}).items())
    properties = (
        f"#BVGraph properties\nversion=0\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nnodes={len(rows)}\n"
        f"arcs={sum(map(len, rows))}\nwindowsize={window}\nminintervallength={least_interval}\nzetak={k}\n"
        f"compressionflags={flags}\n"
    )
    return data, properties
