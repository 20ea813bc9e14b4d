"""How studies write JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from handfast.stats import Summary


def written(data: object) -> str:
    """A document, as `--json` prints it and files hold it."""
    return json.dumps(data, indent=2) + "\n"


def summary(one: Summary | None) -> Mapping[str, object] | None:
    """A median with its interval; None where no run has the figure."""
    return None if one is None else interval(one.median, one.low, one.high, one.count)


def interval(median: float, low: float, high: float, runs: int) -> Mapping[str, object]:
    """The same of its parts."""
    return {"median": median, "low": low, "high": high, "runs": runs}
