"""handfast: what a roam does to TCP, and what each remedy does about it.

>>> import handfast
>>> scenario = handfast.load("scenarios/wifi-outage.toml")
>>> for result in scenario.compare(["reno", "sack"]):
...     print(result.scheme, result.aggregate.stall_s, result.aggregate.goodput_bps)
"""

from handfast._handfast import ScenarioError, __version__
from handfast.api import Scenario, load, parse
from handfast.errors import HandfastError, InputError, MissingRequirementError
from handfast.results import Document, Flow, Handover, Measures, Result, document, read_document
from handfast.sweeps import Sweep

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
    "__version__",
    "document",
    "load",
    "parse",
    "read_document",
]
