"""Whatever the function of a user's program raises is one line of text, which a visit can hold."""

from pathlib import Path

import pytest

from centime.crawl.worker.hook import FAILED, FetchedPage, called, load_hook
from centime.model.document import Document
from centime.model.errors import BadSetting
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response

RESPONSE = Response(url="http://a.example/", outcome=Outcome.READ)
DOCUMENT = Document(kind=PageKind.HTML)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (ValueError("\udcff" * 2), r"ValueError: \udcff\udcff"),
        (Unspeakable(), "Unspeakable: its message cannot be read (KeyboardInterrupt)"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (ValueError("\udcff" * 1000), r"ValueError: \udcff"),
    ],
)
def test_what_a_hook_raises_is_a_text_that_can_be_stored(trouble: BaseException, said: str) -> None:
    def hook(page: FetchedPage) -> None:
        raise trouble

    detail = called(hook, RESPONSE, DOCUMENT)
    assert detail.startswith(FAILED + said)
    assert len(detail.encode()) <= 200


def test_a_module_that_ends_the_program_when_it_is_imported_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys; sys.exit(3)")
    with pytest.raises(BadSetting, match="cannot be imported: SystemExit: 3"):
        load_hook(f"{tmp_path}/mine.py:f")
