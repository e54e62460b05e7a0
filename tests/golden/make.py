"""Makes the golden folders of the present format: `python -m tests.golden.make`, run once by the code of a release.

Three crawls of the same little web go into `tests/golden/format-N.crawls.tar.xz`, and beside it what this version says
of them, which every later version must say too:

    kept        continuous, with versions, an index, a subscription, wanted XML, rules for parts
    archived    once, as WARC, with requisites, weights of links and a focus
    divided     the same hosts in two partitions, with versions and an index
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from centime import Crawl, open_crawl
from centime.cluster.beginning import cluster_run
from centime.crawl.engine.loop import Limits
from centime.store.folder import FORMAT
from tests.golden.site import LIBRARY, MUSEUM, SEEDS, Site, serve_site

HERE = Path(__file__).parent
ARCHIVE, SAID = f"format-{FORMAT}.crawls.tar.xz", f"format-{FORMAT}.crawls.json"
POLITE: dict[str, Any] = {"delay": 0.0, "address_delay": 0.0, "workers": 1, "scope": "host"}
RATE = "1000/s"
NOTICES = Path("/tmp/centime-golden-notices.jsonl")


def crawl_kept(folder: Path, site: Site) -> None:
    """A continuous crawl through both editions, which ends between two visits."""
    settings = POLITE | {
        "continuous": True,
        "rate": RATE,
        "least_interval": "1s",
        "keep": "versions",
        "index": True,
        "parts": True,
        "want": "xml",
        "ignore": ["css:.ads", "regex:[0-9]+ visitors"],
        "select": "/rooms/=css:p",
    }
    for edition in (1, 2):
        site.edition = edition
        with Crawl(folder, SEEDS if edition == 1 else (), proxy=site.proxy, **settings) as crawl:
            crawl.run(lambda crawl: crawl.fetched >= 40, seconds=20)
        if edition == 1:
            command = ["subscribe", str(folder), "/rooms/", "--every", "1s", "--to", f"file:{NOTICES}"]
            subprocess.run([sys.executable, "-m", "centime", *command], check=True, stdout=subprocess.DEVNULL)
    NOTICES.unlink()


def crawl_archived(folder: Path, site: Site) -> None:
    """A crawl to its end, as WARC, and a second run that a seed begins again."""
    site.edition = 1
    settings = POLITE | {
        "keep": "all",
        "requisites": True,
        "link_weight": "internal=0.5,nofollow=0.1",
        "focus": "/rooms/=3",
        "follow_nofollow": True,
    }
    with Crawl(folder, SEEDS, proxy=site.proxy, **settings) as crawl:
        crawl.run()


def crawl_divided(folder: Path, site: Site) -> None:
    """A crawl in partitions."""
    site.edition = 1
    given = {name.replace("_", "-"): value for name, value in POLITE.items()}
    with cluster_run(
        folder, list(SEEDS), given | {"proxy": site.proxy, "keep": "versions", "index": True}, Limits(), partitions=2
    ) as crawl:
        crawl.run()


CRAWLS = {"kept": crawl_kept, "archived": crawl_archived, "divided": crawl_divided}
ASKED = (f"{MUSEUM}/", f"{MUSEUM}/rooms/3", f"{MUSEUM}/works.xml", f"{LIBRARY}/")


def said_of(folder: Path) -> dict[str, Any]:
    """What a version says of a crawl, and every later one must say too."""
    with open_crawl(folder) as reader:
        return {
            "pages": {
                page.url: [round(page.importance, 9), page.outcome, page.visits]
                for page in sorted(reader.pages, key=lambda page: page.url)
            },
            "links": sorted([link.source, link.target] for link in reader.links),
            "changes": sorted([change.url, change.change, change.seen] for change in reader.changes()),
            "bodies": sorted([body.url, hashlib.sha256(body.read()).hexdigest()] for body in reader.bodies),
            "versions": {url: [version["time"] for version in reader.versions(url)] for url in ASKED},
            "works": reader.query("//work", kind="xml"),
            "found": [match.url for match in reader.search("stone 21")] if any(folder.rglob("index")) else [],
            "problems": reader.check(),
        }


def main() -> None:
    """Writes the folders and what this version says of them; refuses to replace those of a release."""
    if (HERE / ARCHIVE).exists() and "--again" not in sys.argv:
        raise SystemExit(f"{ARCHIVE} is there: it is made once, for a release (before that: --again)")
    said: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as room, serve_site() as site:
        for name, run in CRAWLS.items():
            run(Path(room) / name, site)
            said[name] = said_of(Path(room) / name)
            shutil.rmtree(Path(room) / name / "lock", ignore_errors=True)
        with tarfile.open(HERE / ARCHIVE, "w:xz") as archive:
            for name in CRAWLS:
                archive.add(Path(room) / name, name)
    (HERE / SAID).write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
