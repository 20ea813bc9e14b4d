"""A paper's folder: its sweeps in TOML, its claims in Python, and where such folders are."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handfast import api, shipped, sweeps
from handfast.errors import InputError, refuse_unknown, unknown
from handfast.results import BACKENDS, SIM
from handfast.studies.reproduce.runs import Runs
from handfast.studies.reproduce.verdict import Finding
from handfast.values import Overrides, pairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from handfast.api import Scenario

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
    ) -> Callable[[Judge], Judge]:
        """Register the function below as the judge of `KEY-name`."""

        def register(judge: Judge) -> Judge:
            self.all.append(Claim(f"{self.key}-{name}", title, paper, tuple(needs), judge, figure, beyond))
            return judge

        return register


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep as its file has it: named choices on each axis, and what they replace in the scenario."""

    name: str
    scenario: Path
    schemes: tuple[str, ...]
    """Empty: all of the scenario."""
    seeds: tuple[int, ...]
    quick_seeds: tuple[int, ...]
    backends: tuple[str, ...]
    with_series: bool
    fixed: Overrides
    axes: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]]

    def cells(self, only: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> list[sweeps.Cell]:
        """The runs of the choices in `only`; a point is (axis, choice) for each axis."""
        self._check(only)
        base = api.load(self.scenario, self.fixed)
        schemes = [scheme for scheme in self.schemes if scheme in base.schemes] if self.schemes else base.schemes
        kept = [
            [(axis, name) for name in choices if name in only.get(axis, choices)] for axis, choices in self.axes.items()
        ]
        variants = [(point, self._variant(base, point)) for point in product(*kept)]
        return [
            sweeps.Cell(point, variant, scheme, seed, backend, self.with_series)
            for point, variant in variants
            for scheme in schemes
            for backend in self.backends
            for seed in seeds
        ]

    def every_scheme(self) -> list[str]:
        """The schemes of its scenario, in the file's order."""
        return api.load(self.scenario, self.fixed).schemes

    def _variant(self, base: Scenario, point: sweeps.Point) -> Scenario:
        return base.with_overrides([pair for axis, choice in point for pair in self.axes[axis][choice]])

    def _check(self, only: Mapping[str, Sequence[str]]) -> None:
        for axis, names in only.items():
            unknown = [name for name in names if name not in self.axes.get(axis, {})]
            if unknown:
                raise InputError(f"sweep {self.name}: axis {axis!r} has no choice {unknown[0]!r}")


KEYS = {"scenario", "schemes", "seeds", "quick_seeds", "backends", "series", "set", "axes"}


def read_plan(path: Path) -> Plan:
    """Read a sweep's file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if strange := sorted(set(data) - KEYS):
            raise unknown(f"{path}: unknown key {strange[0]!r}", strange[0], sorted(KEYS))
        return Plan(
            name=path.stem,
            scenario=path.parent.parent / data["scenario"],
            schemes=tuple(data.get("schemes", ())),
            seeds=_seeds(path, data["seeds"]),
            quick_seeds=_seeds(path, data.get("quick_seeds", data["seeds"])),
            backends=_backends(path, data.get("backends", [SIM])),
            with_series=bool(data.get("series", False)),
            fixed=pairs(data.get("set", {})),
            axes={
                axis: {name: pairs(values) for name, values in choices.items()}
                for axis, choices in data.get("axes", {}).items()
            },
        )
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except KeyError as error:
        raise InputError(f"{path}: the key {error} is missing") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a sweep ({error})") from error


def _seeds(path: Path, count: object) -> tuple[int, ...]:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"{path}: seeds are counted from 1, so their number is a whole one above 0, not {count!r}")
    return tuple(range(1, count + 1))


def _backends(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    refuse_unknown(names, BACKENDS, "backend called", has=f"{path}: there is")
    return tuple(names)


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
