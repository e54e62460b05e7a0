"""`centime webbox`: serves a simulated web over HTTP on this machine until Ctrl-C."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from centime.cli.output import show
from centime.model.errors import BadInput

if TYPE_CHECKING:
    from centime.lab.webbox import WebBox
    from centime.lab.webbox.log import RequestLog


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("webbox")(_webbox)


def _webbox(
    hosts: Annotated[int, typer.Option(metavar="N", help="Sites of the web.")] = 50,
    pages: Annotated[
        int, typer.Option(metavar="N", help="Pages of the web, including dead pages and redirects.")
    ] = 10_000,
    port: Annotated[int, typer.Option(help="Port to listen on, at 127.0.0.1; 0 for any free port.")] = 8800,
    seed: Annotated[int, typer.Option(help="Random seed: the same seed gives the same web.")] = 0,
    speed: Annotated[
        float, typer.Option(metavar="X", help="Speed of the box's clock: 86400 is a day per second.")
    ] = 1.0,
    traps: Annotated[bool, typer.Option("--traps/--no-traps", help="Whether some sites have endless URLs.")] = True,
    hostile: Annotated[
        bool, typer.Option("--hostile", help="Also serve a site with everything that a crawler must survive.")
    ] = False,
    noise: Annotated[
        bool,
        typer.Option("--noise", help="Parts of every page differ at every read: advertisements, counters, tokens."),
    ] = False,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Log every request to a file: time, host, path, status.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write a JSON object at the start and one at the end.")
    ] = False,
) -> None:
    """Serves a simulated web on this machine.

    Crawl it and compare the crawl with the truth, which it serves too. Every page follows from its URL and the seed;
    pages change over time. Ctrl-C stops it.

    Examples:

    \b
      centime webbox
      centime webbox --hosts 1000 --pages 1000000 --no-traps
      centime webbox --port 0 --speed 86400 --json
      centime webbox --hostile --log requests.tsv
    """
    from centime.lab.webbox import WebBox
    from centime.lab.webbox.log import RequestLog

    webbox = WebBox(
        hosts=hosts, pages=pages, port=port, seed=seed, speed=speed, traps=traps, hostile=hostile, noise=noise
    )
    try:
        requests = None if log is None else RequestLog(log)
    except OSError as problem:
        raise BadInput(f"{log}: the file is not writable ({problem.strerror})") from problem

    import uvloop

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        uvloop.run(_serve(webbox, requests, as_json))
    finally:  # if the port is in use, uvloop ends without restoring the signal handlers
        for number, handler in before.items():
            signal.signal(number, handler)


async def _serve(webbox: "WebBox", log: "RequestLog | None", as_json: bool) -> None:
    from centime.lab.webbox.server import WebBoxServer

    server = WebBoxServer(webbox, log=log)
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    await server.start()
    show(_beginning(server.webbox), as_json=as_json)
    sys.stdout.flush()  # another program may wait for the port at a pipe
    await ended.wait()
    statistics = server.statistics()
    await server.close()
    show(statistics if as_json else _for_people(statistics), as_json=as_json)


def _beginning(webbox: "WebBox") -> dict[str, object]:
    first = webbox.url(0)
    suffix = first.removeprefix("http://site0.localhost")
    facts: dict[str, object] = {"seed_url": first, "hosts": webbox.hosts, "pages": webbox.pages, "port": webbox.port}
    facts["truth"] = f"http://truth.localhost{suffix}"
    if webbox.hostile:
        facts["hostile"] = f"http://hostile.localhost{suffix}"
    facts["crawl_it"] = f"centime crawl DIR {first} --allow-network 127.0.0.0/8 --scope any --delay 0.1"
    return facts


def _for_people(statistics: dict[str, object]) -> dict[str, object]:
    by_status = statistics["by_status"]
    assert isinstance(by_status, dict)
    return {
        **statistics,
        "by_status": ", ".join(f"{count} of {status}" for status, count in by_status.items()) or "none",
    }
