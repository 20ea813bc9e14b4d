"""`handfast reproduce`: a paper's claims, each a check that can fail."""

from handfast.studies.reproduce.paper import Claim, Claims, Paper, known, load, need
from handfast.studies.reproduce.runner import OUT, Order, Outcome, document, exit_code, reproduce
from handfast.studies.reproduce.runs import Figure, Run, Runs, mean_time, medians, middle, pairs, values
from handfast.studies.reproduce.verdict import (
    Check,
    Control,
    Finding,
    Measured,
    NotRun,
    Verdict,
    above,
    at_least,
    at_most,
    median,
    no_less,
    within,
)

__all__ = [
    "OUT",
    "Check",
    "Claim",
    "Claims",
    "Control",
    "Figure",
    "Finding",
    "Measured",
    "NotRun",
    "Order",
    "Outcome",
    "Paper",
    "Run",
    "Runs",
    "Verdict",
    "above",
    "at_least",
    "at_most",
    "document",
    "exit_code",
    "known",
    "load",
    "mean_time",
    "median",
    "medians",
    "middle",
    "need",
    "no_less",
    "pairs",
    "reproduce",
    "values",
    "within",
]
