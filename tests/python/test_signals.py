"""Signals at random moments: a command ends within seconds, says so, and leaves nothing half done."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import OUTAGE, mine, orphans, real
from handfast import _handfast, engine, signals
from handfast.crew import Crew
from handfast.results import Result
from handfast.store import STAGING

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDS_WITHIN_S = 60.0
"""Generous: CI runs these tests at idle priority. A command that hangs takes for ever."""
LONG = ("--set", "duration=100000s")
COMMANDS = {
    "run": ("run", str(OUTAGE), *LONG, "--out", "made"),
    "compare": ("compare", str(OUTAGE), *LONG, "--seeds", "1..3", "--out", "made"),
    "sweep": ("sweep", str(OUTAGE), "--set", "links.radio.loss=0.001,0.01", "--seeds", "1..400", "--out", "made"),
    "common": ("common", "--seeds", "1..100", "--out", "made"),
    "reproduce": ("reproduce", "eln", "--seeds", "1..30", "--out", "made"),
}
EACH = 18
"""Signals to each of these, and ten to the lab: a hundred."""
LAB = ("compare", str(OUTAGE), "--schemes", "linux", "--backend", "lab", "--seeds", "1..9", "--out", "made")


class Spawner:
    """Starts commands one after the other, and sends each a signal."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("signal_trials.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        """Let the interpreter end."""
        self._process.communicate(timeout=ENDS_WITHIN_S)

    def trial(self, cwd: Path, words: tuple[str, ...], number: signal.Signals, after: float) -> tuple[int, str]:
        """The exit code and stderr of a command that got a signal `after` seconds, once it handles signals."""
        assert self._process.stdin is not None
        cwd.mkdir()
        self._process.stdin.write(json.dumps({"cwd": str(cwd), "words": words}) + "\n")
        self._process.stdin.flush()
        pid = int(self._line())
        wait_until_handled(pid)
        time.sleep(after)
        os.kill(pid, number)
        watchdog = threading.Timer(ENDS_WITHIN_S, self._give_up, [pid])
        watchdog.start()
        assert self._line() == "ended"
        watchdog.cancel()
        code = cwd / "code"
        stderr = (cwd / "stderr").read_text()
        return (int(code.read_text()) if code.exists() else -1), stderr

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    @staticmethod
    def _give_up(pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until_handled(pid: int) -> None:
    """Wait until the process handles SIGTERM: before that its end is the interpreter's business."""
    deadline = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < deadline:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
        if caught & 1 << (signal.SIGTERM - 1):
            return
        time.sleep(0.002)
    pytest.fail("the command installs no handlers")


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    made = Spawner()
    yield made
    made.close()


def check(cwd: Path, code: int, stderr: str) -> None:
    """It was interrupted, says so, and left either nothing or whole runs."""
    assert code == 130, stderr
    assert stderr.endswith("interrupted\n")
    assert "Traceback" not in stderr
    assert list(cwd.rglob(f"{STAGING}*")) == []
    for path in cwd.rglob("runs/*"):
        assert path.suffix == ".json", "a file that was not renamed when it was whole"
        json.loads(path.read_text())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment_ends_a_command(spawner: Spawner, tmp_path: Path, name: str) -> None:
    draw = random.Random(f"signals to {name}")
    for trial in range(EACH):
        number, after = draw.choice(SIGNALS), draw.uniform(0, 0.4)
        cwd = tmp_path / str(trial)
        code, stderr = spawner.trial(cwd, COMMANDS[name], number, after)
        print(f"{name} {trial}: {number.name} after {after:.3f} s")  # noqa: T201 (pytest shows it on failure)
        check(cwd, code, stderr)


@real
def test_a_signal_at_any_moment_ends_the_lab(spawner: Spawner, tmp_path: Path) -> None:
    draw = random.Random("signals to the lab")
    before = orphans()
    for trial in range(10):
        number, after = draw.choice(SIGNALS), draw.uniform(0, 1.0)
        cwd = tmp_path / str(trial)
        code, stderr = spawner.trial(cwd, LAB, number, after)
        print(f"lab {trial}: {number.name} after {after:.3f} s")  # noqa: T201 (pytest shows it on failure)
        check(cwd, code, stderr)
        assert orphans() - before == set()
    assert mine() == []


@contextmanager
def program(body: str) -> Iterator[subprocess.Popen[str]]:
    """A program that handles signals as commands do; it has started when it has said so."""
    head = "import time\nfrom handfast.signals import deferred, terminable\n"
    words = [sys.executable, "-c", head + textwrap.dedent(body)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        yield process


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_ends_at_once(number: signal.Signals) -> None:
    body = """
        with terminable():
            try:
                print("started", flush=True)
                time.sleep(100)
            finally:
                print("tidying up", flush=True)
                time.sleep(100)
    """
    with program(body) as process:
        assert process.stdout is not None
        process.send_signal(number)
        assert process.stdout.readline() == "tidying up\n"
        process.send_signal(number)  # the same request: too soon for another
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=signals.REPEATED_S + 0.1)
        process.send_signal(number)
        assert process.wait(timeout=ENDS_WITHIN_S) == 130


def test_nothing_is_raised_inside_a_deferred_block() -> None:
    body = """
        with terminable():
            try:
                with deferred():
                    print("started", flush=True)
                    time.sleep(0.5)
                    print("went on", flush=True)
                print("never said")
            except KeyboardInterrupt:
                print("raised at the end")
    """
    with program(body) as process:
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=ENDS_WITHIN_S) == ("went on\nraised at the end\n", "")


def test_what_the_parent_ignores_stays_ignored() -> None:
    body = """
        import signal
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with terminable():
            print("started", flush=True)
            time.sleep(0.5)
            print("went on", flush=True)
    """
    with program(body) as process:
        process.send_signal(signal.SIGHUP)
        assert process.communicate(timeout=ENDS_WITHIN_S) == ("went on\n", "")


class Trivial:
    """A run that takes no time, and counts how often somebody asks for its progress."""

    alone = False

    def __init__(self, result: Result | Exception, asked: Counter[str] | None = None) -> None:
        self.control = self
        self._result = result
        self._asked: Counter[str] = Counter() if asked is None else asked
        self.cancelled = False

    @property
    def progress(self) -> float:
        self._asked["progress"] += 1
        return 0.0

    def cancel(self) -> None:
        self.cancelled = True

    def run(self) -> Result:
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


@pytest.fixture
def result() -> Result:
    scenario = _handfast.load(OUTAGE.read_text(), "x.toml", [("duration", "15s")])
    return engine.Task(scenario, "reno", 1).run()


def test_waiting_for_many_runs_looks_at_those_that_run(result: Result) -> None:
    asked: Counter[str] = Counter()
    tasks = [Trivial(result, asked) for _ in range(12_000)]
    told: list[tuple[float, int]] = []
    done = engine.execute(tasks, jobs=2, progress=lambda *now: told.append(now))
    assert [len(done), *told[-1]] == [12_000] * 3
    # Two run at once: each look asks two, however many there are.
    assert asked["progress"] <= 2 * len(told)


def test_the_first_failure_stops_the_others(result: Result) -> None:
    tasks = [Trivial(ValueError("broken")), *(Trivial(result) for _ in range(100))]
    with pytest.raises(ValueError, match="broken"), Crew(tasks, 1, None) as crew:
        crew.wait(None)
    assert all(task.cancelled for task in tasks)
