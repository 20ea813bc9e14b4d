"""handfast: what a roam does to TCP, and what each remedy does about it.

>>> import handfast
>>> comparison = handfast.compare("wifi-outage", ["reno", "sack"], seeds=range(1, 11), out="out/mine")
>>> comparison.to_frame().group_by("scheme").agg(polars.col("goodput_bps").median())
>>> comparison.figure("cwnd").save("cwnd.pdf")
>>> for result in comparison:
...     print(result.scheme, result.seed, result.aggregate.stall_s)
"""

from handfast import lab, trace
from handfast._handfast import ScenarioError, __version__
from handfast.api import Scenario, load, parse
from handfast.commands import common, compare, doctor, fidelity, peers, report, reproduce, run, schema, sweep
from handfast.commands import listing as list  # noqa: A004 (the command line's word; nothing here makes lists)
from handfast.comparison import Comparison, read
from handfast.errors import HandfastError, InputError, MissingRequirementError
from handfast.measures import FlowMeasures, Measures
from handfast.picture import Picture
from handfast.results import Document, Environment, Flow, Handover, Result, document, read_document
from handfast.studies.sweep import Sweep
from handfast.vocabulary import Vocabulary

__all__ = [
    "Comparison",
    "Document",
    "Environment",
    "Flow",
    "FlowMeasures",
    "HandfastError",
    "Handover",
    "InputError",
    "Measures",
    "MissingRequirementError",
    "Picture",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Vocabulary",
    "__version__",
    "common",
    "compare",
    "doctor",
    "document",
    "fidelity",
    "lab",
    "list",
    "load",
    "parse",
    "peers",
    "read",
    "read_document",
    "report",
    "reproduce",
    "run",
    "schema",
    "sweep",
    "trace",
]


def __dir__():  # type: ignore[no-untyped-def]  # noqa: ANN202 (`list` is a command here)
    return __all__
