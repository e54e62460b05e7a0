"""Which sites to keep, beside simulated librarians: `python -m bench.select [--hosts 300 --pages 6000]`.

Crawls a webbox whose sites eight simulated librarians have marked (`lab/librarians.py`), and shows the scores of the
judges, of importance and other criteria alone, and of all criteria together, for several seeds of the marks.
"""

import argparse
import csv
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from centime.cluster.report.parts import parts_of
from centime.crawl.engine.loop import Engine
from centime.crawl.engine.opening import open_writer
from centime.lab.librarians import planted_marks
from centime.lab.webbox import WebBox, serve_in_process

SHOWN = ("always", "importance alone", "site_importance alone", "pages alone", "all criteria together")
SETTINGS: dict[str, Any] = {"allow-network": ["127.0.0.0/8"], "scope": "any", "delay": 0.0, "keep": "all"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--pages", type=int, default=6000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    box = WebBox(hosts=given.hosts, pages=given.pages, port=0, traps=False, feeds=False, crawl_delay_seconds=0.0)
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        with serve_in_process(box) as served, open_writer(room / "crawl", [served.seed_url], SETTINGS) as opened:
            Engine(opened).run()
        parts = parts_of(room / "crawl")
        for seed in range(given.seeds):
            with (room / "marks.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(("site", "judge", "mark"))
                writer.writerows(planted_marks(box, seed=seed))
            began = time.process_time()
            facts = parts.select(room / "marks.csv", now=time.time()).facts
            print(f"seed {seed}: {facts['marked']} sites, {time.process_time() - began:.1f} CPU seconds")
            for against in ("score", "score_of_others"):
                scores = [row[against] for row in facts["judge_scores"]]
                print(
                    f"  judges, {against.replace('_', ' ')}: {min(scores):.0%} to {max(scores):.0%}, "
                    f"mean {statistics.mean(scores):.0%}"
                )
            for row in facts["predictions"]:
                if row["prediction"].startswith(SHOWN):
                    tau, area = (row[key] for key in ("tau_b", "auc"))
                    more = "" if tau is None else f", tau-b {tau:.2f}, AUC {area:.2f}"
                    print(f"  {row['prediction']}: {row['score']:.0%}{more}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
