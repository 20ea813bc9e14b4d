"""handfast: what a roam does to TCP, and what each remedy does about it.

>>> import handfast
>>> scenario = handfast.load("scenarios/wifi-outage.toml")
>>> for result in scenario.compare(["reno", "sack"]):
...     print(result.scheme, result.aggregate.stall_s, result.aggregate.goodput_bps)
"""

from handfast._handfast import ScenarioError, __version__
from handfast.api import Scenario, load, parse
from handfast.commands import doctor, report, schema
from handfast.commands import listing as list  # noqa: A004 (the command line's word; nothing here makes lists)
from handfast.errors import HandfastError, InputError, MissingRequirementError
from handfast.results import Document, Flow, Handover, Measures, Result, document, read_document
from handfast.sweeps import Sweep
from handfast.vocabulary import Vocabulary

__all__ = [
    "Document",
    "Flow",
    "HandfastError",
    "Handover",
    "InputError",
    "Measures",
    "MissingRequirementError",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Vocabulary",
    "__version__",
    "doctor",
    "document",
    "list",
    "load",
    "parse",
    "read_document",
    "report",
    "schema",
]
