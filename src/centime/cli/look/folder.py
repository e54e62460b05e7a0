"""The argument that all commands have which look at a crawl."""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's folder; the crawl may be running.")]
