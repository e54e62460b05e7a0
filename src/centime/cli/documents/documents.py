"""`centime documents`: the XML documents of a crawl."""

from pathlib import Path
from typing import Annotated, Any

import typer

from centime.cli.look.folder import Folder
from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress
from centime.model.errors import BadSetting


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("documents")(_documents)


def _documents(
    folder: Folder,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="Only documents in this state, such as valid or waiting. Repeatable."),
    ] = None,
    dtd: Annotated[str, typer.Option(metavar="ID", help="Only documents whose DTD identifiers contain this.")] = "",
    root: Annotated[str, typer.Option(metavar="NAME", help="Only documents with this root element.")] = "",
    namespace: Annotated[str, typer.Option(metavar="URI", help="Only documents that use this namespace.")] = "",
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="XML catalog of files for DTDs and entities. Repeatable."),
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="Documents to list.")] = 20,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Lists XML documents: validity, DTD, root, size.

    Documents are loaded with their DTDs and entities if the crawl has stored them: --keep stores documents, and --parts
    also what they need from other hosts. The first call loads all documents, later calls only those that changed. Parts
    that are not stored are taken from XML catalogs of this machine: those that --catalog names, and /etc/xml/catalog.

    States: valid, invalid, well formed (without a document type), waiting (for parts that are not stored), not well
    formed, given up.

    Examples:

    \b
      centime documents museum
      centime documents museum --state invalid --state waiting -n 100
      centime documents museum --root rss --json
    """
    from centime.cluster.report.parts import parts_of
    from centime.crawl.documents.catalog import filtered, xml_pages
    from centime.crawl.documents.summary import summary
    from centime.warehouse.loader import State
    from centime.warehouse.xml_catalog import XmlCatalogs

    known = [one.value for one in State]
    for one in state or ():
        if one not in known:
            raise BadSetting(f"the state of a document is one of {', '.join(known)}, not {one!r}")
    if count < 0:
        raise BadSetting(f"--count must be at least 0, not {count}")
    XmlCatalogs(catalog or ()).check()
    parts = parts_of(folder)
    with progress(sum(len(xml_pages(one)) for one in parts.readers), "loading documents", quiet=as_json) as step:
        entries = list(
            filtered(parts.documents(step, catalog or ()), states=state or (), dtd=dtd, root=root, namespace=namespace)
        )
    rows: list[dict[str, Any]] = [
        {
            "importance": entry.importance,
            "state": entry.state.value,
            "bytes": entry.bytes,
            "root": entry.facts.get("root", ""),
            "url": entry.url,
            "problem": "; ".join([entry.error, *(f"lacks {url}" for url in entry.wanted[:3])]).strip("; "),
            **({"facts": entry.facts, "wanted": entry.wanted} if as_json else {}),
        }
        for entry in entries[:count]
    ]
    show({**summary(parts.readers, entries), "list": rows or "none"}, as_json=as_json, as_csv=as_csv, table="list")
