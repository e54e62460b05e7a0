"""The three files of an experiment: NAME.png, the picture, and NAME.csv (tidy) and NAME.json for other programs.

Each contains the settings of the experiment: the picture at its foot and in its text field Description, the table in
its first columns. All three are complete in memory before the first is written, and each is written atomically.
"""

import csv
import io
import json
import tempfile
from pathlib import Path

from centime.files.replacement import replacing_files
from centime.lab.experiment import Record, experiment_named
from centime.lab.picture import png
from centime.model.errors import BadInput


def prepare(folder: Path) -> None:
    """Creates the folder; raises BadInput if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as reason:
        raise BadInput(
            f"{folder}: the folder is not writable ({reason.strerror}); choose another one with --out"
        ) from None


def write(record: Record, folder: Path) -> list[Path]:
    """Writes the files of a record and returns their paths."""
    text = json.dumps(record.as_object(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    settings = json.dumps({"experiment": record.name, **record.settings, **record.versions}, ensure_ascii=False)
    picture = png(experiment_named(record.name).draw(record.findings), record.small_print(), settings)
    contents = {"png": picture, "csv": _csv(record).encode(), "json": text.encode()}
    with replacing_files(folder / f"{record.name}.png") as files:
        for ending, content in contents.items():
            files.new(folder / f"{record.name}.{ending}").write_bytes(content)
    return list(files.paths)


def _csv(record: Record) -> str:
    file = io.StringIO()
    given = {"experiment": record.name, **record.settings}
    table = csv.DictWriter(file, [*given, *record.findings.rows[0]], lineterminator="\n")
    table.writeheader()
    table.writerows({**given, **row} for row in record.findings.rows)
    return file.getvalue()
