"""The proposed sites as records of Dublin Core, for the catalogue of a library: XML, JSON or CSV by the file's suffix.

    dc:identifier    the URL of the most important page         dc:title       its title, if the page is stored
    dc:publisher     the host name or domain                    dc:language    languages of the sampled pages
    dc:type          Collection                                 dc:format      media types by kind, with counts
    dc:date          first and last visit, as first/last        dc:relation    the name of the crawl
    dc:description   why it is proposed                         dcterms:extent pages and bytes

A suffix .txt gives the names of the sites alone, one in each line, which `centime export --sites` takes. A file appears
when it is complete.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from centime.crawl.report.opening import moment
from centime.crawl.sites.selection import Selection
from centime.files.replacement import replacing_file
from centime.model.errors import BadInput
from centime.model.spreadsheet import csv_lines

FORMS = (".xml", ".json", ".csv", ".txt")
DC, TERMS = "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"
TYPES = {"html": "text/html", "xml": "application/xml", "dtd": "application/xml-dtd", "other": "other"}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Record = dict[str, str | list[str]]


def check_metadata(path: Path, folder: Path) -> None:
    """BadInput if metadata cannot be written to this file."""
    if path.suffix.lower() not in FORMS:
        raise BadInput(f"{path}: the name of a file of metadata ends in {', '.join(FORMS[:-1])} or {FORMS[-1]}")
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no such folder")
    if path.is_dir():
        raise BadInput(f"{path}: this is a directory")
    if path.resolve().is_relative_to(folder.resolve()):
        raise BadInput(f"{path}: this is inside the crawl's own folder; write to another folder")


def write_metadata(selection: Selection, crawl: str, path: Path) -> None:
    """Writes the records of the proposed sites."""
    made = records(selection, crawl)
    names = [selection.sites.names[site] for site in selection.proposal.chosen]
    match path.suffix.lower():
        case ".xml":
            lines: Iterator[str] = _xml(made)
        case ".json":
            lines = iter([json.dumps(made, ensure_ascii=False, indent=1) + "\n"])
        case ".csv":
            rows = [{"site": name, **_flat(record)} for name, record in zip(names, made, strict=True)]
            lines = csv_lines(("site", *_COLUMNS), rows)
        case _:
            is_domain = selection.facts["formed_by"] == "domain"
            lines = (f"{'*.' * is_domain}{name}\n" for name in names)
    with replacing_file(path) as file:
        for line in lines:
            file.write(line.encode(errors="replace"))


def records(selection: Selection, crawl: str) -> list[Record]:
    """A record for each proposed site, the best first."""
    sites, made = selection.sites, []
    for site, why in zip(selection.proposal.chosen, selection.reasons, strict=True):
        kinds = {TYPES[kind]: int(counts[site]) for kind, counts in sites.kinds.items() if counts[site]}
        dates = [moment(float(times[site])) for times in (sites.first, sites.last)]
        pages, size = int(sites.values["pages"][site]), round(float(sites.values["bytes"][site]))
        found = int(sites.found[site])
        record: Record = {
            "dc:identifier": sites.fronts[site],
            "dc:title": sites.titles[site] or sites.names[site],
            "dc:publisher": sites.names[site],
            "dc:language": list(sites.languages[site]),
            "dc:type": "Collection",
            "dc:format": [f"{name} ({count})" for name, count in kinds.items()],
            "dc:date": "/".join(dict.fromkeys(date for date in dates if date)),
            "dc:relation": crawl,
            "dc:description": why,
            "dcterms:extent": f"{pages} pages known, {found} found with {size} bytes",
        }
        made.append({name: value for name, value in record.items() if value})
    return made


_COLUMNS = (
    *(f"dc:{name}" for name in ("identifier", "title", "publisher", "language", "type", "format", "date", "relation")),
    "dc:description",
    "dcterms:extent",
)


def _flat(record: Mapping[str, str | Sequence[str]]) -> dict[str, object]:
    return {name: value if isinstance(value, str) else "; ".join(value) for name, value in record.items()}


def _xml(made: Sequence[Record]) -> Iterator[str]:
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<records xmlns:dc="{DC}" xmlns:dcterms="{TERMS}">\n'
    for record in made:
        yield " <record>\n"
        for name, value in record.items():
            for one in [value] if isinstance(value, str) else value:
                yield f"  <{name}>{escape(_NOT_IN_XML.sub(' ', one))}</{name}>\n"
        yield " </record>\n"
    yield "</records>\n"
