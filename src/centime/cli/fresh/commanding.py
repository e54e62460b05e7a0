"""The option `--wait` of all commands that send a command to a crawl (`set`, `publish`, `subscribe`)."""

from typing import Annotated

import typer

Wait = Annotated[bool, typer.Option("--wait", help="Wait until the running crawl has applied the command.")]
