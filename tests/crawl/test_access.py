"""Headers, passwords and proxies: they arrive where they belong, nowhere else, and no report shows them."""

import base64
import json
import stat
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from centime.cli.ending import run as run_cli
from centime.cli.main import app
from centime.crawl.check.check import check_crawl
from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import settings_from
from centime.settings.secrets import FILE, Secrets, hide, read_secrets, with_secrets
from tests.crawl.served import Routes, crawled, html
from tests.fetch.hostile import Choice, answer

PASSWORD = "open sesame:!"
BASIC = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
MOVED = "302 Found"


def everything_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def site(url: str) -> Routes:
    """A site that asks for a password, and redirects to another host; the other one is this server by another name."""
    other = url.replace("127.0.0.1", "localhost")
    closed = answer(status="401 Unauthorized", WWW_Authenticate='Basic realm="x"')
    opened = html("/away", f"{other}/linked")
    return {
        "/": Choice(lambda head: opened if f"Authorization: Basic {BASIC}\r\n".encode() in head else closed),
        "/away": answer(b"", MOVED, Location=f"{other}/redirected"),
        "/linked": html(f"{other}/back"),
        "/redirected": answer(b"", MOVED, Location=f"{url}/again"),
        "/back": answer(b"", MOVED, Location=f"{url}/again"),
        "/again": html(),
    }


def test_a_password_goes_to_its_host_alone_and_is_shown_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "c"

    def routes(url: str) -> Routes:
        given["auth"] = [f"{url}=me:{PASSWORD}"]
        given["header"] = [f"{url}=X-Key: swordfish", "Accept-Language: de"]
        return site(url)

    given: dict[str, object] = {"scope": "any", "keep": "all"}
    crawl = crawled(folder, routes, "/", given=given)
    assert crawl.paths == {"/", "/away", "/linked", "/redirected", "/back", "/again"}
    for head in crawl.heads:
        mine = b"Host: 127.0.0.1" in head
        assert (BASIC.encode() in head) == mine
        assert (b"X-Key: swordfish\r\n" in head) == mine
        assert b"Accept-Language: de\r\n" in head
    assert sum(b"Host: localhost" in head for head in crawl.heads) >= 4

    secrets = folder / FILE
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert PASSWORD in json.loads(secrets.read_bytes())["auth"][0]
    for path, content in everything_in(folder).items():
        for secret in (PASSWORD, BASIC, "swordfish"):
            assert path == secrets or secret.encode() not in content, path
    archived = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import gzip,glob\nfor f in glob.glob('{folder}/bodies/*.gz'): print(gzip.open(f).read())",
        ],
        capture_output=True,
        check=True,
    ).stdout
    assert b"GET /away" in archived
    assert BASIC.encode() not in archived
    assert b"swordfish" not in archived
    for words in (["stats"], ["page"], ["check"]):
        run_cli(app, [*words, str(folder), *([crawl.url + "/"] if words == ["page"] else []), "--json"])
    said = capsys.readouterr()
    assert "me:(hidden)" in said.out
    assert PASSWORD not in said.out + said.err
    assert "swordfish" not in said.out + said.err
    assert check_crawl(folder).problems == []


def test_a_crawl_remembers_its_secrets_and_forgets_them_on_request(tmp_path: Path) -> None:
    asked = []
    for given in ({"header": ["X-Key: swordfish"]}, {}, {"header": "none"}):
        crawl = crawled(tmp_path / "c", {"/": html()}, "/", given={"refresh-after": 0.001} | given)
        asked.append([b"swordfish" in head for head in crawl.heads])
    assert [set(one) for one in asked] == [{True}, {True}, {False}]
    assert read_secrets(tmp_path / "c") == Secrets()


def test_a_cookie_without_a_host_is_for_the_host_of_the_seeds(tmp_path: Path) -> None:
    def routes(url: str) -> Routes:
        other = url.replace("127.0.0.1", "localhost")
        return {"/": html(f"{other}/there"), "/there": html()}

    given = {"scope": "any", "header": ["Cookie: session=4711"], "cookies": True}
    crawl = crawled(tmp_path / "c", routes, "/", given=given)
    assert {(b"Host: 127.0.0.1" in head, b"Cookie: session=4711\r\n" in head) for head in crawl.heads} == {
        (True, True),
        (False, False),
    }


def test_a_cookie_says_for_which_of_several_hosts_it_is() -> None:
    seeds = {"seeds": ["https://a.example/", "https://b.example/"]}
    with pytest.raises(BadSetting, match="the seeds have 2 hosts; say for which one it is: HOST=Cookie: VALUE"):
        settings_from(seeds | {"header": ["Cookie: a=b"]}, where="c")
    settings_from(seeds | {"header": ["a.example=Cookie: a=b", "Accept-Language: de"]}, where="c")


@pytest.mark.parametrize("given", [{"auth": ["a.example:81=u:p"]}, {"header": ["a.example:81=X-Key: k"]}])
def test_words_for_a_host_with_tls_are_refused_if_the_seed_has_that_port_without(given: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match=r"a.example:81 is a seed without TLS.* write http://a.example:81="):
        settings_from(given | {"seeds": ["http://a.example:81/"]}, where="c")
    settings_from(given | {"seeds": ["https://a.example:81/"]}, where="c")
    settings_from({"seeds": ["http://a.example/"], "auth": ["a.example=u:p"]}, where="c")  # it may redirect


