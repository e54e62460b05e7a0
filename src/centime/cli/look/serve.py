"""`centime serve`: the window, a web page of crawls."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from centime.cli.log import Log, LogFormat, LogLevel, log_settings, logged, note
from centime.cli.visible import say, tell
from centime.model.errors import BadInput, BadSetting

if TYPE_CHECKING:
    from centime.serve.listening import WindowServer


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("serve")(_serve)


def _serve(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Folders of crawls, which may be running.")
    ] = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; other machines need a token.")
    ] = "127.0.0.1:8400",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of token hashes; every visitor needs a token.")
    ] = None,
    push_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML file of the endpoints that accept pushes.")
    ] = None,
    callback: Annotated[
        str, typer.Option(metavar="URL", help="Public URL of this server; subscribes to the hubs that feeds announce.")
    ] = "",
    behind_proxy: Annotated[
        bool,
        typer.Option("--behind-proxy", help="Trust the proxy in front for the client's address and TLS; see docs."),
    ] = False,
    new_token: Annotated[
        str | None, typer.Option(metavar="NAME", help="Add a token to --token-file, show it, and end.")
    ] = None,
    log: Log = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
) -> None:
    """Serves crawls as web pages, an API and metrics.

    Follows running crawls and never writes to them: commands go to the crawl through its inbox. Without --token-file it
    serves this machine only. Ctrl-C stops it.

    Examples:

    \b
      centime serve museum
      centime serve museum library --listen 127.0.0.1:9000
      centime serve --token-file tokens --new-token anna
      centime serve museum --listen 0.0.0.0:8400 --token-file tokens
      centime serve museum --token-file tokens --callback https://window.example/
    """
    if new_token is not None:
        if token_file is None:
            raise BadSetting("--new-token adds to a file: give --token-file too")
        from centime.serve.access import add_token

        tell(add_token(token_file, new_token))
        say(f"{token_file}: this is the token of {new_token}; it is shown once, and only its hash is stored")
        return
    if not folders:
        raise BadInput("give the folder of a crawl, or several")
    from centime.cli.crawl.stopping import stopped_by_signals
    from centime.serve.access import Tokens
    from centime.serve.serving import serve

    def ready(address: str, server: "WindowServer") -> None:
        servers.append(server)
        note(f"serving {', '.join(map(str, folders or []))} at {address} (Ctrl-C stops it)")

    def stop(*_: Any) -> None:
        for server in servers:
            server.should_exit = True

    servers: list[WindowServer] = []
    tokens = None if token_file is None else Tokens(token_file)
    with logged(log_settings(log, log_level, log_format)), stopped_by_signals(stop):
        serve(folders, listen, tokens, ready, push_file, callback, behind_proxy=behind_proxy)
