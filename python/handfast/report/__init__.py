"""The report: one HTML file drawn from a result directory alone."""

from handfast.report.page import build

__all__ = ["build"]
