"""Where what these studies find goes."""

from __future__ import annotations

from pathlib import Path

OUT = Path("out") / "peers"
DOCUMENT = "peers.json"
TABLES = "tables.md"
