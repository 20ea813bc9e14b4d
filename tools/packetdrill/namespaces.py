"""A script's own network: a namespace with the interface that scripts name. Modules keep their parameters."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

INTERFACE = "tun0"
"""What scripts call the tool's interface: their commands set its queue."""

MODULES = "/sys/module"

SCRIPTS_CONTROL = "cubic"
"""The congestion control that scripts expect, Linux's own default."""

VERSIONS: dict[str, list[str]] = {
    "ipv4": [
        "--ip_version=ipv4",
        "--local_ip=192.168.0.1",
        "--gateway_ip=192.168.0.1",
        "--netmask_ip=255.255.0.0",
        "--remote_ip=192.0.2.1",
        "-DCODE=host_unreachable",
        "-DCMSG_LEVEL_IP=SOL_IP",
        "-DCMSG_TYPE_RECVERR=IP_RECVERR",
    ],
    "ipv6": [
        "--ip_version=ipv6",
        "--mtu=1520",
        "--local_ip=fd3d:0a0b:17d6::1",
        "--gateway_ip=fd3d:0a0b:17d6:8888::1",
        "--remote_ip=fd3d:fa7b:d17d::1",
        "-DCMSG_LEVEL_IP=SOL_IPV6",
        "-DCMSG_TYPE_RECVERR=IPV6_RECVERR",
    ],
    "ipv4-mapped-ipv6": [
        "--ip_version=ipv4-mapped-ipv6",
        "--local_ip=192.168.0.1",
        "--gateway_ip=192.168.0.1",
        "--netmask_ip=255.255.0.0",
        "--remote_ip=192.0.2.1",
        "-DCODE=host_unreachable",
        "-DCMSG_LEVEL_IP=SOL_IPV6",
        "-DCMSG_TYPE_RECVERR=IPV6_RECVERR",
    ],
}
"""What the tool is told of addresses, as its authors' runner does, so that segments have 1,460 octets with IPv6 too."""


ADDRESSES: dict[str, list[str]] = {
    "ipv4": [
        f"addr add 192.168.0.1/16 dev {INTERFACE}",
        f"route add 192.0.2.0/24 via 192.168.0.2 dev {INTERFACE}",
    ],
    "ipv6": [
        f"addr add fd3d:0a0b:17d6::1/48 dev {INTERFACE} nodad",
        f"route add fd3d:fa7b:d17d::/48 via fd3d:0a0b:17d6:8888::1 dev {INTERFACE}",
    ],
}
"""The interface's addresses, and the ways to the tool's: scripts change them (`ip route`), the stack asks for them."""


def fits(script: Path, version: str) -> bool:
    """Whether a script is for a version of IP: by the end of its name."""
    other = "v6.pkt" if version != "ipv6" else "v4.pkt"
    return not script.name.endswith(other)


def _settable(name: str, value: str) -> list[str]:
    """Shell commands that let a setting have a value: where the kernel refuses it, a copy takes its place."""
    setting = f"/proc/sys/net/ipv4/{name}"
    return [
        f"now=$(cat {setting} 2>/dev/null)",
        f"if (echo {value} >{setting}) 2>/dev/null; then echo $now >{setting}",
        f"elif [ -e {setting} ]; then t=$(mktemp); echo $now >$t; mount --bind $t {setting}; rm $t; fi",
    ]


def _prepared() -> str:
    """Shell commands that make the network. What scripts write below `/sys/module` stays in their own copy."""
    copies = [
        f"for d in {MODULES}/tcp_*/parameters; do [ -d $d ] || continue",
        "t=$(mktemp -d); cp $d/* $t/; mount -t tmpfs none $d && cp $t/* $d/; rm -r $t; done",
    ]
    network = [
        "ip link set lo up",
        f"(ip tuntap add dev {INTERFACE} mode tun || ip link add {INTERFACE} type dummy) 2>/dev/null",
        f"ip link set {INTERFACE} up",
        *(f"ip {command}" for command in ADDRESSES["ipv4"]),
        # Not every machine has IPv6.
        "(" + " && ".join(f"ip -6 {command}" for command in ADDRESSES["ipv6"]) + " || true)",
    ]
    # No other namespace may set what the first one does not allow (`tcp_allowed_congestion_control`).
    choice = _settable("tcp_congestion_control", SCRIPTS_CONTROL)
    # Linux 6.18 knows accurate ECN, and does not let it be switched on.
    accurate = [*_settable("tcp_ecn", "3"), *_settable("tcp_ecn_option", "3")]
    return "; ".join([*copies, *choice, *accurate, " && ".join(network)])


MSS = re.compile(r"^--mss=(\d+)", re.MULTILINE)
"""A script's wish for segments that arrive joined, which the tool does not pass on to the stack."""


def _flags(script: Path, version: str) -> list[str]:
    """What the stack is told besides."""
    joined = MSS.search(script.read_text(errors="replace"))
    flags = (["mtu=1520"] if version == "ipv6" else []) + ([f"mss={joined[1]}"] if joined else [])
    return ["--so_flags=" + ",".join(flags)] if flags else []


def command(tool: Path, library: Path, script: Path, version: str) -> list[str]:
    """What runs a script in a namespace of its own."""
    run = [
        str(tool),
        "--send_omit_free",
        f"--so_filename={library}",
        *_flags(script, version),
        *VERSIONS[version],
        script.name,
    ]
    alone = ["unshare", "--net", "--mount", "--fork", "--kill-child"]
    return [*alone, "sh", "-c", f"{_prepared()} && exec {shlex.join(run)}"]
