"""Why claims of [vho] fail: the runs with one thing changed that show it, put into words."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from handfast.studies.reproduce import Figure, Runs, middle

from .measure import FLOWS, goodput, lost, stalled, took

SHARED = {"egprs-lte": 500, "lte-15ms": 1000, "lte-50ms": 1000}
"""Of the sweep `shares`."""
GAPS = ("700ms", "1s", "1300ms", "1600ms")
"""Of the sweep `gaps`."""
OPEN = ("queue-18", "queue-27", "queue-36", "wire-5ms", "wire-1ms")
"""Of the sweep `wlan`."""


def of(packets: int) -> Figure:
    """The time until so many packets are acknowledged through the new link."""
    return lambda run: took(run, packets)


def chirps(runs: Runs, packets: int, *places: Mapping[str, str]) -> str:
    """Chirps as long as the window, chirps of eight segments, and no measurement at all; a place is its choices."""

    def row(scheme: str, place: Mapping[str, str]) -> str:
        some = (middle(runs, of(packets), scheme, **place, flows=count) for count in FLOWS)
        return f"{scheme} {', '.join(f'{one:.2f}' for one in some)}"

    def found(place: Mapping[str, str]) -> str:
        schemes = ("tcp", "vho", "unmeasured", "abest-vho", "abest-short")
        return ": ".join([*place.values(), "; ".join(row(scheme, place) for scheme in schemes)])

    return (
        "A chirp as long as the window cannot leave before all that is under way is acknowledged. Seconds with 1, 2 "
        "and 4 flows, beside chirps of eight segments (abest-short) and abest-vho's rules without a measurement "
        f"(unmeasured): {'. '.join(map(found, places))}"
    )


def shares(runs: Runs, *scenes: str) -> str:
    """The whole link for who asks first, or its share for each."""

    def found(scene: str) -> str:
        def spread(scheme: str) -> str:
            some = runs.of(scheme, "shares", scene=scene)
            both = (
                statistics.median(known)
                for pick in (min, max)
                if (known := [time for run in some if (time := took(run, SHARED[scene], pick)) is not None])
            )
            return " to ".join(f"{one:.2f}" for one in both)

        return f"{scene}: {', '.join(f'{scheme} {spread(scheme)}' for scheme in ('tcp', 'qs', 'qs-share'))}"

    return (
        "Each flow asks for the whole link: who asks first gets it, the others start into its queue, and the slowest "
        "is what counts. Seconds of the fastest to the slowest of four flows, and where each asks for its share "
        f"(qs-share): {'; '.join(map(found, scenes))}"
    )


def timers(runs: Runs) -> str:
    """When the timer expires after an outage of other lengths."""

    def found(gap: str) -> str:
        def one(scheme: str) -> str:
            return f"{scheme} {middle(runs, of(100), scheme, sweep='gaps', gap=gap):.2f}"

        halt = middle(runs, stalled, "tcp", sweep="gaps", gap=gap)
        return f"{gap}: tcp halts {halt:.2f}; {', '.join(map(one, ('tcp', 'qs', 'iw10', 'vho', 'abest-vho')))}"

    return (
        "With one flow the timer expires soon after a link that was gone for 1 s is back: tcp and iw10, who wait for "
        "it, lose little against who is told, and Quick-Start gains, which then asks with the repetition and is told "
        f"the whole rate. Outages of other lengths, seconds: {'. '.join(map(found, GAPS))}"
    )


def bounds(runs: Runs) -> str:
    """What slow start without a bound is worth in so short a transfer, and WLAN with another queue or wire."""

    def found(choice: str) -> str:
        estimated, asked = (middle(runs, goodput, scheme, sweep="wlan", open=choice) for scheme in ("abest-vho", "qs"))
        gone = middle(runs, lost, "abest-vho", sweep="wlan", open=choice)
        return f"{choice}: abest-vho / qs {estimated / asked:.2f}, {gone:.0f} lost"

    def short(scheme: str) -> str:
        return f"{middle(runs, goodput, scheme, sweep='start', link='lte', flows='4', packets='400'):.2f}"

    return (
        "An estimate bounds slow start, it does not make it faster, and so short a transfer gains by overshooting: "
        f"LTE, 4 flows, 400 packets: vho {short('vho')} Mbit/s, without its bound {short('no-initial-ssthresh')}. On "
        "WLAN slow start has more under way than the path's 24 ms and the queue's 18 packets hold before the estimate "
        f"is back, and Quick-Start is ahead by the round trips of slow start: {'; '.join(map(found, OPEN))}"
    )
