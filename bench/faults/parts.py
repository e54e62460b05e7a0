"""A campaign in numbered parts, done by several processes, that can be interrupted and goes on where it stopped.

What a part gives follows from its number and the seed alone, so the result does not depend on the number of processes
or on interruptions. Finished parts are kept in a JSON file, which is replaced as a whole after each of them.
"""

import json
import multiprocessing
import signal
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from bench.faults.tally import Tallies, Tally, from_facts, summed, to_facts
from centime.files.replacement import replace_file
from centime.processes.parent import die_with_parent

FORK = multiprocessing.get_context("fork")  # kernels are compiled already, and the work need not be pickled
DIED = "process of the simulator died"


class Kept:
    """The finished parts of a campaign. `about` identifies it; parts of another one are not mixed with them."""

    def __init__(self, path: Path, about: Mapping[str, Any], *, fresh: bool = False) -> None:
        self.path, self._about = path, dict(about)
        self.parts: dict[int, Tallies] = {}
        if path.exists() and not fresh:
            kept = json.loads(path.read_bytes())
            if kept["about"] != self._about:
                raise SystemExit(f"{path} is of another campaign: {kept['about']}; --fresh begins anew")
            self.parts = {int(number): from_facts(part) for number, part in kept["parts"].items()}

    def add(self, number: int, part: Tallies) -> None:
        """Keeps a finished part."""
        self.parts[number] = part
        parts = {str(each): to_facts(tallies) for each, tallies in sorted(self.parts.items())}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.path, json.dumps({"about": self._about, "parts": parts}).encode())

    def done(self, number: int) -> int:
        """The faults of a finished part."""
        return sum(tally.count for tally in self.parts.get(number, {}).values())

    def total(self) -> Tallies:
        """All finished parts together."""
        return summed([part for _, part in sorted(self.parts.items())])


def carry_out(
    work: Callable[[int], Tallies], numbers: Sequence[int], jobs: int, done: Callable[[int, Tallies], None]
) -> bool:
    """Does the parts in so many processes, a forked one for each part; `done` gets each finished part. False if it was
    interrupted. A process that dies was killed by what it tried: that is a finding.
    """
    left = iter(numbers)
    under_way: dict[Connection, tuple[int, ForkProcess]] = {}
    try:
        while True:
            for number in islice(left, jobs - len(under_way)):
                ours, theirs = FORK.Pipe(duplex=False)
                process = FORK.Process(target=_do, args=(work, number, theirs))
                process.start()
                theirs.close()
                under_way[ours] = number, process
            if not under_way:
                return True
            for ready in wait(list(under_way)):
                assert isinstance(ready, Connection)
                number, process = under_way.pop(ready)
                try:
                    part: Tallies = ready.recv()
                except EOFError:
                    process.join()
                    part = {DIED: Tally(count=1, wrong=[f"part {number} ended with {process.exitcode}"])}
                process.join()
                ready.close()
                done(number, part)
    except KeyboardInterrupt:
        return False
    finally:
        for _, process in under_way.values():
            process.kill()
            process.join()


def _do(work: Callable[[int], Tallies], number: int, result: Connection) -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears of Ctrl-C, and ends this one
    result.send(work(number))
