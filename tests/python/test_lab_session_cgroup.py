"""`handfastd session run --cgroup`: programs as they are, led to sessions by the kernel, while the address changes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import mine, real
from session_scene import CAME_FROM, DATA, PAGES, PART, PEER, SERVER, Scene, lacks_cgroup, needs, scene

LACKING = lacks_cgroup()
pytestmark = [real, pytest.mark.skipif(LACKING is not None, reason=f"{LACKING}")]

PAGE = f"http://{SERVER}:{PAGES}/"
AWAY = (0.0, 1.0, 0.3)

NAMES_ITS_PEER = f"""
import socket
for family, address in ((socket.AF_INET, "{SERVER}"), (socket.AF_INET6, "::ffff:{SERVER}")):
    with socket.socket(family) as opened:
        opened.connect((address, {PAGES}))
        print(*opened.getpeername()[:2], opened.getsockname()[0])
"""


# The client's own one, at which nobody listens.
OF_LINK = """
import socket
from pyroute2 import IPRoute
with IPRoute() as link:
    own = [(found.get_attr("IFA_ADDRESS"), found["index"]) for found in link.get_addr(family=socket.AF_INET6)]
address, index = next(one for one in own if one[0].startswith("fe80"))
with socket.socket(socket.AF_INET6) as opened:
    opened.settimeout(5)
    opened.connect((address, 9, 0, index))
"""
ELSEWHERE = f"""
import socket
from pyroute2 import IPRoute
with IPRoute() as link:
    link.link("set", index=1, state="up")
socket.create_connection(("{SERVER}", {PAGES}), 5)
"""
ASKS = f"""
import socket, time
done, wrong, until = 0, [], time.monotonic() + 6
while time.monotonic() < until:
    try:
        with socket.create_connection(("{SERVER}", {PAGES})) as peer:
            peer.sendall(b"GET /part HTTP/1.0\\r\\n\\r\\n")
            got = 0
            while part := peer.recv(65536): got += len(part)
        if got > {PART}: done += 1
        else: wrong.append(got)
    except ConnectionResetError:
        time.sleep(0.01)
    except OSError as error:
        wrong.append(repr(error))
