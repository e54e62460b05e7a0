"""Publications: announcements in all forms become commands, and URLs out of scope are named."""

import gzip
import hmac
import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.commands.publication import Publication, read_publication
from centime.model.errors import BadInput
from centime.settings.crawl import CrawlSettings
from centime.shard.people.command import column_of

SETTINGS = CrawlSettings(seeds=("https://a.example/",), exclude=("/secret/",))
SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://a.example/1</loc><lastmod>1970-01-02</lastmod><changefreq>daily</changefreq></url>
<url><loc>https://a.example/2</loc></url><url><loc>https://b.example/</loc></url></urlset>"""
INDEX = "<sitemapindex><sitemap><loc>https://a.example/s1.xml.gz</loc></sitemap></sitemapindex>"
FEED = """<feed xmlns="http://www.w3.org/2005/Atom"><updated>1970-01-03T00:00:00Z</updated>
<entry><link href="https://a.example/news"/><updated>1970-01-01T00:01:00Z</updated></entry>
<entry><link href="relative"/></entry></feed>"""


def published(*words: str, **more: Any) -> Publication:
    return read_publication(words, SETTINGS, **more)


def test_urls_are_made_canonical_and_published_once() -> None:
    found = published("https://A.example:443/x?b=1#top", "https://a.example/y", "https://a.example/x?b=1")
    assert list(found.pages) == ["https://a.example/x?b=1", "https://a.example/y"]
    assert found.refused == 0


def test_urls_out_of_scope_are_counted_and_named_with_the_reason() -> None:
    found = published(
        "https://a.example/",
        "https://b.example/",
        "https://a.example/secret/x",
        "https://a.example/p.jpg",
        "mailto://x",
    )
    assert list(found.pages) == ["https://a.example/"]
    assert found.refused == 4
    assert [row["url"] for row in found.reasons] == [
        "https://b.example/",
        "https://a.example/secret/x",
        "https://a.example/p.jpg",
        "mailto://x",
    ]
    assert "host is not one of the seeds" in found.reasons[0]["reason"]
    many = published(*[f"https://b.example/{number}" for number in range(50)])
    assert (many.refused, len(many.reasons)) == (50, 20)


def test_a_sitemap_in_a_file_is_read_with_its_times(tmp_path: Path) -> None:
    for name, body in (("s.xml", SITEMAP.encode()), ("s.xml.gz", gzip.compress(SITEMAP.encode()))):
        (tmp_path / name).write_bytes(body)
        found = published(f"sitemap:{tmp_path / name}")
        assert found.pages == {"https://a.example/1": (86_400.0, 86_400.0), "https://a.example/2": (0.0, 0.0)}
        assert found.refused == 1
        (command,) = found.commands(time=5.0, cluster="c", publisher="p")
        assert (command.source, command.cluster, command.publisher) == ("url", "c", "p")
        assert column_of(command.modified, 2).tolist() == [86_400.0, 0.0]
        assert column_of(command.periods, 2).tolist() == [86_400.0, 0.0]


def test_a_feed_in_a_file_is_read_with_its_times(tmp_path: Path) -> None:
    (tmp_path / "f.atom").write_text(FEED)
    found = published(f"feed:{tmp_path / 'f.atom'}")
    assert found.pages == {"https://a.example/news": (60.0, 0.0)}
    assert found.reasons == [{"url": "relative", "reason": "it is not the URL of a page"}]


def test_a_sitemap_or_feed_at_a_url_and_the_parts_of_an_index_are_left_to_the_crawl(tmp_path: Path) -> None:
    (tmp_path / "index.xml").write_text(INDEX)
    found = published(
        "sitemap:https://a.example/s.xml",
        "feed:https://a.example/f",
        f"sitemap:{tmp_path}/index.xml",
        "https://a.example/",
    )
    commands = found.commands(time=5.0)
    assert [(command.source, command.lines()) for command in commands] == [
        ("url", ["https://a.example/"]),
        ("sitemap", ["https://a.example/s.xml", "https://a.example/s1.xml.gz"]),
        ("feed", ["https://a.example/f"]),
    ]


def test_a_file_of_urls_has_one_per_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "u.txt").write_text("\ufeff# announced\nhttps://a.example/1\n\n  https://a.example/2  # soon\nno url\n")
    found = published(files=[str(tmp_path / "u.txt")])
    assert list(found.pages) == ["https://a.example/1", "https://a.example/2"]
    assert found.refused == 1
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"https://a.example/3\n")))
    assert list(published(files=["-"]).pages) == ["https://a.example/3"]


