"""What the lab needs of the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from handfast.errors import MissingRequirementError
from handfast.lab import controller, openvswitch

CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}
"""linux/capability.h: interfaces, packet sockets, namespaces."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing the lab needs."""

    name: str
    ok: bool
    found: str
    advice: str
    """How to get it."""


def needs() -> Iterator[Need]:
    """Look at everything."""
    linux = sys.platform == "linux"
    yield Need("lab: Linux", linux, sys.platform, "the lab runs real Linux kernels: use a Linux machine or guest")
    if not linux:
        return
    library = find_spec("pyroute2") is not None
    yield Need("lab: pyroute2", library, "found" if library else "missing", "pip install pyroute2")
    lacking = _lacking()
    yield Need("lab: rights", not lacking, "all" if not lacking else f"no {', '.join(lacking)}", "run as root (sudo)")
    controls = congestion_controls()
    for name in ("reno", "cubic"):
        yield Need(f"lab: {name}", name in controls, _yes(name in controls), f"modprobe tcp_{name}")
    bbr = "bbr" in controls
    yield Need("lab: bbr", bbr, _yes(bbr), "only for scheme linux-bbr in the lab: modprobe tcp_bbr")
    capped = Path("/proc/sys/net/ipv4/tcp_rto_max_ms").exists()
    yield Need("lab: tcp_rto_max_ms", capped, _yes(capped), "only for scheme rto-max: Linux 6.15 or later")

    for name, look in (("Open vSwitch", openvswitch.missing), ("handfastd", controller.missing)):
        lacks = look()
        yield Need(f"lab: {name}", lacks is None, _yes(lacks is None), f"only for schemes with a controller: {lacks}")


OPTIONAL = frozenset({"lab: bbr", "lab: tcp_rto_max_ms", "lab: Open vSwitch", "lab: handfastd"})
"""What only some schemes need."""


def missing() -> list[Need]:
    """What every run in the lab needs and this machine lacks."""
    return [need for need in needs() if not need.ok and need.name not in OPTIONAL]


def require() -> None:
    """Raise where the lab cannot run."""
    if lacking := missing():
        what = "; ".join(f"{need.name.removeprefix('lab: ')}: {need.found} ({need.advice})" for need in lacking)
        raise MissingRequirementError(f"the lab cannot run here: {what}. `--backend sim` works without")


def require_controls(scheme: str, wanted: Iterable[str | None]) -> None:
    """Raise where this kernel lacks a congestion control that a scheme's sockets have."""
    there = congestion_controls()
    for name in wanted:
        if name is not None and name not in there:
            raise MissingRequirementError(
                f"scheme `{scheme}`: this kernel has no congestion control `{name}` (modprobe tcp_{name}); "
                "`handfast doctor` says what is there"
            )


def _yes(there: bool) -> str:
    return "found" if there else "missing"


def _lacking() -> list[str]:
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("CapEff:"):
            effective = int(line.split()[1], 16)
            return [name for name, bit in CAPABILITIES.items() if not effective >> bit & 1]
    return list(CAPABILITIES)


def congestion_controls() -> list[str]:
    """Those that this kernel has."""
    try:
        return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    except OSError:
        return []
