"""What Ray takes where it would start the nodes of a cluster: installed bytes, memory, start, calls, where it listens.

    unshare --net --pid --fork --kill-child --mount-proc --map-root-user \\
        sh -c "ip link set lo up; PYTHON -m bench.cluster.ray_cost"

PYTHON is one of an environment that has `ray` and this repository's `bench`; Ray is no dependency of Centime. Ray
listens on all addresses of a machine whatever it is told, so this refuses to run where there is a network: `unshare`
gives it one of loopback alone, and ends all of its processes with the command.
"""

import os
import secrets
import socket
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CALLS = 1_000
FIRST_PORT = 26_379
OPTIONS = "--include-log-monitor false --num-cpus 1 --object-store-memory 80000000 --disable-usage-stats"


def main() -> None:
    """Prints the figures."""
    if {name for _, name in socket.if_nameindex()} != {"lo"}:
        sys.exit("run this where there is no network but loopback: see the top of this file")
    found = find_spec("ray")  # it reads the environment when it is imported
    if found is None or found.origin is None:
        sys.exit("this environment has no ray")
    installed = Path(found.origin).parent
    size = sum(path.stat().st_size for path in installed.rglob("*") if path.is_file())
    print(f"installed: {size / 1e6:.0f} MB")
    with TemporaryDirectory() as room:
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "HOME": room}
        os.environ |= {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_TMPDIR": room, "RAY_DISABLE_IMPORT_WARNING": "1"}
        _start(["--head", "--port", str(FIRST_PORT), "--temp-dir", room, "--include-dashboard", "false"], 0)
        _start(["--address", f"127.0.0.2:{FIRST_PORT}"], 1)
        print(f"memory of two idle nodes: {_memory():.0f} MB")
        listening = subprocess.run(["ss", "-ltnH"], capture_output=True, text=True, check=True).stdout.splitlines()
        print("listens on:", " ".join(sorted(line.split()[3] for line in listening)))
        _calls()


def _start(how: list[str], number: int) -> None:
    names = ("node-manager", "object-manager", "dashboard-agent-listen", "dashboard-agent-grpc", "runtime-env-agent")
    ports = [*(f"{name}-port" for name in names), "metrics-export-port", "min-worker-port", "max-worker-port"]
    base = FIRST_PORT + 1 + 100 * number
    given = [word for place, name in enumerate(ports) for word in (f"--{name}", str(base + 10 * place))]
    ray = Path(sys.executable).with_name("ray")
    began = time.perf_counter()
    command = [str(ray), "start", *how, "--node-ip-address", f"127.0.0.{2 + number}", *given, *OPTIONS.split()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"start of {'the head' if not number else 'a node'}: {time.perf_counter() - began:.1f} s")


def _calls() -> None:
    ray: Any = import_module("ray")
    on = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    head = f"127.0.0.2:{FIRST_PORT}"
    ray.init(address=head, log_to_driver=False, logging_level="ERROR", _node_ip_address="127.0.0.2")

    class Receiver:
        """Takes a batch."""

        def take(self, batch: bytes) -> int:
            """Its size."""
            return len(batch)

    remote = ray.remote(num_cpus=0)(Receiver)
    node = next(node["NodeID"] for node in ray.nodes() if node["NodeManagerAddress"] == "127.0.0.3")
    began = time.perf_counter()
    actor = remote.options(scheduling_strategy=on(node, soft=False)).remote()
    ray.get(actor.take.remote(b""))
    print(f"start of an actor: {time.perf_counter() - began:.1f} s")
    batch, used = os.urandom(16_000), _cpu()
    for _ in range(CALLS):
        ray.get(actor.take.remote(batch))
    print(f"CPU of a call with 16 KB: {1e6 * (_cpu() - used) / CALLS:.0f} us, all processes together")
    used = _cpu()
    time.sleep(10)
    print(f"CPU of two idle nodes: {(_cpu() - used) / 10:.3f} of a core")


def _processes() -> list[Path]:
    return [path for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _memory() -> float:
    total = 0
    for path in _processes():
        try:
            lines = (path / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def _cpu() -> float:
    used = 0
    for path in _processes():
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
