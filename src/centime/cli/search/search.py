"""`centime search`: the pages of a crawl that contain words."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show, show_pieces
from centime.cli.progress import progress
from centime.cli.visible import say
from centime.model.errors import BadSetting

if TYPE_CHECKING:
    from centime.search.searcher import FoundPage


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("search")(_search)


def _search(
    folder: Folder,
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS...", help='All must be there; -word must not; "words" side by side.')
    ],
    site: Annotated[
        str, typer.Option(metavar="HOST", help="Only pages of this host, or of hosts in this domain.")
    ] = "",
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only versions first seen since: 2026-01-31, or 2h for two hours ago."),
    ] = None,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Only html, xml, text, pdf or other.")] = "",
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="Number of pages to show.")] = 10,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Finds pages that contain words, best first.

    Pages are ordered by how well they match (BM25) times their importance. It needs an index: centime index builds and
    updates it. Case and accents do not matter. Quote a phrase for the shell too.

    Examples:

    \b
      centime search museum opening hours
      centime search museum '"opening hours" -shop' --site museum.example --since 7d
      centime search museum tea --kind xml -n 50 --json
    """
    from centime.cluster.report.parts import parts_of
    from centime.crawl.report.changes import time_of
    from centime.crawl.search.finding import found_facts

    if count < 1:
        raise BadSetting(f"--count must be at least 1, not {count}")
    text = " ".join(words)
    first = time_of(since, time.time()) if since is not None else None
    with progress(1.0, f"opening {folder.name}", quiet=as_json):
        result = parts_of(folder).search(text, site=site, since=first, kind=kind, most=count)
        found, matches, behind = result.pages, result.matches, result.changed_since
    if as_json or as_csv:
        pages = [found_facts(page) for page in found]
        report = {"words": text, "matches": matches, "changed_since_index": behind, "pages": pages}
        show(report, as_json=as_json, as_csv=as_csv, table="pages")
        return
    show_pieces(_lines(found, matches))
    if behind:
        are = (
            "page has changed since the index was made"
            if behind == 1
            else "pages have changed since the index was made"
        )
        say(f"{behind} {are}; centime index {folder} brings it up to date")


def _lines(found: "list[FoundPage]", matches: int) -> Iterator[list[tuple[str, str]]]:
    """Pages for people, with the words in bold."""
    for page in found:
        yield [(page.title or page.url, "bold")]
        yield [(f"  {page.url}", "green")]
        yield [(f"  importance {page.importance:.4g}  score {page.score:.4g}  {page.kind}", "dim")]
        if page.snippet.text:
            yield [("  ", ""), *_marked(page)]
        yield []
    shown = "" if len(found) == matches else f"; these are the best {len(found)}"
    yield [(f"{matches} {'page matches' if matches == 1 else 'pages match'}{shown if found else ''}", "")]


def _marked(page: "FoundPage") -> Iterator[tuple[str, str]]:
    at = 0
    for begin, end in page.snippet.marks:
        yield page.snippet.text[at:begin], ""
        yield page.snippet.text[begin:end], "bold yellow"
        at = end
    yield page.snippet.text[at:], ""
