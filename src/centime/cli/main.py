"""The command `centime`: its own options, and the commands, each registered by the module of its name.

A command's module imports nothing heavy at its top: kernels and plotting are loaded inside the command, so that
`centime --help` is instant.
"""

import sys
from importlib import import_module
from typing import Annotated

import typer

import centime
from centime.cli.ending import run

COMMANDS = {  # by folder, in the order in which help shows them
    "crawl": ("crawl", "set", "check"),
    "look": ("top", "page", "hosts", "stats", "export", "bodies"),
    "fresh": ("plan", "changes", "subscribe", "publish", "replay"),
    "rank": ("rank", "convert"),
    "analyse": ("energy", "explain", "whatif", "promotion", "sensitivity"),
    "lab": ("demo", "webbox", "lab"),
}

app = typer.Typer(add_completion=False, invoke_without_command=True, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"centime {centime.__version__}")
        raise typer.Exit


@app.callback()
def _centime(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and end.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error instead of one sentence.")
    ] = False,
) -> None:
    """Page importance on-line, with a certified error.

    Every known page holds money; reading a page pays its links; the flow of money through a page is its importance.

    Examples:

    \b
      centime rank links.csv.gz
      centime lab --help
      centime lab convergence --pages 20000 --out figures
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for folder, names in COMMANDS.items():
    for name in names:
        import_module(f"centime.cli.{folder}.{name}").register(app)


def main() -> None:
    """Runs the command line of this process and ends it with the command's exit code."""
    sys.exit(run(app, sys.argv[1:]))
