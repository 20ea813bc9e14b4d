"""A grid as a file has it: named choices on each axis, and what they replace in a scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import api
from handfast.errors import InputError, refuse_unknown, unknown
from handfast.results import BACKENDS, SIM
from handfast.studies.grid import Point, ScenarioCell
from handfast.values import Overrides, pairs

if TYPE_CHECKING:
    from handfast.api import Scenario


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep's file says."""

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

    def cells(self, only: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> list[ScenarioCell]:
        """The runs of the choices in `only`; a point is (axis, choice) for each axis."""
        self._check(only)
        base = api.load(self.scenario, self.fixed)
        schemes = [scheme for scheme in self.schemes if scheme in base.schemes] if self.schemes else base.schemes
        kept = [
            [(axis, name) for name in choices if name in only.get(axis, choices)] for axis, choices in self.axes.items()
        ]
        variants = [(point, self._variant(base, point)) for point in product(*kept)]
        return [
            ScenarioCell(point, variant, scheme, seed, backend, self.with_series)
            for point, variant in variants
            for scheme in schemes
            for backend in self.backends
            for seed in seeds
        ]

    def every_scheme(self) -> list[str]:
        """The schemes of its scenario, in the file's order."""
        return api.load(self.scenario, self.fixed).schemes

    def _variant(self, base: Scenario, point: Point) -> Scenario:
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