def test_the_form_of_indexnow_publishes_urls_of_its_own_host_only(tmp_path: Path) -> None:
    settings = CrawlSettings(seeds=("https://a.example/", "https://b.example/"))
    form = {"host": "A.example", "key": "k", "urlList": ["https://a.example/1", "https://b.example/2"]}
    (tmp_path / "i.json").write_text(json.dumps(form))
    found = read_publication([], settings, indexnow=[str(tmp_path / "i.json")])
    assert list(found.pages) == ["https://a.example/1"]
    assert "the host of the list" in found.reasons[0]["reason"]


@pytest.mark.parametrize(
    "body",
    ["", "[]", "{", '{"host": 1, "urlList": []}', '{"host": "a", "urlList": [1]}', '{"host": "a"}', "[" * 100_000],
)
def test_what_is_not_the_form_of_indexnow_is_refused(body: str, tmp_path: Path) -> None:
    (tmp_path / "i.json").write_text(body)
    with pytest.raises(BadInput, match="IndexNow form"):
        published(indexnow=[str(tmp_path / "i.json")])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to publish"),
        (["a.example/x"], "is not a URL; give a file of URLs with -f"),
        (["sitemap:nowhere.xml"], "nowhere.xml: cannot be read: No such file"),
        (["feed:pyproject.toml"], "pyproject.toml"),
    ],
)
def test_an_argument_that_can_only_be_a_mistake_is_an_error(words: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        published(*words)


def test_a_truncated_sitemap_gives_the_entries_before_the_cut_and_a_trouble(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(SITEMAP.partition("<url><loc>https://a.example/2")[0])
    found = published(f"sitemap:{tmp_path / 's.xml'}")
    assert list(found.pages) == ["https://a.example/1"]
    assert found.troubles


@given(body=st.binary(max_size=200), kind=st.sampled_from(["sitemap", "feed", "file", "indexnow"]))
def test_no_file_can_harm(body: bytes, kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("files") / "f"
    path.write_bytes(body)
    try:
        match kind:
            case "file":
                found = published(files=[str(path)])
            case "indexnow":
                found = published(indexnow=[str(path)])
            case _:
                found = published(f"{kind}:{path}")
    except BadInput:
        return
    assert all(url.startswith("https://a.example/") for url in found.pages)


def hub_post(tmp_path: Path) -> str:
    body = FEED.replace(
        "<updated>1970-01-03", '<link rel="self" href="https://a.example/feeds/all.atom"/><updated>1970-01-03'
    )
    (tmp_path / "posted.atom").write_text(body)
    (tmp_path / "secret").write_text("s3cret\n")
    return body


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_the_post_of_a_hub_is_published_if_its_signature_is_right(tmp_path: Path, method: str) -> None:
    body = hub_post(tmp_path)
    expected = {"https://a.example/news": (60.0, 0.0), "https://a.example/feeds/relative": (0.0, 0.0)}
    assert read_publication([], SETTINGS, websub=f"{tmp_path}/posted.atom").pages == expected
    signed = {"websub": f"{tmp_path}/posted.atom", "secret_file": f"{tmp_path}/secret"}
    right = hmac.new(b"s3cret", body.encode(), method).hexdigest()
    assert read_publication([], SETTINGS, **signed, signature=f"{method.upper()}={right.upper()}").pages == expected
    wrong = hmac.new(b"s3cret!", body.encode(), method).hexdigest()
    for bad in (wrong, right[:-1], "é" * len(right)):
        with pytest.raises(BadInput, match="signature does not match"):
            read_publication([], SETTINGS, **signed, signature=f"{method}={bad}")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"signature": "sha256=00"}, "give both --signature and --secret-file, or neither"),
        ({"secret_file": "secret"}, "give both --signature and --secret-file, or neither"),
        ({"signature": "md5=00", "secret_file": "secret"}, "'md5=00' is not the signature of a hub"),
        ({"signature": "sha256", "secret_file": "secret"}, "'sha256' is not the signature of a hub"),
        ({"signature": "sha256=00", "secret_file": "empty"}, "empty: contains no secret"),
        ({"signature": "sha256=00", "secret_file": "missing"}, "missing: cannot be read"),
        ({"websub": "secret"}, "secret: "),
    ],
)
def test_a_post_that_cannot_be_verified_or_is_no_feed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], message: str
) -> None:
    hub_post(tmp_path)
    (tmp_path / "empty").write_text("\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=re.escape(message)):
        read_publication([], SETTINGS, **{"websub": "posted.atom", **given})
