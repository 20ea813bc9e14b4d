"""`handfast lab relay`: programs use our TCP endpoint on a real wire without knowing it."""

from __future__ import annotations

import threading
from typing import Annotated

import typer

from handfast import _handfast
from handfast.cli import console
from handfast.errors import InputError
from handfast.lab.requirements import require
from handfast.signals import terminable


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("relay")(relay)


def relay(
    wire: Annotated[str, typer.Argument(help="listen:PORT or connect:ADDRESS:PORT, by our endpoint.")],
    local: Annotated[
        str, typer.Argument(help="tcp-listen:ADDRESS:PORT, tcp:ADDRESS:PORT, unix-listen:PATH, unix:PATH or stdio.")
    ],
    interface: Annotated[str, typer.Option(help="An Ethernet interface on which the kernel has no address.")],
    address: Annotated[list[str], typer.Option(help="Our endpoint's IPv4 or IPv6 address; again for another.")],
    netns: Annotated[str | None, typer.Option(help="The network namespace where the interface is.")] = None,
    mac: Annotated[str | None, typer.Option(help="An Ethernet address other than the interface's.")] = None,
    neighbour: Annotated[
        list[str] | None, typer.Option(metavar="IP=MAC", help="A neighbour that is not to be asked for.")
    ] = None,
    profile: Annotated[str, typer.Option(help="How our endpoint behaves: a profile.")] = "linux",
) -> None:
    """Carry bytes between local programs and connections of our own TCP endpoint, like socat.

    \b
    handfast lab relay connect:192.0.2.2:80 tcp-listen:127.0.0.1:8080 \\
        --interface veth1 --address 192.0.2.1
    curl http://127.0.0.1:8080/
    handfast lab relay listen:80 tcp:127.0.0.1:8000 --interface veth1 --address 192.0.2.1

    Both ends have to be on one Ethernet: our endpoint knows no routers. Runs until
    Ctrl-C; with stdio, until that one connection is over.
    """
    require()
    pairs = [_pair(text) for text in neighbour or ()]
    control, outcome = _handfast.Control(), _Outcome()

    def work() -> None:
        try:
            outcome.carried = _handfast.lab_relay(
                interface,
                address,
                wire,
                local,
                netns=netns,
                mac=mac,
                neighbours=pairs,
                profile=profile,
                control=control,
            )
        except (ValueError, OSError) as error:
            outcome.error = error

    with terminable():
        worker = threading.Thread(target=work, name="relay")
        worker.start()
        try:
            worker.join()
        finally:
            control.cancel()
            worker.join()
    if outcome.error is not None:
        raise InputError(str(outcome.error)) from outcome.error
    connections, broken, there, back = outcome.carried
    console.note(f"{connections} connections, {broken} broken; {there} bytes to the wire, {back} from it")


class _Outcome:
    """What the worker leaves behind."""

    carried: tuple[int, int, int, int] = (0, 0, 0, 0)
    error: Exception | None = None


def _pair(text: str) -> tuple[str, str]:
    ip, equals, mac = text.partition("=")
    if not equals:
        raise InputError(f"--neighbour {text}: expected IP=MAC, such as 192.0.2.2=02:00:00:00:00:02")
    return ip, mac
