"""The command `centime`: its own options, and the commands, each registered by the module of its name.

A command's module imports nothing heavy at its top: the command itself imports kernels and plotting when it runs, so
that `centime --help` and shell completion are fast.
"""

import sys
from importlib import import_module
from keyword import iskeyword
from typing import Annotated

import typer

import centime
from centime.cli.ending import drop_unwritten, open_streams, run
from centime.cli.groups import CommandGroups, put_in_group
from centime.cli.visible import say_traceback, tell

HEADINGS = {
    "crawl": "Crawl",
    "look": "Look",
    "documents": "Documents",
    "search": "Search",
    "fresh": "Keep fresh",
    "rank": "Rank",
    "analyse": "Analyse",
    "lab": "Lab",
}
COMMANDS = {  # by folder, in the order in which help shows them
    "crawl": ("crawl", "cluster", "import", "set", "check", "repair", "prune", "upgrade"),
    "look": ("top", "page", "hosts", "stats", "refused", "select", "export", "serve"),
    "documents": ("bodies", "text", "versions", "diff", "documents", "query"),
    "search": ("index", "search"),
    "fresh": ("watch", "plan", "changes", "subscribe", "publish", "replay"),
    "rank": ("rank", "convert"),
    "analyse": ("energy", "explain", "whatif", "promotion", "sensitivity"),
    "lab": ("demo", "webbox", "lab"),
}

app = typer.Typer(
    cls=CommandGroups,
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        tell(f"centime {centime.__version__}")
        raise typer.Exit


@app.callback()
def _centime(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error instead of one sentence.")
    ] = False,
) -> None:
    """Crawls and ranks a part of the web, with a certified error.

    Every known page holds money. A visit to a page pays its links. The flow of money through a page is its importance.

    Examples:

    \b
      centime demo
      centime crawl museum https://museum.example/
      centime top museum
      centime rank links.csv.gz
      centime top --help
    """
    if context.invoked_subcommand is None:
        tell(context.get_help())


for folder, names in COMMANDS.items():
    for name in names:
        import_module(f"centime.cli.{folder}.{name}{'_' * iskeyword(name)}").register(app)
        put_in_group(app.registered_commands[-1], HEADINGS[folder])


def main() -> None:
    """Runs the command line of this process and ends it with the command's exit code."""
    sys.excepthook = say_traceback  # with --debug
    open_streams()
    code = run(app, sys.argv[1:])
    drop_unwritten()
    sys.exit(code)
