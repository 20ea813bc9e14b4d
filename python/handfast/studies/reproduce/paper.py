"""A paper's folder: its sweeps in TOML, its claims in Python, and where such folders are."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handfast import shipped
from handfast.errors import InputError, refuse_unknown
from handfast.studies.plan import Plan, read_plan
from handfast.studies.reproduce.runs import Runs
from handfast.studies.reproduce.verdict import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLAIMS = "claims"
"""The module of a paper's folder that names its claims."""
SWEEPS = "sweeps"
"""The folder with its sweeps."""

Judge = Callable[[Runs], Finding]
Draw = Callable[[Runs], "Figure"]


@dataclass(frozen=True, slots=True)
class Need:
    """Runs that a claim looks at."""

    sweep: str
    """The sweep's name: its file without `.toml`."""
    only: Mapping[str, Sequence[str]]
    """By axis, the choices that count; an axis that is not named counts as a whole."""


def need(sweep: str, **only: str | Sequence[str]) -> Need:
    """The runs of a sweep, or those of some choices: `need("loads", load="light")`."""
    return Need(sweep, {axis: (some,) if isinstance(some, str) else tuple(some) for axis, some in only.items()})


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper, and the function that judges it."""

    id: str
    """`sdn-7a`."""
    title: str
    """What is claimed, in a line."""
    paper: str
    """The figures that the paper gives, or its words."""
    needs: tuple[Need, ...]
    judge: Judge
    figure: Draw | None
    beyond: bool
    """Our own, of what the paper leaves out."""
    files: Callable[[], object] | None = None
    """Reads what it looks at beside runs; raises `InputError` where that cannot be used."""


class Claims:
    """The claims of a paper, in the order in which their functions stand in its module."""

    def __init__(self, key: str, title: str) -> None:
        self.key = key
        self.title = title
        """The paper's."""
        self.all: list[Claim] = []

    def claim(
        self,
        name: str,
        title: str,
        *,
        paper: str,
        needs: Sequence[Need] = (),
        figure: Draw | None = None,
        beyond: bool = False,
        files: Callable[[], object] | None = None,
    ) -> Callable[[Judge], Judge]:
        """Register the function below as the judge of `KEY-name`."""

        def register(judge: Judge) -> Judge:
            self.all.append(Claim(f"{self.key}-{name}", title, paper, tuple(needs), judge, figure, beyond, files))
            return judge

        return register


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper that can be reproduced."""

    directory: Path
    claims: Claims

    @property
    def key(self) -> str:
        """`sdn`."""
        return self.claims.key

    def plan(self, name: str) -> Plan:
        """One of its sweeps."""
        return read_plan(self.directory / SWEEPS / f"{name}.toml")

    def choose(self, names: Sequence[str], *, beyond: bool = True) -> list[Claim]:
        """The claims called `7a` or `sdn-7a`, in the paper's order.

        Where no name is given, all of the paper's own; with `beyond`, ours of what it leaves out as well.
        """
        wanted = {name if name.startswith(f"{self.key}-") else f"{self.key}-{name}" for name in names}
        known = [claim.id for claim in self.claims.all]
        refuse_unknown(sorted(wanted), known, "claim", has=f"{self.key} has")
        if wanted:
            return [claim for claim in self.claims.all if claim.id in wanted]
        return [claim for claim in self.claims.all if beyond or not claim.beyond]


def known() -> list[str]:
    """Every paper's key."""
    return sorted(directory.name for directory in shipped.papers())


def load(key: str, directories: Sequence[Path] | None = None) -> Paper:
    """The paper called `key`."""
    found = {directory.name: directory for directory in directories or shipped.papers()}
    refuse_unknown([key], found, "paper")
    claims = _module(found[key]).CLAIMS
    if not isinstance(claims, Claims) or claims.key != key:
        raise InputError(f"{found[key] / CLAIMS}.py: CLAIMS is not the claims of {key!r}")
    return Paper(found[key], claims)


def _module(directory: Path) -> Any:  # noqa: ANN401 (a module known by its path alone)
    name = f"handfast_paper_{directory.name}"
    if getattr(sys.modules.get(name), "__path__", None) != [str(directory)]:
        for stale in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
            del sys.modules[stale]
        spec = importlib.util.spec_from_file_location(
            name, directory / "__init__.py", submodule_search_locations=[str(directory)]
        )
        if spec is None or spec.loader is None:
            raise InputError(f"{directory}: not a paper's folder")
        package = importlib.util.module_from_spec(spec)
        sys.modules[name] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{name}.{CLAIMS}")
