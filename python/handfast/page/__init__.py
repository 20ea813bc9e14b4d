"""The report: one HTML file drawn from a result directory alone."""

from handfast.page.document import build

__all__ = ["build"]
