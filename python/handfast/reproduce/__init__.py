"""`handfast reproduce`: a paper's claims, each a check that can fail."""

from handfast.reproduce.paper import Claim, Claims, Paper, known, load, need
from handfast.reproduce.runner import Order, Outcome, document, exit_code, reproduce
from handfast.reproduce.runs import Figure, Run, Runs, medians, middle, pairs, values
from handfast.reproduce.verdict import (
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
    within,
)

__all__ = [
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
    "median",
    "medians",
    "middle",
    "need",
    "pairs",
    "reproduce",
    "values",
    "within",
]
