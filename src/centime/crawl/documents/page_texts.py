"""The texts of stored bodies: `search/page_text.py` reads them, except PDFs, which a process with limits reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from centime.crawl.documents.examiner import Examiner
from centime.crawl.documents.examining import Task
from centime.search.page_text import MOST_CHARACTERS, PDF, PageText, page_text

MODULE = "centime.crawl.documents.pdf_reading"
MOST_PDF_BYTES = 64 << 20


class PageTexts:
    """Reads one text after the other. A PDF without a text gives the reason; without the extra `centime[pdf]`, every
    PDF does."""

    def __init__(self, folder: Path) -> None:
        self._examiner = Examiner(folder, module=MODULE) if reads_pdf() else None

    def of(self, body: bytes, content_type: str, url: str) -> PageText:
        """The text of a body."""
        made = page_text(body, content_type, url)
        if made.kind != PDF:
            return made
        if self._examiner is None:
            return PageText(PDF, trouble="pip install 'centime[pdf]' reads PDFs")
        if len(body) > MOST_PDF_BYTES:
            return PageText(PDF, trouble=f"it has more than {MOST_PDF_BYTES >> 20} MiB")
        found = self._examiner.examine(Task(url, body=body))
        title = str(found.facts.get("title", ""))
        trouble = found.error if found.found or found.error else "its pages have none; they may be pictures"
        return PageText(PDF, "\n".join(found.found)[:MOST_CHARACTERS], title, trouble=trouble)

    def close(self) -> None:
        """Ends the process."""
        if self._examiner is not None:
            self._examiner.close()


def reads_pdf() -> bool:
    """Whether PDFs can be read here."""
    return find_spec("pypdfium2") is not None


@contextmanager
def page_texts(folder: Path) -> Iterator[PageTexts]:
    """The texts of the bodies of a crawl, while the block runs."""
    made = PageTexts(folder)
    try:
        yield made
    finally:
        made.close()
