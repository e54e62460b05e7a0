"""The columnar index of Common Crawl, and tables like it: Parquet files with a row for each visit, without links.

The columns are `url` and `fetch_time`; `fetch_status`, `content_digest`, `content_mime_type`, `warc_record_length` and
`fetch_redirect` if they are there. A position is a number of rows.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from centime.crawl.imports.finding import Finding, Item, Trouble, moment_of, number_of
from centime.model.arrow import arrow
from centime.model.errors import BadInput

ROWS = 8_192
_OPTIONAL = ("fetch_status", "content_digest", "content_mime_type", "warc_record_length", "fetch_redirect")


class ColumnarSource:
    """The visits of a Parquet file."""

    format = "parquet"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._at = 0
        parquet = arrow("pyarrow.parquet")
        try:
            file = parquet.ParquetFile(path)
        except (arrow().ArrowException, OSError, ValueError) as wrong:
            raise BadInput(f"{path}: this is not a complete Parquet file: {wrong}") from wrong
        names = file.schema_arrow.names
        if "url" not in names or "fetch_time" not in names:
            raise BadInput(f"{path}: its columns are {', '.join(names[:20])}; url and fetch_time are needed")
        self._columns = ["url", "fetch_time", *(name for name in _OPTIONAL if name in names)]
        self.size = int(file.metadata.num_rows)

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The visits behind a position."""
        parquet = arrow("pyarrow.parquet")
        self._at = 0
        try:
            for batch in parquet.ParquetFile(self._path).iter_batches(ROWS, columns=self._columns):
                if self._at + batch.num_rows <= position:
                    self._at += batch.num_rows
                    continue
                for row in batch.to_pylist():
                    self._at += 1
                    if self._at > position:
                        yield self._at, _finding(row)
        except (arrow().ArrowException, OSError, ValueError) as wrong:
            yield self._at, Trouble(f"what follows row {self._at} cannot be read: {wrong}")

    def place(self) -> int:
        """How far the file was read."""
        return self._at


def _finding(row: dict[str, Any]) -> Item:
    url, when = row["url"], row["fetch_time"]
    if isinstance(when, datetime):
        time = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    else:
        time = moment_of(when) if isinstance(when, str) else 0.0
    if not isinstance(url, str) or not time:
        return Trouble(f"a row has no URL or no time: {str(url)[:80]!r} {when!r}")
    status, mime = row.get("fetch_status", 200), row.get("content_mime_type")
    target = row.get("fetch_redirect")
    headers = [("content-type", mime)] if isinstance(mime, str) and "/" in mime else []
    if isinstance(target, str) and target:
        headers.append(("location", target))
    return Finding(
        url,
        time,
        number_of(status),
        tuple(headers),
        digest=str(row.get("content_digest") or ""),
        size=number_of(row.get("warc_record_length")),
    )
