"""How long the importance of sites takes to compute when it is asked for: `centime top --site`.

    python -m bench.site_importance [PAGES [VISITS]]

A crawl of a million known pages, of which 150 000 were read, is made up without a network (`bench/crawl_shard.py`). The
times are those of reading the links, and of everything, after the kernels are compiled.
"""

import sys
import tempfile
import time
from pathlib import Path

from bench.crawl_shard import MadeUp
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.graph import link_graph, linked_pages
from centime.crawl.sites.ranked import top_sites

PAGES, VISITS = 1_000_000, 150_000


def main() -> None:
    """Prints the times."""
    pages, visits = [*map(int, sys.argv[1:]), PAGES, VISITS][:2] if len(sys.argv) > 2 else (PAGES, VISITS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "crawl"
        with open_writer(folder, ["https://seed.example/"], {"scope": "any", "delay": 0.0}) as opened:
            crawl = MadeUp(opened)
            crawl.grow(pages)
            crawl.crawl(visits)
            opened.close()
        reader = read_crawl(folder)
        linked = linked_pages(reader)
        top_sites(linked, 0.85, 10)
        times = [time.perf_counter()]
        graph, _ = link_graph(linked)
        times.append(time.perf_counter())
        report = top_sites(linked, 0.85, 10)
        times.append(time.perf_counter())
        reader.close()
    print(
        f"{report['known']:,} pages, {len(graph.targets):,} links, {report['sites']:,} sites: "
        f"{times[2] - times[1]:.2f} s in all, of which reading the links {times[1] - times[0]:.2f} s; certified error "
        f"{report['certified_error']:.1e}"
    )


if __name__ == "__main__":
    main()
