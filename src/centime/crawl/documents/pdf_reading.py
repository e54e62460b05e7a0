"""The process that reads the texts of PDFs (by PDFium, the extra `centime[pdf]`), with limits on everything.

    python -m centime.crawl.documents.pdf_reading SOCKET        (`processes/child.py`)

PDFium is native code for a format in which a file can contain anything. So it runs in a process that has no environment
and opens nothing once it runs: documents come through its socket. Memory has a limit, and the requesting process kills
this one when a document takes too long (`examiner.py`).
"""

import asyncio
import os
import resource

from centime.crawl.documents.examining import MOST_MEMORY, Examined, Task, unpack_tasks
from centime.processes.channel import LENGTH
from centime.processes.child import Work, serve_crawl
from centime.processes.memory_limit import limit_memory
from centime.search.page_text import LONGESTTITLE, MOST_CHARACTERS
from centime.shard.message import pack
from centime.warehouse.loader import State

TITLE = "centime-pdf"
_HYPHEN = "\ufffe"  # what PDFium writes for a hyphen at the end of a line
_PASSWORD, _SECURITY = 4, 5  # errors of PDFium: FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY
_ENDS = (".", "!", "?", ":", ";")  # of lines with which a paragraph ends


def read_pdf(body: bytes) -> tuple[str, list[str]]:
    """The title of a PDF, and its paragraphs."""
    from pypdfium2 import PdfDocument

    document = PdfDocument(body)
    paragraphs: list[str] = []
    size = 0
    for page in document:
        found = paragraphs_of(page.get_textpage().get_text_range())
        paragraphs += found
        size += sum(map(len, found))
        page.close()
        if size >= MOST_CHARACTERS:
            break
    title = " ".join(str(document.get_metadata_dict().get("Title", "")).split())
    return title[:LONGESTTITLE], paragraphs


def paragraphs_of(text: str) -> list[str]:
    """The paragraphs of a page: lines that belong together. A PDF has lines only; an empty line ends a paragraph, and
    so does a line that ends like a sentence.
    """
    paragraphs, lines = [], []
    for line in [*text.replace(_HYPHEN, "").splitlines(), ""]:
        words = " ".join(line.split())
        lines += [words] if words else []
        if lines and (not words or words.endswith(_ENDS)):
            paragraphs.append(" ".join(lines))
            lines = []
    return paragraphs


async def _examine(task: Task, writer: asyncio.StreamWriter) -> None:
    try:
        title, paragraphs = read_pdf(task.body or b"")
        found = Examined(task.url, facts={"title": title}, found=paragraphs, count=len(paragraphs))
    except Exception as error:  # of PDFium, which has classes of its own
        found = Examined(task.url, State.GIVEN_UP, _reason(error))
    answer = pack(found)
    writer.write(LENGTH.pack(len(answer)) + answer)


def _reason(error: Exception) -> str:
    """Why a PDF has no text."""
    if isinstance(error, MemoryError):
        return "it takes more memory than a document may"
    if (code := getattr(error, "err_code", None)) == _PASSWORD:
        return "it is encrypted, and needs a password"
    if code == _SECURITY:
        return "it is encrypted in a way that PDFium does not support"
    return f"it is broken ({error})"[:500]


async def _serve(settings: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    import pypdfium2  # noqa: F401  # while files can be opened

    os.environ.clear()
    limit_memory(MOST_MEMORY)
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        resource.setrlimit(limit, (0, 0))
    await Work().run(reader, unpack_tasks, lambda task: _examine(task, writer))


if __name__ == "__main__":
    serve_crawl(_serve, TITLE)
