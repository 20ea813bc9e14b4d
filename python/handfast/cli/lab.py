"""`handfast lab`: what runs have left behind and how to be rid of it; other commands have files of their own."""

from __future__ import annotations

import json as json_module
import sys
from typing import Annotated

import typer

from handfast import lab
from handfast.cli import console, lab_measure, lab_relay, options
from handfast.lab.names import existing

group = typer.Typer(
    no_args_is_help=True, help="The lab: what it carries, what it left behind, and our endpoint for programs."
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    lab_measure.register(group)
    lab_relay.register(group)
    app.add_typer(group, name="lab")


@group.command("list")
def list_(json: options.JsonOption = False) -> None:
    """List the lab's namespaces on this machine, or what files are left of them, and whose they are.

    \b
    handfast lab list
    ip netns exec NAME ss -ti          looks into one of them
    """
    found = [{"name": space.name, "pid": space.pid, "orphan": space.is_orphan} for space in existing()]
    if json:
        sys.stdout.write(json_module.dumps({"namespaces": found}, indent=2) + "\n")
        return
    for space in found:
        sys.stdout.write(f"{space['name']}  {'left behind' if space['orphan'] else 'in use'}\n")


@group.command("clean")
def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="Also those of processes that still run: their runs will fail.")
    ] = False,
) -> None:
    """Remove namespaces and files whose process is gone, for instance after a SIGKILL.

    \b
    handfast lab clean

    Veths, bridges and routes live inside the namespaces and go with them. A run
    that ends by itself, by an error, Ctrl-C or SIGTERM leaves nothing behind.
    """
    if lab.leftovers(everything=everything):
        lab.require()
    removed = lab.clean(everything=everything)
    console.note(f"{len(removed)} namespaces removed, with their files")
