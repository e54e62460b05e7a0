"""Chromium without a screen, driven through a pipe by the DevTools protocol: loads pages, and says what they asked for.

It is Debian's package `chromium`, unpacked without root with all that it needs and this machine lacks. It resolves no
name but those below `localhost`, so it reaches nothing but loopback."""

import base64
import fcntl
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.crawl_server import UNPACKED, NotToBeHad, unpack
from centime.processes.parent import die_with_parent

FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync
    --disable-component-update --disable-default-apps --disable-extensions --disable-dev-shm-usage --mute-audio
    --no-default-browser-check --metrics-recording-only --disable-domain-reliability --remote-debugging-pipe
"""
ONLY_LOOPBACK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost"
QUIET, LONGEST = 0.4, 20.0  # seconds without a request until a page is complete, and until it is given up


@dataclass
class Loaded:
    """What a page asked for: the status of each URL, 0 if there was no answer."""

    url: str
    asked: dict[str, int] = field(default_factory=dict)
    complete: bool = False


class Browser:
    """A running Chromium."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number = 0
        self._rest = b""

    def load(self, url: str) -> Loaded:
        """Loads one page in a new tab, until nothing more is asked for."""
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self._call("Network.enable", {}, session)
        self._call("Network.setCacheDisabled", {"cacheDisabled": True}, session)
        self._call("Page.enable", {}, session)
        loaded, urls, open_ = Loaded(url), dict[str, str](), set[str]()
        until, last = time.monotonic() + LONGEST, time.monotonic()
        self._send("Page.navigate", {"url": url}, session)
        while time.monotonic() < until:
            message = self._receive(0.1)
            if message is not None and message.get("sessionId") == session:
                last = time.monotonic() if self._note(message, loaded, urls, open_) else last
            if loaded.complete and not open_ and time.monotonic() - last > QUIET:
                break
        self._call("Target.closeTarget", {"targetId": target})
        return loaded

    def tab(self, url: str, *, width: int = 1200, scripts: bool = True, dark: bool = False) -> "Tab":
        """A page in a new tab, loaded."""
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self._call("Page.enable", {}, session)
        self._call("Log.enable", {}, session)
        shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", shape, session)
        self._call("Emulation.setScriptExecutionDisabled", {"value": not scripts}, session)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", {"features": features}, session)
        made = Tab(self, target, session)
        made.go(url)
        return made

    def _note(self, message: dict[str, Any], loaded: Loaded, urls: dict[str, str], open_: set[str]) -> bool:
        """Records an event; returns whether it is about the network."""
        event, facts = str(message.get("method", "")), message.get("params", {})
        number = facts.get("requestId", "")
        if event == "Network.requestWillBeSent":
            if "redirectResponse" in facts:
                loaded.asked[facts["redirectResponse"]["url"]] = facts["redirectResponse"]["status"]
            urls[number] = facts["request"]["url"]
            loaded.asked.setdefault(urls[number], 0)
            open_.add(number)
        elif event == "Network.responseReceived":
            loaded.asked[urls.get(number, facts["response"]["url"])] = facts["response"]["status"]
        elif event in ("Network.loadingFinished", "Network.loadingFailed"):
            open_.discard(number)
        elif event == "Page.loadEventFired":
            loaded.complete = True
        return event.startswith("Network.")

    def _call(self, method: str, facts: dict[str, Any], session: str = "") -> dict[str, Any]:
        number = self._send(method, facts, session)
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            message = self._receive(1.0)
            if message is not None and message.get("id") == number:
                if "error" in message:
                    raise NotToBeHad(f"Chromium refuses {method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
        raise NotToBeHad(f"Chromium does not answer {method}")

    def _send(self, method: str, facts: dict[str, Any], session: str = "") -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": facts} | ({"sessionId": session} if session else {})
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        until = time.monotonic() + seconds
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            octets = os.read(self._answers, 1 << 16)
            if not octets:
                raise NotToBeHad("Chromium has ended")
            self._rest += octets
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


class Tab:
    """A page that is open: what it says, what it looks like, and what its console complained about."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser, self._target, self._session = browser, target, session
        self.complaints: list[str] = []

    def go(self, url: str) -> None:
        """Loads another page."""
        self._browser._send("Page.navigate", {"url": url}, self._session)
        self.wait_for_load()

    def wait_for_load(self) -> None:
        """Waits until a page has been loaded."""
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            message = self._browser._receive(0.2)
            if message is not None and message.get("sessionId") == self._session:
                self._note(message)
                if message.get("method") == "Page.loadEventFired":
                    return
        raise NotToBeHad("the page was not loaded in time")

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Log.entryAdded":
            self.complaints.append(str(message["params"]["entry"].get("text")))

    def ask(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page, also of a promise; works with scripts of pages off."""
        facts = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        found = self._browser._call("Runtime.evaluate", facts, self._session)
        if "exceptionDetails" in found:
            raise NotToBeHad(f"{expression[:100]}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait_until(self, expression: str, seconds: float = 10.0) -> bool:
        """Whether an expression becomes true in time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.ask(expression):
                return True
            time.sleep(0.05)
        return False

    def picture(self) -> bytes:
        """The page as a PNG file, as far as a screen shows it."""
        found = self._browser._call("Page.captureScreenshot", {"format": "png"}, self._session)
        return base64.b64decode(found["data"])

    def press(self, key: str) -> None:
        """Presses a key."""
        codes = {"Tab": 9, "Enter": 13}
        facts = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        if key == "Enter":
            facts["text"] = "\r"
        self._browser._call("Input.dispatchKeyEvent", {"type": "keyDown", **facts}, self._session)
        self._browser._call("Input.dispatchKeyEvent", {"type": "keyUp", **facts}, self._session)

    def close(self) -> None:
        """Closes the tab."""
        self._browser._call("Target.closeTarget", {"targetId": self._target})


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with an empty profile, while the block runs."""
    program, libraries = _program()
    profile = tempfile.mkdtemp(prefix="chromium-")
    theirs_in, ours_out = map(_high, os.pipe())
    ours_in, theirs_out = map(_high, os.pipe())
    environment = {"HOME": profile, "PATH": os.environ["PATH"], "LD_LIBRARY_PATH": libraries}
    process = subprocess.Popen(
        [program, *FLAGS.split(), ONLY_LOOPBACK, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        pass_fds=(3, 4),
        preexec_fn=partial(_prepare, os.getpid(), theirs_in, theirs_out),
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(ours_out, ours_in)
    finally:
        os.close(ours_out)
        os.close(ours_in)
        process.terminate()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


def _high(handle: int) -> int:
    """The same file under a number that is not one of Chromium's."""
    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(handle)
    return moved


def _prepare(parent: int, commands: int, answers: int) -> None:
    os.dup2(commands, 3)  # where Chromium reads commands, and writes answers
    os.dup2(answers, 4)
    die_with_parent(parent)


def _program() -> tuple[str, str]:
    """The program and where its libraries are, fetched if they are not there."""
    installed = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if installed:
        return installed, os.environ.get("LD_LIBRARY_PATH", "")
    program = UNPACKED / "usr/lib/chromium/chromium"
    whole = UNPACKED / "chromium.whole"  # with all packages that it needs
    if not whole.exists():
        try:
            command = ["apt-get", "install", "--simulate", "--no-install-recommends", "chromium"]
            listed = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if listed.returncode:  # a new machine has no list of packages yet
                subprocess.run(["apt-get", "update"], check=True, capture_output=True, timeout=300)
                listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
            said = listed.stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise NotToBeHad(f"Debian's packages could not be had: {error}") from error
        unpack(*re.findall(r"^Inst (\S+)", said, re.MULTILINE))
        whole.touch()
    folders = [
        folder
        for place in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/pulseaudio")
        if (folder := UNPACKED / place).is_dir()
    ]
    return str(program), ":".join(map(str, folders))


def sample(urls: list[str], count: int) -> list[str]:
    """At most `count` of the URLs, evenly spread."""
    step = max(1, len(urls) // count)
    return urls[::step][:count]