def test_a_password_for_a_site_without_tls_goes_to_its_host_with_tls_only_if_it_is_a_cookie_of_the_seed() -> None:
    settings = settings_from(
        {"seeds": ["http://a.example/"], "header": ["Cookie: a=b"], "auth": ["http://a.example=u:p"]}, where="c"
    )
    settings, secrets = hide(settings, {"header", "auth"}, Secrets())
    lines = with_secrets(settings, secrets, {}).header_lines
    assert [(host, line.partition(":")[0]) for host, line in lines] == [
        ("http://a.example", "Cookie"),
        ("https://a.example", "Cookie"),
        ("http://a.example", "Authorization"),
    ]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("no colon", "a header is 'NAME: VALUE'"),
        ("a b: c", "a header is 'NAME: VALUE'"),
        ("a:", "a header is 'NAME: VALUE'"),
        ("a: b\r\nc: d", "one line of ASCII"),
        ("a: b\nc: d", "one line of ASCII"),
        ("a: é", "one line of ASCII"),
        ("Host: x", "Host is written by the crawler itself"),
        ("content-length: 5", "written by the crawler itself"),
        ("Transfer-Encoding: chunked", "written by the crawler itself"),
        ("User-Agent: x", "use --user-agent"),
        ("a.example/path=b: c", "HOST is museum.example"),
        ("ftp://a.example=b: c", "HOST is museum.example"),
    ],
)
def test_a_header_that_breaks_http_is_refused(header: str, said: str) -> None:
    with pytest.raises(BadSetting, match=said.replace("(", "\\(")):
        settings_from({"header": [header]}, where="c")


@pytest.mark.parametrize("auth", ["sesame", "a.example=sesame", "a.example=:sesame", "=me:sesame", "a b=me:sesame"])
def test_a_password_that_is_written_wrong_is_not_repeated(auth: str) -> None:
    with pytest.raises(BadSetting, match="HOST=USER:PASSWORD") as refused:
        settings_from({"auth": [auth]}, where="c")
    assert "sesame" not in str(refused.value)


def test_the_environment_names_proxies_and_an_option_overrides_it() -> None:
    environment = {"http": "http://one:1", "all": "http://two:2", "no": "a.example"}
    plain = with_secrets(CrawlSettings(), Secrets(), environment)
    assert plain.proxies == (("http", "http://one:1"), ("https", "http://two:2"))
    assert plain.no_proxy == "a.example"
    settings, secrets = hide(CrawlSettings(proxy="http://me:sesame@three:3"), {"proxy"}, Secrets())
    assert settings.proxy == "http://me:(hidden)@three:3"
    assert with_secrets(settings, secrets, environment).proxies[0] == ("http", "http://me:sesame@three:3")
    settings, secrets = hide(CrawlSettings(proxy="direct"), {"proxy"}, Secrets())
    assert with_secrets(settings, secrets, environment).proxies == ()
    with pytest.raises(BadSetting, match="the environment names a proxy that cannot be used"):
        with_secrets(CrawlSettings(), Secrets(), {"all": "socks5://x:1"})


def test_a_crawl_whose_secrets_are_missing_asks_for_them(tmp_path: Path) -> None:
    crawled(tmp_path / "c", {"/": html()}, "/", given={"header": ["X-Key: swordfish"]})
    (tmp_path / "c" / FILE).unlink()
    with pytest.raises(BadSetting, match=r"header: its secrets are missing in secrets.json; give --header again"):
        crawled(tmp_path / "c", {"/": html()}, "/", given={})


def test_certificates_of_a_file_that_has_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for name in ("empty.pem", "missing.pem"):
        with pytest.raises(BadSetting, match="holds no certificates that can be read"):
            settings_from({"ca-file": str(tmp_path / name)}, where="c")


def test_the_recipe_for_a_form_logs_a_crawl_in(tmp_path: Path) -> None:
    document = (Path(__file__).parents[2] / "docs" / "crawl.md").read_text()
    recipe: dict[str, Any] = {}
    exec(document.partition("```python\n")[2].partition("```")[0], recipe)
    form: list[bytes] = []

    class Site(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(302)
            self.send_header("Set-Cookie", "session=4711; Path=/; HttpOnly")
            self.send_header("Location", "/welcome")
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        header = recipe["log_in"](f"http://127.0.0.1:{server.server_port}/login", user="me", password=PASSWORD)
        server.shutdown()
    assert form == [b"user=me&password=open+sesame%3A%21"]
    inside = Choice(lambda head: html("/members") if b"Cookie: session=4711" in head else answer(b"", "403 Forbidden"))
    assert (
        "/members" in crawled(tmp_path / "c", {"/": inside, "/members": html()}, "/", given={"header": [header]}).paths
    )


def test_a_cookie_of_a_person_and_those_of_the_host_are_one_header(tmp_path: Path) -> None:
    routes: Routes = {"/": answer(b"<a href=/x>", Content_Type="text/html", Set_Cookie="b=2; Path=/"), "/x": html()}
    crawl = crawled(tmp_path / "c", routes, "/", given={"header": ["Cookie: a=1"], "cookies": True})
    assert b"Cookie: a=1; b=2\r\n" in crawl.heads[-1]
    assert crawl.heads[-1].count(b"Cookie") == 1
