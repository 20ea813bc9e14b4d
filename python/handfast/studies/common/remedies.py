"""The remedies of the common table: who must change what, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterable

CHANGES = {
    "linux": "nothing",
    "cubic": "the server's TCP",
    "sack": "the server's TCP",
    "newreno": "the server's TCP",
    "reno": "the server's TCP",
    "tahoe": "the server's TCP",
    "rto-max": "the server: one setting",
    "linux-bbr": "the server: one setting",
    "bbr3": "the server's TCP",
    "iosl": "the device: a socket layer",
    "snoop": "the access point: an agent",
    "proxy": "the router: a proxy",
    "bare": "the network: a controller",
    "zwa": "the network: a controller",
    "spurious": "the network: a controller",
    "sdtp": "the network: controller, switches",
    "iosl-bbr": "the server: one setting; the device",
    "spurious-bbr": "the server: one setting; the network",
    "iosl-peers": "device and server: sessions",
    "abest-vho": "the server's TCP, the device",
    "vho": "the server's TCP, the device",
    "eln": "access point, server, device",
    "quick-start": "every router, server, device",
}
"""Who must change what before a scheme can be used. The order is the price: one machine's setting, one machine's
software, a network's, that of both ends, that of strangers' routers."""


def cheapest_first(schemes: Iterable[str]) -> list[str]:
    """The schemes in the order of their price; those without one last, in their own order."""
    prices = {scheme: price for price, scheme in enumerate(CHANGES)}
    return sorted(schemes, key=lambda scheme: prices.get(scheme, len(prices)))


def changes(scheme: str, *, reconnects: bool = False) -> str:
    """Who must change what; empty for a scheme that is not in the table.

    reconnects: it ends with the station's address, so that the application has to do its part too.
    """
    change = CHANGES.get(scheme, "")
    return f"{change}; the app reconnects" if reconnects and change else change
