"""Whether a crawl with `--keep all --requisites` holds everything that a browser needs: real documentation, replayed.

    python -m bench.replay [PART ...] [--json]

nginx serves the documentation of Python (Sphinx) and of OpenJDK (javadoc), which Debian packages. Centime crawls it.
Then (a) Chromium loads a sample of its pages, and the archive must hold every file that it asks the server for; (b) the
archive must hold every file that `wget --mirror --page-requisites` gets; (c) the server ends, pywb replays the archive
from the index that Centime wrote, and Chromium loads the same pages from it: nothing may be missing. Chromium, wget and
pywb, in an environment of its own, are fetched first; nothing but loopback is contacted afterwards.

`recorded` goes the other way: pywb records pages of a small site, with a redirect, a missing page and one that was
recorded twice, and `centime import` must take every visit and find every body in the file that pywb wrote."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.crawl_server import CACHE, UNPACKED, NotToBeHad, free_port, nginx, running, unpack, wait_for
from bench.figure import Figure
from bench.replay_browser import Loaded, chromium, sample
from bench.report import Benchmarks, run_parts
from centime.crawl.engine.opening import open_writer
from centime.crawl.imports.importing import importing
from centime.crawl.report.bodies import captures_of, typed_body_of
from centime.store.archives.captures import Capture, capture_of
from centime.store.archives.url_key import url_key

SETS = {"python": "usr/share/doc/python3.11/html", "java": "usr/share/doc/openjdk-17-jre-headless"}
PACKAGES = ("nginx", "python3.11-doc", "openjdk-17-doc", "libjs-jquery", "libjs-jquery-ui", "libjs-underscore")
PYWB = ("pywb==2.10.0", "setuptools<81")  # it needs pkg_resources, which later ones do not have
PAGES = 30  # of each set that Chromium loads
SEARCH = ("python/search.html", "python/genindex.html", "java/api/index.html", "java/api/allclasses-index.html")
LOGGED = """log_format asked '$status $request_uri $http_user_agent';
    access_log {log} asked;
    types {{
        text/html html; text/plain txt; text/css css; text/javascript js; image/png png; image/gif gif; image/jpeg jpg;
        image/svg+xml svg; image/x-icon ico; application/json json; font/woff2 woff2; application/pdf pdf;
    }}"""
# What pywb is asked for: a URL, perhaps without its scheme, perhaps after a time and the kind of file.
_REPLAYED = re.compile(r"/docs/(?:\d*(?:[a-z]{2}_)?/)?(?:https?:)?(//.*)")


@dataclass(frozen=True, slots=True)
class Site:
    """The documentation while it is served."""

    url: str
    log: Path

    def asked(self, agent: str) -> dict[str, int]:
        """The paths that programs of this name asked for, and the status of each."""
        lines = [line.split(" ", 2) for line in self.log.read_text().splitlines()]
        return {path: int(status) for status, path, name in lines if agent in name}


def replay() -> Iterator[Figure]:
    """The figures of all parts."""
    try:
        tree, pywb = _tree(), _pywb()
        with tempfile.TemporaryDirectory(prefix="replay-") as folder:
            yield from _replay(tree, pywb, Path(folder))
    except NotToBeHad as error:
        yield Figure(f"left out: {error}", float("nan"), "")


def _replay(tree: Path, pywb: Path, folder: Path) -> Iterator[Figure]:
    with _served(tree, folder) as site:
        facts = _crawled(site, folder)
        yield Figure("pages and requisites read by Centime", facts["read"], "")
        yield Figure("requisites among them", facts["requisites"], "")
        captures = _captures(folder / "crawl" / "bodies")
        held = {url_key(one.url) for one in captures if one.document or one.revisit}
        pages = _pages(site, captures)
        with chromium() as browser:
            live = [browser.load(url) for url in pages]
        yield from _compared("Chromium", site.url, site.asked("HeadlessChrome"), held, len(pages))
        outside = {url for page in live for url in page.asked if _is_outside(url, site.url)}
        yield Figure("other hosts that the pages ask for, all refused", len(outside), "files")
        _mirrored(site, folder / "wget")
        yield from _compared("wget --mirror -p", site.url, site.asked("Wget"), held, 0)
    with _replayed(pywb, folder) as served, chromium() as browser:
        again = [browser.load(f"{served}/docs/mp_/{url}") for url in pages]
    yield from _missing(live, again, served, site.url)


def _compared(who: str, url: str, asked: dict[str, int], held: set[str], pages: int) -> Iterator[Figure]:
    """What a program asked the server for and got, and how much of it the archive lacks."""
    got = {path for path, status in asked.items() if status < 400 and path != "/robots.txt"}
    missing = sorted(path for path in got if url_key(url + path) not in held)
    for path in missing[:10]:
        print(f"{who}: not in the archive: {path}", file=sys.stderr)
    if pages:
        yield Figure(f"pages that {who} loaded", pages, "")
    yield Figure(f"{who}: asked for and got from the server", len(got), "files")
    yield Figure(f"{who}: held by the archive", len(got) - len(missing), "files")
    yield Figure(f"{who}: missing in the archive", len(missing), "files", "at most", 0.0)


def _missing(live: list[Loaded], again: list[Loaded], served: str, url: str) -> Iterator[Figure]:
    """What the replayed pages asked for, and what of it could not be had, although the server has it."""
    errors = {one for page in live for one, status in page.asked.items() if status >= 400}
    asked, missing, escaped = set[str](), set[str](), set[str]()
    for page in again:
        for one, status in page.asked.items():
            archived = _REPLAYED.search(one) if one.startswith(served) else None
            if archived:
                original = f"http:{archived[1]}"
                asked.add(original)
                if not 200 <= status < 400 and original not in errors and original.startswith(url):
                    missing.add(original)
            elif _is_outside(one, served) or (one.startswith(served) and not 200 <= status < 400):
                # what pywb could not rewrite it redirects, so that it is asked for again
                escaped.add(one)
    for one in sorted(missing)[:10]:
        print(f"replay: missing: {one}", file=sys.stderr)
    for one in sorted(escaped)[:10]:
        print(f"replay: asked for outside the archive: {one}", file=sys.stderr)
    wanted = {one for page in live for one, status in page.asked.items() if one.startswith(url) and 200 <= status < 400}
    yield Figure("replay: pages loaded to their end", sum(page.complete for page in again), "", "at least", len(again))
    yield Figure("replay: files asked for", len(asked), "")
    yield Figure("replay: files that the live pages asked for", len(wanted), "")
    yield Figure("replay: of these, not asked for again", len(_keys(wanted) - _keys(asked)), "files", "at most", 0.0)
    yield Figure("replay: missing files", len(missing), "", "at most", 0.0)
    yield Figure("replay: files asked for outside the archive", len(escaped), "", "at most", 0.0)


def _keys(urls: set[str]) -> set[str]:
    return {url_key(url) for url in urls}


def _is_outside(url: str, home: str) -> bool:
    return url.startswith(("http://", "https://")) and not url.startswith(home)


def _crawled(site: Site, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "centime", "crawl", str(folder / "crawl"), f"{site.url}/"]
    options = ["--keep", "all", "--requisites", "--delay", "0", "--allow-network", "127.0.0.0/8", "--json"]
    subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    look = [sys.executable, "-m", "centime", "stats", str(folder / "crawl"), "--json"]
    facts = json.loads(subprocess.run(look, check=True, capture_output=True).stdout)
    return {"read": facts["read"], "requisites": facts["requisites"]["read"]}


def _captures(bodies: Path) -> list[Capture]:
    return [capture_of(line) for index in sorted(bodies.glob("*.cdxj")) for line in index.open("rb")]


def _pages(site: Site, captures: list[Capture]) -> list[str]:
    """A sample of the archived pages of each set, and its pages with much script."""
    pages = sorted({one.url for one in captures if one.document and one.mime == "text/html"})
    chosen = [f"{site.url}/", *(f"{site.url}/{name}" for name in SEARCH)]
    for name in SETS:
        chosen += sample([url for url in pages if url.startswith(f"{site.url}/{name}/")], PAGES)
    return list(dict.fromkeys(chosen))


def _mirrored(site: Site, folder: Path) -> None:
    command = ["wget", "--mirror", "--page-requisites", "--no-proxy", "--no-verbose", "-P", str(folder), f"{site.url}/"]
    try:
        subprocess.run(command, capture_output=True, timeout=1800)  # ends with 8 if one file was not there
    except FileNotFoundError:
        raise NotToBeHad("wget is not installed") from None


@contextmanager
def _served(tree: Path, folder: Path) -> Iterator[Site]:
    """nginx with the documentation, while the block runs."""
    log = folder / "access.log"
    with nginx(tree, folder / "nginx", LOGGED.format(log=log)) as (port, _):
        yield Site(f"http://127.0.0.1:{port}", log)


@contextmanager
def _replayed(pywb: Path, folder: Path) -> Iterator[str]:
    """pywb with the archive, while the block runs."""
    work, port, bodies = folder / "pywb", free_port(), folder / "crawl" / "bodies"
    work.mkdir()
    collection = {"index_paths": f"{bodies}/", "archive_paths": f"{bodies}/"}
    settings = {"framed_replay": False, "collections": {"docs": collection}}
    (work / "config.yaml").write_text(json.dumps(settings))  # JSON is YAML too
    command = [str(pywb / "bin" / "wayback"), "-p", str(port), "-b", "127.0.0.1", "-d", str(work)]
    with running(["sh", "-c", 'exec "$0" "$@" >/dev/null 2>&1', *command]):
        wait_for(port, 60.0)
        yield f"http://127.0.0.1:{port}"


def _tree() -> Path:
    """The folder with the documentation, fetched and unpacked if it is not there."""
    tree = CACHE / "replay"
    if (tree / "index.html").exists():
        return tree
    unpack(*PACKAGES)
    for name, place in SETS.items():  # scripts that packages share are links to other packages
        shutil.copytree(UNPACKED / place, tree / name, ignore_dangling_symlinks=True, dirs_exist_ok=True)
    links = "".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in SETS)
    (tree / "index.html").write_text(f"<!DOCTYPE html><title>Documentation</title><ul>{links}</ul>\n")
    return tree


def _pywb() -> Path:
    """The environment of pywb, made if it is not there."""
    folder = CACHE / "pywb"
    if not (folder / "bin" / "wayback").exists():
        venv.create(folder, clear=True, with_pip=True)
        command = [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *PYWB,
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=900)
        except (OSError, subprocess.SubprocessError) as error:
            raise NotToBeHad(f"pywb could not be installed: {error}") from error
    return folder


class _Site(BaseHTTPRequestHandler):
    """Pages that link to the next one; /old leads to /0, and /none is missing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path.removeprefix("/")
        body = page_of(int(name)) if name.isdigit() else b""
        self.send_response(200 if body else 301 if name == "old" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if name == "old":
            self.send_header("Location", "/0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def page_of(number: int) -> bytes:
    """The page of a number."""
    return f"<!DOCTYPE html><title>{number}</title><p>Page {number} says so.<a href=/{number + 1}>next</a>".encode()


def recorded() -> Iterator[Figure]:
    """How much of what pywb has recorded is imported."""
    try:
        pywb = _pywb()
    except NotToBeHad as error:
        yield Figure(f"left out: {error}", float("nan"), "")
        return
    with tempfile.TemporaryDirectory(prefix="recorded-") as name:
        folder, port = Path(name), free_port()
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = f"http://127.0.0.1:{server.server_address[1]}"
        subprocess.run([pywb / "bin" / "wb-manager", "init", "c"], cwd=folder, check=True, capture_output=True)
        command = [str(pywb / "bin" / "wayback"), "-p", str(port), "-b", "127.0.0.1", "-d", name, "--live", "--record"]
        with running(["sh", "-c", 'exec "$0" "$@" >/dev/null 2>&1', *command]):
            wait_for(port, 120.0)
            for path in [*map(str, range(RECORDED)), "old", "none", "0"]:
                with contextlib.suppress(urllib.error.HTTPError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/c/record/id_/{site}/{path}", timeout=60).read()
                time.sleep(1.1)  # captures know whole seconds
        server.shutdown()
        files = sorted(folder.glob("collections/c/archive/*.warc*"))
        settings = {"scope": "any", "allow-network": ["127.0.0.0/8"]}
        with open_writer(folder / "crawl", [f"{site}/0"], settings) as opened, importing(opened) as importer:
            report = importer.run(importer.sources(files))
        bodies = [typed_body_of(folder / "crawl", captures_of(folder / "crawl", f"{site}/{n}")[-1])[0] for n in RANGE]
        right = sum(body == page_of(number) for number, body in enumerate(bodies))
    yield Figure("files that pywb wrote", len(files), "files")
    yield Figure("visits imported of those that pywb recorded", report.visits, "visits", "at least", RECORDED + 2)
    yield Figure("troubles", report.trouble_count, "troubles", "at most", 0)
    yield Figure("bodies that are read from pywb's file as they were", right, "bodies", "at least", RECORDED)


RECORDED = 8
RANGE = range(RECORDED)
PARTS: Benchmarks = {"replay": replay, "recorded": recorded}
ABOUT = {
    "replay": "real documentation crawled, compared with what Chromium and wget ask for, and replayed by pywb",
    "recorded": "a small site that pywb has recorded, imported",
}


if __name__ == "__main__":
    sys.exit(run_parts("bench.replay", "What a crawl holds of what a browser needs", PARTS, ABOUT))
