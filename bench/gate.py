"""What is demanded of a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Gate:
    """A figure that must not be passed."""

    name: str
    measured: float
    least: float | None = None
    most: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the figure is on the right side."""
        high_enough = self.least is None or self.measured >= self.least
        return high_enough and (self.most is None or self.measured <= self.most)

    def as_json(self) -> dict[str, Any]:
        """The entry of `gates`."""
        return {
            "name": self.name,
            "measured": self.measured,
            "least": self.least,
            "most": self.most,
            "holds": self.holds,
        }

    def __str__(self) -> str:
        """What a person reads."""
        bound = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        return f"{'ok  ' if self.holds else 'FAIL'} {self.name}: {self.measured:.3g} ({bound})"