print(done, wrong)
"""


def _groups() -> set[Path]:
    return set(Path("/sys/fs/cgroup").glob("**/handfast-session-*"))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Scene]:
    before = _groups()
    with scene(tmp_path) as scene_of_test:
        scene_of_test.daemon.start()
        scene_of_test.daemon.until(lambda status: status["ok"])
        yield scene_of_test
    assert mine() == []
    assert _groups() == before, "a group goes with its program"


def _session(made: Scene, *program: str) -> list[str]:
    return made.session("run", "--verbose", "--cgroup", "--peer", PEER, "--", *program)


@needs("curl")
def test_a_download_goes_on_while_the_address_changes(made: Scene, tmp_path: Path) -> None:
    got = tmp_path / "got"
    with made.roaming(every=1.2, away=AWAY) as times:
        code, _, said = made.run(_session(made, "curl", "-sS", "--noproxy", "*", "-o", str(got), PAGE))
    assert code == 0, said
    assert hashlib.sha256(got.read_bytes()).digest() == hashlib.sha256(DATA).digest()
    assert len(times) >= 3, "it has roamed"


def test_a_program_sees_its_real_peer(made: Scene) -> None:
    code, said, errors = made.run(_session(made, shutil.which("python3") or "python3", "-c", NAMES_ITS_PEER))
    assert code == 0, errors
    four, six = said.splitlines()
    assert four == f"{SERVER} {PAGES} 127.0.0.1", "its own address shows that it was led"
    assert six == f"::ffff:{SERVER} {PAGES} ::ffff:127.0.0.1"


@needs("bash")
def test_bash_and_what_is_near(made: Scene) -> None:
    script = f"exec 3<>/dev/tcp/{SERVER}/{PAGES}; printf 'GET /part HTTP/1.0\\r\\n\\r\\n' >&3; wc -c <&3"
    code, said, errors = made.run(_session(made, "bash", "-c", script))
    assert code == 0, errors
    assert int(said) > PART
    # Nobody listens there, and nobody is asked.
    code, _, errors = made.run(_session(made, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"))
    assert code != 0
    assert "refused" in errors


@needs("gcc")
def test_a_static_program_by_io_uring_and_as_another_user(made: Scene) -> None:
    source, program = Path(__file__).with_name("ring_connect.c"), Path(f"/tmp/handfast-ring-{os.getpid()}")  # noqa: S108
    compiler = ["/usr/bin/env", "gcc", "-O1", "-w", "-static", "-o", str(program), str(source)]
    subprocess.run(compiler, check=True, capture_output=True)
    try:
        # With rights of another user: what seccomp cannot.
        shutil.chown(program, "nobody")
        program.chmod(0o4755)
        code, said, errors = made.run(_session(made, "sh", "-c", f"{program} {SERVER} {PAGES} | wc -c"))
    finally:
        program.unlink()
    if "io_uring_setup" in errors:
        pytest.skip(f"this kernel has no io_uring: {errors}")
    assert code == 0, errors
    assert int(said) > PART
    assert "session opened" in errors, "it did not go straight"


# Straight, it ends as the kernel has it; an address that is not yet known to be one's own alone cannot be assigned.
@pytest.mark.parametrize(("policy", "says"), [("require", "not permitted"), ("prefer", "refused|annot assign")])
def test_a_link_s_own_addresses_are_not_led(made: Scene, policy: str, says: str) -> None:
    program = [sys.executable, "-c", OF_LINK]
    code, _, errors = made.run(made.session("run", "--cgroup", "--policy", policy, "--peer", PEER, "--", *program))
    assert code != 0
    assert re.search(says, errors), errors


@needs("unshare")
@pytest.mark.parametrize(("policy", "says"), [("require", "not permitted"), ("prefer", "unreachable")])
def test_another_network_namespace_is_not_led(made: Scene, policy: str, says: str) -> None:
    """There the end's address is nobody's, or somebody else's."""
    program = ["unshare", "--net", sys.executable, "-c", ELSEWHERE]
    code, _, errors = made.run(made.session("run", "--cgroup", "--policy", policy, "--peer", PEER, "--", *program))
    assert code != 0
    assert says in errors


def _until_it_has_octets(file: Path, process: subprocess.Popen[str]) -> None:
    while process.poll() is None and not (file.exists() and file.stat().st_size):
        time.sleep(0.005)


def _killed_again_and_again(made: Scene, process: subprocess.Popen[str]) -> int:
    """Kills the end beside a program until that has ended: how often."""
    kills = 0
    while process.poll() is None:
        time.sleep(0.02 + kills * 37 % 200 / 1000)
        for end in made.ends(process):
            os.kill(end, signal.SIGKILL)
            kills += 1
    return kills


def test_an_end_that_is_killed_lets_nothing_go_straight(made: Scene) -> None:
    """What is led while there is no end waits for the next one, or is reset: it does not look like an end."""
    CAME_FROM.clear()
    run = made.session("run", "--cgroup", "--peer", PEER, "--", sys.executable, "-c", ASKS)
    with made.start(run) as process:
        kills = _killed_again_and_again(made, process)
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    done, wrong = said.split(maxsplit=1)
    assert wrong.strip() == "[]"
    assert int(done) >= 10
    assert kills >= 20
    assert {SERVER} == CAME_FROM


@needs("curl")
def test_a_download_goes_on_while_its_end_is_killed(made: Scene, tmp_path: Path) -> None:
    got = tmp_path / "got"
    run = made.session("run", "--cgroup", "--peer", PEER, "--", "curl", "-sS", "--noproxy", "*", "-o", str(got), PAGE)
    with made.start(run) as process:
        # What is being opened is reset with its end (session.md, "A kill, or a new version"): curl would not ask again.
        _until_it_has_octets(got, process)
        kills = _killed_again_and_again(made, process)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert hashlib.sha256(got.read_bytes()).digest() == hashlib.sha256(DATA).digest()
    assert kills >= 10


def test_a_target_that_is_not_led_to_is_reset_under_require(made: Scene) -> None:
    code, said, _ = made.run(_session(made, "bash", "-c", f"exec 3<>/dev/tcp/{SERVER}/9 && cat <&3"))
    assert (code != 0, said) == (True, "")
