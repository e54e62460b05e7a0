"""`centime query`: an XPath over all stored pages."""

import time
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show, show_lines
from centime.cli.progress import progress
from centime.cli.visible import say, tell
from centime.model.errors import BadSetting

if TYPE_CHECKING:
    from centime.cluster.report.parts import Parts


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("query")(_query)


def _query(
    folder: Folder,
    xpath: Annotated[str, typer.Argument(metavar="XPATH", help="What to find: //price, //item[price < 100]/title.")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="Pages to look into: xml, html or any.")] = "any",
    match: Annotated[str, typer.Option(metavar="REGEX", help="Only pages whose URL matches.")] = "",
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Pages as they were at this time. Default: the newest.")
    ] = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="Show changes of what the XPath finds, newest first.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --changes: those seen since then: 2026-01-31, or 2h.")
    ] = None,
    xquery: Annotated[
        bool, typer.Option("--xquery", help="XPATH is an XQuery (3.1). Needs the extra centime[xquery].")
    ] = False,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="Pages, or changes, to show.")] = 10,
    results: Annotated[int, typer.Option(metavar="N", help="Results to show of each page.")] = 10,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Evaluates an XPath in stored pages.

    Pages are examined in the order of importance, until enough have results. XPath is version 1.0. In HTML, names are
    in lower case. In XML, use the prefixes that the root element declares; *[local-name()='price'] finds elements of
    any namespace. A crawl stores pages if it runs with --keep.

    Examples:

    \b
      centime query museum "//h1"
      centime query museum "//item[price < 100]/title" --kind xml --json
      centime query museum "string(//title)" --match /news/ --at 2026-01-31 -n 50
      centime query museum "//price" --changes --since 1d
      centime query museum "for $i in //item order by $i/price return $i/title" --xquery
    """
    from centime.cluster.report.parts import parts_of
    from centime.crawl.documents.querying import check_query, facts_of_answer, query
    from centime.crawl.documents.xquery import query_by_xquery
    from centime.crawl.report.bodies import digits_of
    from centime.crawl.report.changes import time_of

    if count < 1 or results < 1:
        raise BadSetting("--count and --results must be at least 1")
    if not xquery:
        check_query(xpath)
    elif changes:
        raise BadSetting("--changes works with an XPath, not with --xquery")
    if at is not None:
        digits_of(at)
    if changes and (at is not None or kind != "any"):
        raise BadSetting("--changes works with --match and --since, not with --at or --kind")
    if since is not None and not changes:
        raise BadSetting("--since needs --changes")
    first = 0.0 if since is None else time_of(since, time.time())
    opened = parts_of(folder)
    if changes:
        _show_changes(opened, xpath, match, first, count, results, as_json=as_json, as_csv=as_csv)
        return
    pages = opened.pages_to_query("" if xquery else xpath, kind, match, at=at)
    examined = 0

    with progress(pages.most, "examining pages", quiet=as_json) as step:

        def counted(done: int) -> None:
            nonlocal examined
            examined += done
            step(done)

        rows, troubles, troubled = [], [], 0
        ask = query_by_xquery if xquery else query
        for answer in pages.answers(lambda part, some: ask(part, xpath, some, kind=kind, at=at, step=counted)):
            if answer.total:
                rows.append(facts_of_answer(answer, results))
                if len(rows) == count:
                    break
            else:
                troubled += 1
                if troubled <= count:
                    troubles.append(facts_of_answer(answer, results))
    if as_csv:
        show({"results": rows}, as_json=as_json, as_csv=True, table="results")
        return
    if as_json:
        looked = {"pages": pages.most, "by_index": pages.by_index, "examined": examined}
        show({**looked, "results": rows, "troubled": troubled, "troubles": troubles}, as_json=True)
        return
    for row in rows + troubles:
        tell(f"{row['importance']:.6g}  {row['url']}" + (f"  ({row['count']} results)" if row["count"] > 1 else ""))
        for result in row.get("found", ()):
            tell(_indented(result, "    "))
        if "trouble" in row:
            tell(f"    trouble: {row['trouble']}")
    if troubled > len(troubles):
        say(f"{troubled - len(troubles)} more pages could not be examined completely and have no result; see -n")
    if not rows:
        say(f"no stored page has a result; {examined} were examined")


def _show_changes(
    opened: "Parts",
    xpath: str,
    match: str,
    since: float,
    count: int,
    results: int,
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    with progress(opened.known, "looking for versions", quiet=as_json) as step:
        pairs = opened.stored_pairs(match, since, step)
    seen = sum(map(len, pairs))
    with progress(seen, "examining changes", quiet=as_json) as step:
        rows = list(islice(opened.changed_results(xpath, pairs, step), count))
    for row in rows:
        row |= {"old": row["old"][:results], "new": row["new"][:results]}
    if as_json or as_csv:
        show({"seen": seen, "changes": rows}, as_json=as_json, as_csv=as_csv, table="changes")
        return
    for row in rows:
        tell(f"{row['seen']}  {row['url']}")
        old = [(_indented(one, "  - "), "red") for one in row["old"]]
        show_lines([*old, *((_indented(one, "  + "), "green") for one in row["new"])])
    if not rows:
        say(f"what the XPath finds has not changed; {seen} changes of stored pages were examined")


def _indented(result: str, first: str) -> str:
    """A result of several lines, indented like the prefix of its first line."""
    return first + result.replace("\n", "\n" + " " * len(first))
