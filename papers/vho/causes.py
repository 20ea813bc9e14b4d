"""Why claims of [vho] fail: the runs with one thing changed that show it, put into words."""

from __future__ import annotations

import statistics

from handfast.reproduce import Figure, Runs, middle

from .measure import FLOWS, goodput, lost, stalled, threshold, took

SCENES = {"wlan-hsdpa": 100, "hsdpa-lte": 500, "wlan-lte": 1000, "lte-wlan": 1000, "lte-15ms": 1000, "lte-50ms": 1000}
"""Of the sweeps `chirps` and `chirps-breaks`, with the packets that are counted."""
SHARED = {"egprs-lte": 500, "lte-15ms": 1000, "lte-50ms": 1000}
"""Of the sweep `shares`."""
GAPS = ("700ms", "1s", "1300ms", "1600ms")
"""Of the sweep `gaps`."""
OPEN = ("queue-18", "queue-27", "queue-36", "wire-5ms", "wire-1ms")
"""Of the sweep `wlan`."""


def of(packets: int) -> Figure:
    """The time until so many packets are acknowledged through the new link."""
    return lambda run: took(run, packets)


def chirps(runs: Runs, *scenes: str) -> str:
    """Chirps as long as the window, and of eight segments."""

    def row(scheme: str, scene: str) -> str:
        figure = of(SCENES[scene])
        some = (middle(runs, figure, scheme, scene=scene, count=count) for count in FLOWS)
        return f"{scheme} {', '.join(f'{one:.2f}' for one in some)}"

    def found(scene: str) -> str:
        four = (
            f"{middle(runs, threshold, scheme, scene=scene, count=FLOWS[-1]):.0f}" for scheme in ("abest-short", "vho")
        )
        some = "; ".join(row(scheme, scene) for scheme in ("tcp", "vho", "abest-vho", "abest-short"))
        return f"{scene}: {some} (least ssthresh of four flows {' and '.join(four)} segments)"

    return (
        "A chirp as long as the window cannot leave before all that is under way is acknowledged, and takes more than "
        "a round trip then. Seconds with 1, 2 and 4 flows, and with chirps of eight segments (abest-short): "
        f"{'. '.join(map(found, scenes))}. With several flows each one's chirps meet the others', and who measures too "
        "little is the slowest: the least ssthresh beside the share that vho is told of"
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
        "With one flow the timer happens to expire just after a link that was gone for 1 s is back: who waits for it "
        f"loses nothing against who is told. Outages of other lengths, seconds: {'. '.join(map(found, GAPS))}"
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
