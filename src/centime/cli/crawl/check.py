"""`centime check`: verifies a crawl, or lists all errors."""

from dataclasses import asdict, fields

import typer

from centime.cli.ending import PROBLEM
from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("check")(_check)


def _check(folder: Folder, as_json: Json = False, as_csv: Csv = False) -> None:
    """Verifies a crawl: checksums, journal, money, archive.

    Verifies every checksum, replays the journal, and checks every invariant of the state: money, rows, counts, URLs.
    Exits with 0 and a list of what was verified, or with 1 and all errors: the part, the file, the byte or the page,
    and what is wrong.

    Examples:

    \b
      centime check museum
      centime check museum --json
    """
    from centime.cluster.report.checking import check_any
    from centime.crawl.check.findings import Problem

    with progress(1.0, f"checking {folder.name}", quiet=as_json) as step:
        findings = check_any(folder, lambda done, what: step(done, f"checking {what}"))
    problems = [asdict(problem) for problem in findings.problems]
    report: dict[str, object] = {
        "folder": str(folder),
        "right": not problems,
        "notes": findings.notes,
        "problems": problems,
    }
    report["proven"] = findings.proven
    people = {name: value for name, value in report.items() if value != []}
    columns = [field.name for field in fields(Problem)]
    show(report if as_json or as_csv else people, as_json=as_json, as_csv=as_csv, table="problems", columns=columns)
    if problems:
        raise typer.Exit(PROBLEM)
