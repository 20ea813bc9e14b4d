"""The Python API: the same words as the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import _handfast, shipped, tasks
from handfast.engine import Progress
from handfast.errors import InputError, refuse_unknown
from handfast.results import SIM, Result
from handfast.studies.grid import Order
from handfast.values import Overrides, pairs

if TYPE_CHECKING:
    from handfast.comparison import Comparison
    from handfast.studies.sweep import Sweep


@dataclass(frozen=True, slots=True, repr=False)
class Scenario:
    """A validated scenario, ready to run."""

    core: _handfast.Scenario
    """The Rust core's view."""
    text: str
    """The file's text."""
    origin: str
    """What errors call the file."""
    overrides: tuple[tuple[str, str], ...] = ()
    """What replaces the file's values."""

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.duration_s:g} s, schemes {', '.join(self.schemes)}>"

    @property
    def name(self) -> str:
        """The `name` key, or the file's stem."""
        return self.core.name

    @property
    def description(self) -> str:
        """One line about it."""
        return self.core.description

    @property
    def hash(self) -> str:
        """Hash of the resolved content, hexadecimal."""
        return self.core.hash

    @property
    def duration_s(self) -> float:
        """How long a run lasts, seconds of virtual time."""
        return self.core.duration_s

    @property
    def schemes(self) -> list[str]:
        """The names of its schemes, in file order."""
        return list(self.core.schemes)

    def with_overrides(self, overrides: Overrides) -> Scenario:
        """The same scenario with further values replaced."""
        return parse(self.text, self.origin, (*self.overrides, *pairs(overrides)))

    def choose(self, schemes: Sequence[str] | None) -> list[str]:
        """Check the names of schemes and profiles; None means all schemes, in file order."""
        names = [*self.schemes, *(name for name, _ in _handfast.profiles() if name not in self.schemes)]
        refuse_unknown(schemes or (), names, "scheme and no profile called")
        if not schemes and not self.schemes:
            raise InputError(
                f"{self.origin}: the file has no scheme; add one, such as [schemes.sack], or name a profile "
                "(`handfast list` has them)"
            )
        return list(dict.fromkeys(schemes)) if schemes else self.schemes

    def run(
        self,
        scheme: str | None = None,
        seed: int = 1,
        *,
        backend: str = SIM,
        out: str | Path | None = None,
        captures: bool | Sequence[str] = False,
        verify_wire: bool = False,
        force: bool = False,
    ) -> Result:
        """Run one scheme (default: the first) with one seed; `compare` says what `out`, `captures` and `force` do.

        With `verify_wire` every packet is emitted and parsed at every hop; the result must not change.
        """
        chosen = self.choose([scheme] if scheme is not None else None)[:1]
        return self._perform(chosen, [seed], [backend], out, captures, verify_wire=verify_wire, force=force)[0]

    def compare(
        self,
        schemes: Sequence[str] | None = None,
        seeds: Sequence[int] = (1,),
        *,
        backends: Sequence[str] = (SIM,),
        out: str | Path | None = None,
        captures: bool | Sequence[str] = False,
        force: bool = False,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        """Run every scheme (default: all of the file) on every backend with every seed, in that order.

        `out` is the result directory: the runs, their time series, and report.html. Other runs of the scenario stay
        there; `force` replaces what it holds. `captures` writes packets as pcapng into it: True captures at the nodes
        that the scenario's `capture` names, a list at these nodes. `progress` is called with how much is done, and of
        how much.
        """
        return self._perform(
            self.choose(schemes), seeds, backends, out, captures, force=force, jobs=jobs, progress=progress
        )

    def _perform(
        self,
        schemes: Sequence[str],
        seeds: Sequence[int],
        backends: Sequence[str],
        out: str | Path | None,
        captures: bool | Sequence[str],
        *,
        verify_wire: bool = False,
        force: bool = False,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        # Both know scenarios, so they cannot be imported before this module is.
        from handfast import perform
        from handfast.comparison import Comparison

        named = captures if isinstance(captures, Sequence) else ()
        request = perform.Request(
            self.with_overrides({"capture": list(named)}) if named else self,
            schemes,
            list(seeds),
            backends,
            Path(out) if out is not None else None,
            pcap=bool(captures),
            verify_wire=verify_wire,
            jobs=jobs,
            force=force,
        )
        perform.check(request)
        tasks.check(backends, [request.scenario], schemes)
        return Comparison(perform.perform(request, progress).runs, request.out)

    def sweep(
        self,
        values: Mapping[str, Sequence[object]],
        *,
        out: str | Path,
        schemes: Sequence[str] | None = None,
        seeds: Sequence[int] = (1,),
        backends: Sequence[str] = (SIM,),
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Sweep:
        """Run every combination of `values` (by path), schemes, backends and seeds.

        Runs that `out` holds are not done again. It gets runs.parquet, runs.csv and the figure as well.
        """
        from handfast.studies import sweep

        order = Order(Path(out), schemes, seeds, jobs=jobs)
        return sweep.sweep(self, values, order, backends, progress)


def parse(text: str, name: str, overrides: Overrides = ()) -> Scenario:
    """Validate a scenario's text, called `name`; raises `ScenarioError` with the line and what was expected."""
    given = pairs(overrides)
    return Scenario(_handfast.load(text, name, given), text, name, given)


def load(path: str | Path, overrides: Overrides = ()) -> Scenario:
    """Read and validate a scenario: a file, or the name of a shipped one, such as `wifi-outage`."""
    path = shipped.resolve(path) if isinstance(path, str) else path
    try:
        with path.open("rb") as file:
            # One more than is read: a file without an end must not take the memory of the machine either.
            data = file.read(_handfast.LONGEST_FILE + 1)
        if len(data) > _handfast.LONGEST_FILE:
            raise InputError(f"{path}: the file is longer than {_handfast.LONGEST_FILE} bytes")
        text = data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error
    return parse(text, str(path), overrides)
