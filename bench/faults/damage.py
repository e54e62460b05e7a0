"""Faults of a disk: each gives the disk of the recorded crawl at a moment, with something that was confirmed wrong."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from bench.faults.disk import SECTOR, Image, Step, written
from bench.faults.history import History


def _some_file(image: Image, chance: Random, least: int = 1) -> str:
    """A file by chance; every second time one outside the snapshots, which have most of the files."""
    names = [name for name, data in sorted(image.files.items()) if len(data) >= least and "/." not in f"/{name}"]
    others = [name for name in names if not name.startswith("snapshots/")]
    return chance.choice(others if others and chance.random() < 0.5 else names)


# ---- of files


def _flip(history: History, moment: int, chance: Random) -> Image:
    image = history.disk.image(moment)
    data = image.edit(_some_file(image, chance))
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return image


def _zero(history: History, moment: int, chance: Random) -> Image:
    image = history.disk.image(moment)
    data = image.edit(_some_file(image, chance))
    begin = chance.randrange(len(data)) // SECTOR * SECTOR
    size = min(SECTOR * chance.choice([1, 8]), len(data) - begin)
    data[begin : begin + size] = bytes(size)
    return image


def _cut(history: History, moment: int, chance: Random) -> Image:
    image = history.disk.image(moment)
    data = image.edit(_some_file(image, chance))
    del data[chance.randrange(len(data)) :]
    return image


def _miss(history: History, moment: int, chance: Random) -> Image:
    image = history.disk.image(moment)
    del image.files[_some_file(image, chance)]
    return image


def _foreign(history: History, moment: int, chance: Random) -> Image:
    image = history.disk.image(moment)
    name = chance.choice(sorted(set(image.files) & set(history.other.files)))
    image.files[name] = history.other.files[name]
    return image


def _stale(history: History, moment: int, chance: Random) -> Image:
    image = history.disk.image(moment)
    earlier = history.disk.image(chance.randrange(len(history.disk.steps)))
    names = sorted(name for name in set(image.files) & set(earlier.files) if earlier.files[name] != image.files[name])
    if names:
        name = chance.choice(names)
        image.files[name] = earlier.files[name]
    return image


def _swap(history: History, moment: int, chance: Random) -> Image:
    image = history.disk.image(moment)
    first, second = _some_file(image, chance), _some_file(image, chance)
    image.files[first], image.files[second] = image.files[second], image.files[first]
    return image


# ---- of writes that were confirmed


def _misdirect(history: History, moment: int, chance: Random) -> Image:
    """A write of the run that went to another place, too."""
    image = history.disk.image(moment)
    piece = history.disk.steps[chance.choice(history.disk.writes)].data
    data = image.edit(_some_file(image, chance))
    at = chance.randrange(len(data)) // SECTOR * SECTOR
    piece = piece[: len(data) - at]
    data[at : at + len(piece)] = piece
    return image


def _otherwise(change: Callable[[list[Step], list[int], Random], None]) -> Callable[[History, int, Random], Image]:
    """A fault that changes what became of the writes of one file; `change` gets them, and which of them are writes."""

    def make(history: History, moment: int, chance: Random) -> Image:
        image = history.disk.image(moment)
        names, _ = history.disk.names(moment)
        inode = names[_some_file(image, chance)]
        changes = history.disk.changes(inode, moment)
        writes = [place for place, step in enumerate(changes) if step.data]
        if not writes:
            return image
        change(changes, writes, chance)
        return history.disk.image(moment, contents={inode: written(b"", changes)})

    return make


def _lose(changes: list[Step], writes: list[int], chance: Random) -> None:
    """A write that never arrived: what was there before, or zeros, is still there."""
    place = chance.choice(writes)
    changes[place] = changes[place].torn(0)


def _tear(changes: list[Step], writes: list[int], chance: Random) -> None:
    """A write of which only the first bytes arrived."""
    place = chance.choice(writes)
    changes[place] = changes[place].torn(chance.randrange(len(changes[place].data)))


def _double(changes: list[Step], writes: list[int], chance: Random) -> None:
    """A write that is done again later, over newer ones, or once more right behind itself."""
    place = chance.choice(writes)
    step = changes[place]
    if chance.random() < 0.5:
        changes.insert(chance.randint(place + 1, len(changes)), step)
    else:
        changes.insert(place + 1, replace(step, at=step.at + len(step.data)))
        if chance.random() < 0.5:
            changes.append(changes.pop(place + 1))


def _reorder(changes: list[Step], writes: list[int], chance: Random) -> None:
    """Two writes that arrive in the other order, or at each other's places."""
    first = chance.randrange(len(writes))
    second = min(first + chance.randint(1, 3), len(writes) - 1)
    one, other = changes[writes[first]], changes[writes[second]]
    if chance.random() < 0.5:
        changes[writes[first]], changes[writes[second]] = other, one
    else:
        changes[writes[first]], changes[writes[second]] = replace(one, data=other.data), replace(other, data=one.data)


def _lose_rename(history: History, moment: int, chance: Random) -> Image:
    """A rename that was never done, though later changes of names were."""
    done = [number for number in history.disk.renames if history.begun <= number < moment]
    return history.disk.image(moment, lost_names={chance.choice(done)} if done else ())


DAMAGE: dict[str, Callable[[History, int, Random], Image]] = {
    "flipped bits": _flip,
    "zeroed sectors": _zero,
    "file cut": _cut,
    "file missing": _miss,
    "file of another crawl": _foreign,
    "file of another time": _stale,
    "files swapped": _swap,
    "write lost": _otherwise(_lose),
    "write torn": _otherwise(_tear),
    "write misdirected": _misdirect,
    "write duplicated": _otherwise(_double),
    "writes reordered": _otherwise(_reorder),
    "rename lost": _lose_rename,
}
