"""Repairs any crawl: a plain one, or each partition of one in partitions.

Parts that are restored exactly cause no problem. But the other partitions know of money that a partition has lost
permanently, so it cannot be salvaged as in a plain crawl (`crawl/repair/repair.py`): then the partition must come from
its replica.
"""

from dataclasses import asdict
from pathlib import Path

from centime.cluster.folder import is_cluster
from centime.cluster.opening import folders_of
from centime.cluster.report.merging import merged_facts
from centime.crawl.repair.repair import repair_crawl
from centime.crawl.repair.report import Repaired
from centime.store.lock import lock_file, unlock_file


def repair_any(path: Path, *, dry_run: bool = False) -> Repaired:
    """Repairs a crawl; returns what was restored and lost in all partitions, or with `dry_run` what would be."""
    folders = folders_of(path)
    if not is_cluster(path):
        return repair_crawl(path, dry_run=dry_run)
    handle = -1 if dry_run else lock_file(path)
    try:
        found = [repair_crawl(folder, dry_run=dry_run) for folder in folders]
    finally:
        unlock_file(handle)
    return Repaired(**merged_facts([asdict(one) for one in found]))
