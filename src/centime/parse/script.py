"""The files that a browser loads when a script runs, guessed from the strings in its text.

Only a browser knows what a script loads. But scripts that load files mostly contain their whole names: `import
"./a.js"`, `load("search-index.js")`, `image.src = "/b.png"`. So a string counts if it is the name of a file: one word
of URL characters whose path ends with a suffix of FILES after a letter, digit, `_` or `-`. A wrong guess costs one
request that is answered with 404; parts of names (`".js"`), patterns and templates are left out.

The strings of a script file are relative to its own URL, those of a script in a page to the page. One pass, linear.
"""

import re
from collections.abc import Iterator

_SUFFIXES = """
    js mjs css json png jpg jpeg gif svg webp avif ico cur woff woff2 ttf otf eot mp4 webm mp3 ogg wasm vtt
"""
FILES = frozenset(_SUFFIXES.split())

_STRING = re.compile(r"([\"'`])([^\"'`\s\\<>(){}\[\]|^$*]{3,300}+)\1")
_END_OF_PATH = re.compile("[?#]")


def files_of_script(text: str) -> Iterator[str]:
    """The URLs of the files that a script seems to load, as written."""
    for string in _STRING.finditer(text):
        path = _END_OF_PATH.split(string[2], maxsplit=1)[0]
        name, dot, suffix = path.rpartition(".")
        if dot and suffix.lower() in FILES and name and (name[-1].isalnum() or name[-1] in "_-"):
            yield string[2]
