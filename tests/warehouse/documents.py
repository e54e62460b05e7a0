"""Documents for tests: any, and such as people edit."""

import random
from collections.abc import Callable

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "item", "x:y", "größe", "a-b.c"])
VALUES = st.text(st.sampled_from("ab <>&\"'\t\n\r\u00e9\U0001f600"), max_size=6)
WORDS = ("tea", "pot", "china", "large", "cup", "of", "the", "spoon", "price", "and", "10", "3")


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&#60;").replace(">", "&gt;").replace('"', "&quot;")


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Documents in which everything occurs."""

    def element(depth: int) -> str:
        name = draw(NAMES)
        names = draw(st.lists(NAMES, unique=True, max_size=3))
        tag = name + "".join(f' {each} = "{escaped(draw(VALUES))}"' for each in names)
        pieces = draw(st.lists(st.integers(0, 6 if depth < 4 else 4), max_size=4))
        made: dict[int, Callable[[], str]] = {
            0: lambda: escaped(draw(VALUES)),
            1: lambda: f"<!--{draw(VALUES).replace('-', '')}-->",
            2: lambda: f"<?p {draw(st.text('ab ', max_size=4)).strip()}?>",
            3: lambda: f"<![CDATA[{draw(VALUES)}]]>",
            4: lambda: "&e;&#x1F600;&#10;",
            5: lambda: element(depth + 1),
            6: lambda: element(depth + 1),
        }
        inside = "".join(made[piece]() for piece in pieces)
        return f"<{tag}>{inside}</{name} >" if inside or draw(st.booleans()) else f"<{tag}/>"

    root = element(0)
    place = root.index(" ") if " " in root.split(">")[0] else len(root.split(">")[0].rstrip("/"))
    declared = root[:place] + ' xmlns:x="urn:x"' + root[place:]
    return f'<?xml version="1.0"?>\n<!--first--><!DOCTYPE a [<!ENTITY e "]>\'"> <!-- ]> \' --> ]>\n{declared}<?last?>\n'


Element = list[object]
"""A name, then texts and elements."""


def edited() -> st.SearchStrategy[list[str]]:
    """Versions of one document, each edited from the one before: texts, elements that come, go and move."""
    return st.integers(0, 1 << 32).map(lambda seed: versions(random.Random(seed)))


def versions(chance: random.Random, size: int = 30, count: int = 3) -> list[str]:
    """Versions of a document of about so many elements."""
    root: Element = ["root"]
    for _ in range(size):
        chance.choice(_elements(root)).append(_made(chance))
    made = [_written(root)]
    for _ in range(count):
        for _ in range(chance.randint(1, 6)):
            _edit(root, chance)
        made.append(_written(root))
    return made


def _made(chance: random.Random) -> Element:
    text = " ".join(chance.choice(WORDS) for _ in range(chance.randint(0, 5)))
    return [chance.choice(("item", "name", "price")), *([text] if text else [])]


def _elements(root: Element) -> list[Element]:
    found = [root]
    for each in found:
        found += [child for child in each if isinstance(child, list)]
    return found


def _edit(root: Element, chance: random.Random) -> None:
    every = _elements(root)
    parent = chance.choice(every)
    place = chance.randint(1, len(parent))
    match chance.randrange(4):
        case 0:
            parent.insert(place, _made(chance))
        case 1 if len(parent) > 1:
            parent.pop(min(place, len(parent) - 1))
        case 2 if len(parent) > 1:
            moved = parent.pop(min(place, len(parent) - 1))
            target = chance.choice(_elements(root))
            target.insert(chance.randint(1, len(target)), moved)
        case _:
            parent.insert(place, chance.choice(WORDS))


def _written(node: object) -> str:
    if not isinstance(node, list):
        return str(node)
    return f"<{node[0]}>{''.join(map(_written, node[1:]))}</{node[0]}>"
