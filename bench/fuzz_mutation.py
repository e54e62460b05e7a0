"""Mutated inputs: the same number gives the same input, so a finding is named by target and number alone."""

from random import Random

from bench.fuzz_targets import Target

BYTES = b"\x00\x01\x09\x0a\x0d\x1b\x20\x22\x26\x27\x2f\x30\x3c\x3e\x7f\x80\x85\x9b\xc0\xe2\xf0\xff"
NUMBERS = [0, 1, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1]
MOST_BYTES = 20_000
MOST_MUTATIONS = 8


def mutated(name: str, target: Target, number: int) -> bytes:
    """The input of a target with this number; its good inputs come first."""
    if number < len(target.seeds):
        return target.seeds[number]
    chance = Random(f"{name} {number}")
    data = bytearray(chance.choice(target.seeds))
    for _ in range(chance.randint(1, MOST_MUTATIONS)):
        _mutate(data, target, chance)
    return bytes(data[:MOST_BYTES])


def _mutate(data: bytearray, target: Target, chance: Random) -> None:
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.choice((1, 1, 2, 4, 8, 40, 400)))
    match chance.randrange(9):
        case 0 if at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        case 1 if at < len(data):
            data[at] = chance.choice(BYTES)
        case 2:
            del data[at:end]
        case 3:
            data[at:at] = data[at:end] * chance.choice((1, 1, 2, 50))
        case 4:
            data[at:at] = chance.choice(target.words) if target.words else chance.randbytes(4)
        case 5:
            other = chance.choice(target.seeds)
            begin = chance.randint(0, len(other))
            data[at:end] = other[begin : begin + chance.randint(1, 60)]
        case 6:
            size = chance.choice((1, 2, 4, 8))
            number = chance.choice(NUMBERS) % (1 << 8 * size)
            data[at : at + size] = number.to_bytes(size, chance.choice(("little", "big")))
        case 7:
            data[at:end] = str(chance.choice(NUMBERS)).encode()
        case _:
            del data[at if chance.random() < 0.2 else end :]
