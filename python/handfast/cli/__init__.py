"""The command line: one file a command, each a thin face of the API."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from handfast._handfast import Cancelled, __version__
from handfast.cli import (
    common,
    compare,
    console,
    doctor,
    fidelity,
    lab,
    listing,
    peers,
    report,
    reproduce,
    run,
    schema,
    sweep,
    trace,
)
from handfast.errors import INTERRUPTED, WRONG_INPUT, HandfastError, HandfastWarning, ScenarioError
from handfast.signals import terminable


class Commands(TyperGroup):
    """Turns what commands raise into a message on stderr and an exit code; a traceback is for our own bugs."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 (the base class is of a vendored, untyped kind)
        """Run the command."""
        try:
            with terminable(), _warnings_as_lines():
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except ScenarioError as error:
            _fail(str(error), WRONG_INPUT)
        except HandfastError as error:
            _fail(f"error: {error}", error.exit_code)
        except (KeyboardInterrupt, Cancelled):
            _fail("interrupted", INTERRUPTED)
        except BrokenPipeError:
            # Whoever read has what it wanted, as `head` has: the base class ends quietly.
            raise
        except OSError as error:
            _drop_output()
            _fail(f"error: {error.filename or 'output'}: {error.strerror or error}", WRONG_INPUT)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Our own warnings are for people: without the line of Python that raised them."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", HandfastWarning)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, HandfastWarning):
                console.note(f"warning: {message}")
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _drop_output() -> None:
    """Discard what standard output could not take, or the interpreter would try again at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    sys.stderr.write(message.rstrip() + "\n")
    raise typer.Exit(code)


app = typer.Typer(
    cls=Commands,
    name="handfast",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"handfast {__version__}\n")
        raise typer.Exit


@app.callback()
def about(
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Show what a roam does to TCP, and compare every remedy side by side.

    \b
    handfast compare wifi-outage           one table, and a report with the curves
    handfast run wifi-outage --scheme sack --out out/sack
    handfast sweep wifi-outage --set links.radio.loss=0.001,0.01 --seeds 1..10
    handfast reproduce sdn/7a --quick      a paper's claim, judged
    handfast list                          what there is to start from

    Exit codes: 0 done, 1 a comparison or a claim failed, 2 wrong input or a missing
    requirement, 130 interrupted.
    """


for _module in (run, compare, common, sweep, reproduce, peers, report, listing, schema, trace, doctor, lab, fidelity):
    _module.register(app)


def main() -> None:
    """Entry point of the `handfast` command."""
    app()
