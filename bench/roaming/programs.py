"""Programs that people have, each by `handfastd session`: how each gets the file, as its standard output."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from handfast.studies import roaming
from openssh import await_listener, sshd
from postgres import PORT as POSTGRES
from postgres import postgres
from session_scene import PEER, SERVER
from ways import PAGES, WAYS, Download, Place, Way, copied, pages

IPERF = 5201
GO = """
package main

import ("io"; "log"; "net/http"; "os")

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil { log.Fatal(err) }
	if _, err = io.Copy(os.Stdout, answer.Body); err != nil { log.Fatal(err) }
}
"""
# COPY writes a newline as two characters.
COPY = r"""
COPY (
    SELECT translate(encode(pg_read_binary_file(:'file', n * :part, :part), 'base64'), E'\n', '')
    FROM generate_series(0, :last) n
) TO STDOUT;
"""
DECODE = """
import base64, sys
for row in sys.stdin.buffer:
    sys.stdout.buffer.write(base64.b64decode(row))
"""
PART = 1_000_000
"""Octets of a row of psql's."""


def _led(place: Place, command: Sequence[str]) -> Download:
    return place.scene.session("run", "--all", "--peer", PEER, "--", *command)


@contextmanager
def ssh(place: Place) -> Iterator[Download]:
    """It runs a command there."""
    with sshd(place.scene.server, SERVER, place.folder) as call:
        yield _led(place, [*call, f"root@{SERVER}", f"cat {place.file}"])


@contextmanager
def rsync(place: Place) -> Iterator[Download]:
    """Over an ssh whose proxy command is a session; one that ends early would be started again."""
    with sshd(place.scene.server, SERVER, place.folder) as call:
        proxy = shlex.join(place.scene.session("connect", "--peer", PEER, "%h", "%p"))
        yield copied(place, [*call, f'-o"ProxyCommand {proxy}"'])


@contextmanager
def iperf3(place: Place) -> Iterator[Download]:
    """As much as the file has, of its own pattern.

    Where a socket is full iperf3 3.12 does not send a file unchanged (its `-F`), by a session or without.
    """
    size = str(place.file.stat().st_size)
    log = place.folder / "client.log"
    with place.serving(["iperf3", "-s", "-1", "-p", str(IPERF)], "iperf3"):
        await_listener(place.scene.server, IPERF)
        client = ["iperf3", "-c", SERVER, "-p", str(IPERF), "-R", "-n", size, "-F", "/dev/fd/3", "--logfile", str(log)]
        yield ["sh", "-c", f"{shlex.join(_led(place, client))} 3>&1 >/dev/null"]


@contextmanager
def psql(place: Place) -> Iterator[Download]:
    """The file in rows of base64, from a real PostgreSQL, in one statement."""
    # Its server has another user, who has to read the file.
    for folder in (place.folder.parent, place.folder):
        folder.chmod(0o755)
    script = place.folder / "copy.sql"
    script.write_text(COPY)
    told = {"file": place.file, "part": PART, "last": place.file.stat().st_size // PART - 1}
    with postgres(place.scene.server, SERVER, place.folder) as client:
        values = [word for name, value in told.items() for word in ("-v", f"{name}={value}")]
        got = shlex.join(_led(place, [*client, *values, "-f", str(script)]))
        yield ["sh", "-c", f"{got} | {shlex.join([sys.executable, '-c', DECODE])}"]


@contextmanager
def static(place: Place) -> Iterator[Download]:
    """A program in Go that no preloaded library reaches."""
    source, program = place.folder / "get.go", place.folder / "get"
    source.write_text(GO)
    environment = {**os.environ, "CGO_ENABLED": "0", "HOME": str(place.folder)}
    go = shutil.which("go") or "go"
    subprocess.run([go, "build", "-o", str(program), str(source)], check=True, env=environment, cwd=place.folder)
    with pages(place, SERVER):
        yield _led(place, [str(program), f"http://{SERVER}:{PAGES}/file"])


BESIDE = (roaming.TCP, *roaming.MPTCP, roaming.QUINN[0], roaming.SESSIONS[1])
PORTS = (IPERF, POSTGRES)
"""That a session has to lead to, beside the usual ones."""
PROGRAMS = (
    *(way for way in WAYS if way.name in BESIDE),
    Way("ssh by a session", ssh, ["ssh"]),
    Way("rsync by a session", rsync, ["rsync", "ssh"]),
    Way("iperf3 by a session, counted", iperf3, ["iperf3"], counted=True),
    Way("psql by a session", psql, ["psql", "postgres", "setpriv"]),
    Way("Go, static, by a session", static, ["go"]),
)
