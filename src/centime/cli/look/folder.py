"""The argument DIR of all commands that open a crawl."""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the crawl, which may be running.")]
