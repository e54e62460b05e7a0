"""PDFs have a text where the extra is installed: in the index, in exports and on the command line."""

from pathlib import Path

import pytest

from centime.crawl.documents import page_texts as texts_of_pages
from centime.crawl.documents.page_texts import PageTexts, page_texts
from centime.crawl.documents.pdf_reading import paragraphs_of, read_pdf
from centime.search.page_text import PageText

URL, TYPE = "http://a.example/a.pdf", "application/pdf"


def pdf(*pages: tuple[str, ...]) -> bytes:
    """A PDF with these lines on its pages."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    parts = [
        "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
        f"2 0 obj<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>endobj",
        "3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj",
        "4 0 obj<</Title(Tea  and cake)>>endobj",
    ]
    for number, lines in enumerate(pages):
        drawn = "BT /F1 12 Tf 72 720 Td " + " ".join(f"({line}) Tj 0 -14 Td" for line in lines) + " ET"
        parts.append(
            f"{5 + 2 * number} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]"
            f"/Resources<</Font<</F1 3 0 R>>>>/Contents {6 + 2 * number} 0 R>>endobj"
        )
        parts.append(f"{6 + 2 * number} 0 obj<</Length {len(drawn)}>>stream\n{drawn}\nendstream endobj")
    return ("%PDF-1.4\n" + "\n".join(parts) + "\ntrailer<</Root 1 0 R/Info 4 0 R>>").encode()


def encrypted() -> bytes:
    """A PDF that needs a password."""
    secret = f"/Filter/Standard/V 1/R 2/P -4/O<{'41' * 32}>/U<{'42' * 32}>"
    return pdf(("secret",)).replace(b"trailer<<", f"trailer<</Encrypt<<{secret}>>/ID[<43><43>]".encode())


BODY = pdf(("Opening hours of the mu-", "seum are long.", "We sell"), ("scones",))


def test_lines_of_a_pdf_become_paragraphs() -> None:
    assert read_pdf(BODY) == ("Tea and cake", ["Opening hours of the museum are long.", "We sell", "scones"])
    assert paragraphs_of("one\r\ntwo.\r\n\r\n three \r\n\r\nfour") == ["one two.", "three", "four"]


def test_pdfs_are_read_by_another_process_which_outlives_broken_ones(tmp_path: Path) -> None:
    with page_texts(tmp_path) as texts:
        broken = texts.of(b"%PDF-1.4 nothing", TYPE, URL)
        assert (broken.kind, broken.text) == ("pdf", "")
        assert broken.trouble.startswith("it is broken (Failed to load")
        assert texts.of(encrypted(), TYPE, URL).trouble == "it is encrypted, and needs a password"
        found = texts.of(BODY, TYPE, URL)
        assert (found.kind, found.title) == ("pdf", "Tea and cake")
        assert found.text.splitlines()[0] == "Opening hours of the museum are long."
        assert texts.of(b"<p>tea", "text/html", URL).text == "tea"


def test_without_the_extra_pdfs_have_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_of_pages, "reads_pdf", lambda: False)
    assert PageTexts(tmp_path).of(BODY, TYPE, URL) == PageText("pdf", trouble="pip install 'centime[pdf]' reads PDFs")


def test_a_pdf_that_a_limit_stops_says_which_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with page_texts(tmp_path) as texts:
        assert texts.of(BODY, TYPE, URL).text
        with monkeypatch.context() as changed:
            changed.setattr(texts._examiner, "_seconds", 0.0)
            assert texts.of(BODY, TYPE, URL).trouble == "it takes more than 0 seconds"
        with monkeypatch.context() as changed:
            changed.setattr(texts_of_pages, "MOST_PDF_BYTES", 0)
            assert texts.of(BODY, TYPE, URL).trouble == "it has more than 0 MiB"
        found = texts.of(BODY, TYPE, URL)
        assert found.text
        assert not found.trouble


def test_a_pdf_behind_other_bytes_is_read_and_its_source_is_never_its_text(tmp_path: Path) -> None:
    with page_texts(tmp_path) as texts:
        for content_type in (TYPE, "application/octet-stream", ""):
            found = texts.of(b"junk\n" * 100 + BODY, content_type, URL)
            assert (found.kind, found.title) == ("pdf", "Tea and cake")
            assert "junk" not in found.text
