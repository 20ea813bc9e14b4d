"""Unmodified programs by sessions, while the client's address changes every 10 s and is away for 0 to 5 s in between.

Each of them runs as long as two changes take, and compares every byte that comes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from conftest import mine, real
from handfast.lab import controller, processes
from openssh import await_listener, sshd
from postgres import PORT as POSTGRES
from postgres import postgres
from session_scene import DATA, PAGES, PEER, SERVER, Scene, needs, scene

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

EVERY_S = 10.0
AWAY = (1.0, 5.0, 0.0, 2.5)
"""Seconds without an address, in turn."""
CHANGES = 2
"""A test sees so many at least."""
IPERF = 5201
ROUNDS = 40
"""Of the database's client: with its pauses as long as two changes."""
# A temporary table is of one connection alone, and a transaction ends with it.
BEGIN = "CREATE TEMP TABLE t (n int);\nBEGIN;\n"
ROUND = (
    "SELECT pg_sleep(0.7); INSERT INTO t VALUES (1);\n"
    "COPY (SELECT g, encode(sha256(g::text::bytea), 'hex') FROM generate_series(1, :rows) g) TO STDOUT;\n"
)
END = "COMMIT;\nSELECT count(*) FROM t;\n"
SLOW_RATE = "56mbit"
"""Of the wire, where 200 MB are to take as long as two changes."""


@contextmanager
def _made(folder: Path, rate: str, *ports: int) -> Iterator[Scene]:
    with scene(folder, rate, ports=ports) as made:
        made.daemon.start()
        made.daemon.until(lambda status: status["ok"])
        yield made
    assert mine() == []


def _while_roaming(made: Scene, command: Sequence[str], patience: float = 180) -> tuple[str, list[float]]:
    """What it has said, once it has ended without an error."""
    with made.roaming(every=EVERY_S, away=AWAY) as times, made.start(command) as process:
        said, errors = process.communicate(timeout=patience)
    assert process.returncode == 0, (errors, said[-2_000:])
    assert len(times) >= CHANGES, f"it has roamed {len(times)} times only"
    return said, times


@needs("curl")
@pytest.mark.skipif("HANDFAST_LONG" not in os.environ, reason="takes over a minute: HANDFAST_LONG=1 runs it")
def test_curl_gets_a_gigabyte(tmp_path: Path) -> None:
    got = tmp_path / "got"
    with _made(tmp_path, "160mbit") as made:
        curl = ["curl", "-sS", "-o", str(got), f"http://{SERVER}:{PAGES}/times/10"]
        _while_roaming(made, made.session("run", "--peer", PEER, "--", *curl))
    expected, heard = hashlib.sha256(), hashlib.sha256()
    for _ in range(10):
        expected.update(DATA)
    with got.open("rb") as file:
        while part := file.read(1 << 20):
            heard.update(part)
    assert got.stat().st_size == 10 * len(DATA)
    assert heard.digest() == expected.digest()


@needs("rsync")
@needs("ssh")
@needs("sshd")
def test_rsync_copies_a_tree(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    for number in range(200):
        folder = there / str(number % 10)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}").write_bytes(DATA[number * 1_000 : number * 1_000 + (number % 7) * 300_000])
    with _made(tmp_path, SLOW_RATE) as made, sshd(made.server, SERVER, tmp_path) as ssh:
        proxy = " ".join(made.session("connect", "--peer", PEER, "%h", "%p"))
        call = " ".join([*ssh, f'-o"ProxyCommand {proxy}"'])
        _while_roaming(made, ["rsync", "-a", "-e", call, f"root@{SERVER}:{there}/", f"{here}/"])
    files = [path.relative_to(there) for path in sorted(there.rglob("*")) if path.is_file()]
    assert [path.relative_to(here) for path in sorted(here.rglob("*")) if path.is_file()] == files
    assert all((here / path).read_bytes() == (there / path).read_bytes() for path in files)


@needs("iperf3")
@pytest.mark.parametrize("direction", ["upload", "download"])
def test_iperf3_measures(tmp_path: Path, direction: str) -> None:
    with _made(tmp_path, "160mbit", IPERF) as made, ExitStack() as stack:
        server = ["iperf3", "-s", "-1", "-p", str(IPERF)]
        stack.enter_context(processes.running(made.server.name, server, log=tmp_path / "iperf3.log"))
        await_listener(made.server, IPERF)
        client = ["iperf3", "-c", SERVER, "-p", str(IPERF), "-t", "30", "-J"]
        client += ["-R"] if direction == "download" else []
        said, _ = _while_roaming(made, made.session("run", "--all", "--peer", PEER, "--", *client))
    end = json.loads(said)["end"]
    # The wire has 160 Mbit/s, and the client was away for a fifth of the time.
    assert end["sum_received"]["bits_per_second"] > 80e6, end["sum_received"]


@needs("psql")
@needs("postgres")
@needs("setpriv")
@pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL has to run as another user")
def test_psql_keeps_its_connection_and_a_transaction(tmp_path: Path) -> None:
    rows, script = 20_000, tmp_path / "script.sql"
    script.write_text(BEGIN + ROUND * ROUNDS + END)
    with _made(tmp_path, "160mbit", POSTGRES) as made, postgres(made.server, SERVER, tmp_path) as psql:
        psql += ["-v", f"rows={rows}", "-f", str(script)]
        said, _ = _while_roaming(made, made.session("run", "--all", "--peer", PEER, "--", *psql))
    lines = said.splitlines()
    one = [f"{n}\t{hashlib.sha256(str(n).encode()).hexdigest()}" for n in range(1, rows + 1)]
    assert lines == ["", *one] * ROUNDS + [str(ROUNDS)]


GO = """
package main

import ("crypto/sha256"; "fmt"; "io"; "net/http"; "os")

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil { fmt.Println(err); os.Exit(1) }
	sum := sha256.New()
	count, err := io.Copy(sum, answer.Body)
	if err != nil { fmt.Println(err); os.Exit(1) }
	fmt.Printf("%d %x\\n", count, sum.Sum(nil))
}
"""


@needs("go")
def test_a_static_program_in_go_gets_a_page(tmp_path: Path) -> None:
    source, program = tmp_path / "get.go", tmp_path / "get"
    source.write_text(GO)
    environment = {**os.environ, "CGO_ENABLED": "0"}
    go = shutil.which("go") or "go"
    subprocess.run([go, "build", "-o", str(program), str(source)], check=True, env=environment, cwd=tmp_path)
    with _made(tmp_path, SLOW_RATE) as made:
        get = [str(program), f"http://{SERVER}:{PAGES}/times/2"]
        said, _ = _while_roaming(made, made.session("run", "--all", "--peer", PEER, "--", *get))
    assert said == f"{2 * len(DATA)} {hashlib.sha256(DATA * 2).hexdigest()}\n"
