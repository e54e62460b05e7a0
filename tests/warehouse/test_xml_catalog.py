"""XML catalogs: identifiers lead to the files that catalogs list, and to no others."""

from pathlib import Path

import pytest

from centime.model.errors import BadInput
from centime.warehouse import xml_catalog as module
from centime.warehouse.xml_catalog import XmlCatalogs

HEAD = "<catalog xmlns='urn:oasis:names:tc:entity:xmlns:xml:catalog'"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "USUAL", Path("/no/such/catalog"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dtd" / "ent").mkdir(parents=True)
    for name in ("a.dtd", "b.dtd", "ent/x.ent"):
        (tmp_path / "dtd" / name).write_text(f"<!-- {name} -->")
    (tmp_path / "secret").write_text("secret")
    return tmp_path


def catalog(path: Path, inside: str, attributes: str = "") -> Path:
    path.write_text(f"{HEAD}{attributes}>{inside}</catalog>")
    return path


def found(catalogs: XmlCatalogs, system: str, public: str = "") -> str | None:
    part = catalogs.part(system, public)
    return None if part is None else part.decode().strip("<!-> ")


def test_identifiers_lead_to_files(folder: Path) -> None:
    entries = """
      <public publicId='-//A//DTD  X//EN' uri='dtd/a.dtd'/>
      <group xml:base='dtd/'><system systemId='http://b.example/b.dtd' uri='b.dtd'/></group>
      <rewriteSystem systemIdStartString='http://r.example/' rewritePrefix='nowhere/'/>
      <rewriteSystem systemIdStartString='http://r.example/x/' rewritePrefix='dtd/'/>
      <systemSuffix systemIdSuffix='/any/a.dtd' uri='dtd/a.dtd'/>
      <system systemId='http://c.example/c.dtd' uri='http://elsewhere.example/c.dtd'/>
      <uri name='http://d.example/d.dtd' uri='dtd/a.dtd'/>"""
    catalogs = XmlCatalogs([catalog(folder / "catalog.xml", entries)])
    catalogs.check()
    assert found(catalogs, "http://other.example/a.dtd", "-//A//DTD X//EN") == "a.dtd"
    assert found(catalogs, "http://b.example/b.dtd") == "b.dtd"
    assert found(catalogs, "http://r.example/x/ent/x.ent") == "ent/x.ent"
    assert found(catalogs, "http://s.example/any/a.dtd") == "a.dtd"
    for nothing in ("http://r.example/b.dtd", "http://c.example/c.dtd", "http://d.example/d.dtd", ""):
        assert found(catalogs, nothing) is None


def test_catalogs_name_others_and_themselves(folder: Path) -> None:
    first = catalog(
        folder / "first.xml",
        """<nextCatalog catalog='first.xml'/><nextCatalog catalog='missing.xml'/>
        <delegateSystem systemIdStartString='http://b.example/' catalog='second.xml'/>
        <delegatePublic publicIdStartString='-//B//' catalog='second.xml'/>""",
    )
    catalog(
        folder / "second.xml",
        """<system systemId='http://b.example/b.dtd' uri='dtd/b.dtd'/><public publicId='-//B//X' uri='dtd/a.dtd'/>
        <system systemId='http://c.example/b.dtd' uri='dtd/b.dtd'/>""",
    )
    catalogs = XmlCatalogs([first])
    assert found(catalogs, "http://b.example/b.dtd") == "b.dtd"
    assert found(catalogs, "http://x.example/", "-//B//X") == "a.dtd"
    assert found(catalogs, "http://c.example/b.dtd") is None, "it is not delegated"


def test_a_part_beside_one_that_was_found_is_found(folder: Path) -> None:
    named = catalog(folder / "c.xml", "<public publicId='A' uri='dtd/a.dtd'/>")
    catalogs = XmlCatalogs([named])
    assert found(catalogs, "http://x.example/d/ent/x.ent") is None
    assert found(catalogs, "http://x.example/d/a.dtd", "A") == "a.dtd"
    assert found(catalogs, "http://x.example/d/ent/x.ent") == "ent/x.ent"


@pytest.mark.parametrize("rest", ["../secret", "%2e%2e/secret", "ent/../../secret", "/../secret", "a\0b", "ent"])
def test_no_identifier_leaves_the_folder_of_a_catalog(folder: Path, rest: str) -> None:
    entries = "<rewriteSystem systemIdStartString='http://r.example/' rewritePrefix='dtd/'/>"
    catalogs = XmlCatalogs([catalog(folder / "c.xml", entries)])
    assert found(catalogs, "http://r.example/a.dtd") == "a.dtd"
    assert found(catalogs, f"http://r.example/{rest}") is None


def test_what_is_too_long_or_no_catalog_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = catalog(folder / "c.xml", "<public publicId='A' uri='dtd/a.dtd'/><public publicId='B'/>")
    for text in ("<a/>", "no XML", "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><a>&x;</a>"):
        (folder / "wrong.xml").write_text(text)
        with pytest.raises(BadInput, match="is not an XML catalog"):
            XmlCatalogs([folder / "wrong.xml"]).check()
    with pytest.raises(BadInput, match="is not an XML catalog"):
        XmlCatalogs([folder / "missing.xml"]).check()
    assert found(XmlCatalogs([folder / "missing.xml", named]), "", "A") == "a.dtd"
    monkeypatch.setattr(module, "USUAL", named)
    assert found(XmlCatalogs(), "", "A") == "a.dtd", "the usual catalog is always asked"
    size = len((folder / "dtd" / "a.dtd").read_bytes())
    monkeypatch.setattr(module, "_entries", lambda path: [("public", "A", (folder / "dtd/a.dtd").as_uri())])
    monkeypatch.setattr(module, "MOST_BYTES", size - 1)
    assert found(XmlCatalogs([named]), "", "A") is None
