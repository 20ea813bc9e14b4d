"""A real Chromium without a window, spoken to over a pipe (the DevTools protocol): no driver, no port, no library."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING = None if PROGRAM else "no chromium: apt-get install chromium"
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE_S = 30


@contextmanager
def started(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile; it ends with the block."""
    assert PROGRAM is not None
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    # Chromium reads from 3 and writes to 4; the shell moves them there from numbers that are not in the way.
    handed = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
    shell = f'exec "$0" "$@" 3<&{handed[0]} 4>&{handed[1]}'
    command = ["bash", "-c", shell, PROGRAM, *SWITCHES, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, pass_fds=handed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for end in (theirs_in, theirs_out, *handed):
        os.close(end)
    try:
        yield Browser(ours_in, ours_out)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        os.close(ours_in)
        os.close(ours_out)


class Browser:
    """One page."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._number, self._buffer = 0, b""
        self._session: str | None = None
        self.errors: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> Any:  # noqa: ANN401 (JSON, as it comes)
        """Send a command and wait for its answer; what the page complains of meanwhile goes to `errors`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(event["params"]["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.errors.append(str(event["params"]["entry"]["text"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            assert select.select([self._reads], [], [], PATIENCE_S)[0], "chromium does not answer"
            got = os.read(self._reads, 1 << 20)
            assert got, "chromium is gone"
            self._buffer += got
        message, self._buffer = self._buffer.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, page: Path, width: int, *, dark: bool = False, media: str = "screen", scripts: bool = True) -> None:
        """Show a file, as a window so wide has it."""
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        phone = width < 500
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.errors.clear()
        self.ask("Page.navigate", url=page.resolve().as_uri())
        self._wait("document.readyState === 'complete'")
        # Twice: the first frame lays out, and observers act on it in the second.
        if scripts:
            self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def _wait(self, condition: str) -> None:
        for _ in range(1000):
            if self.run(f"location.protocol === 'file:' && {condition}"):
                return
        raise AssertionError(f"never: {condition}")

    def run(self, script: str) -> Any:  # noqa: ANN401 (whatever the script gives)
        """Evaluate in the page, a promise to its end."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """A screenshot."""
        made = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(made["data"]))

    def pdf(self, file: Path) -> None:
        """The page as it prints."""
        self.ask("Emulation.setEmulatedMedia", media="print")
        made = self.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(made["data"]))
