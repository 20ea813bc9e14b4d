"""What packets carry and what nodes do when they are lost: the claims `core`, `hdr` and `cong`."""

from __future__ import annotations

from handfast.studies.reproduce import (
    Check,
    Control,
    Figure,
    Finding,
    Measured,
    Run,
    Runs,
    above,
    at_least,
    at_most,
    medians,
    middle,
    required,
)

from .measure import beside, complete, counter, delay, goodput

DELIVERY: Figure = delay("send", "delivery", "mean")


def repeated(run: Run) -> float | None:
    """Segments that the sender has repeated."""
    return None if run.measures.retransmitted_segments is None else float(run.measures.retransmitted_segments)


def served_further_up(run: Run) -> float | None:
    """RR that a cache sent on and that another of the segment answered."""
    return required(counter("requests_climbed")(run)) - required(counter("requests_unserved")(run))


RULES: dict[str, Figure] = {
    "packets converted": counter("converted"),
    "packets reverted": counter("reverted"),
    "RR of trigger T, equation (1)": counter("requests_time"),
    "RR of trigger C, CntThres": counter("requests_count"),
    "RR of trigger R, equation (3)": counter("requests_timeout"),
    "RD": counter("repeats"),
    "RI, equation (2)": counter("informations"),
    "CN": counter("notifications"),
    "RR that the second cache of a segment answered": served_further_up,
    "RR that no cache of the segment could answer": counter("requests_unserved"),
}
"""What each rule leaves in the counters of the nodes."""
SPARED = 0.2
"""Of what the end hosts repeat without SDTP at most this share is left to them."""


def core(runs: Runs) -> Finding:
    """Every rule acts in every run; what is repaired is not left to the hosts."""

    def fewest(scheme: str, figure: Figure) -> float:
        return min(required(figure(run)) for run in runs.of(scheme))

    def judged(scheme: str) -> tuple[Check, ...]:
        return (
            *(at_least(f"{what}, fewest of any seed", fewest(scheme, figure), 1) for what, figure in RULES.items()),
            at_most("packets left unconverted", _sum(runs, scheme, "unconverted"), 0),
            at_most(
                f"repeated by the sender, {scheme} / linux",
                middle(runs, repeated, scheme) / middle(runs, repeated, "linux"),
                SPARED,
            ),
        )

    return Finding(
        (
            *(one for what, figure in RULES.items() for one in medians(runs, what, "pkt", figure, ("sdtp",))),
            *medians(runs, "repeated by the sender", "seg", repeated, ("linux", "nowhere", "sdtp")),
        ),
        judged("sdtp"),
        Control("headers converted, nothing repaired", judged("nowhere")),
        remark="Counters show that each rule acts; that it acts as written is what the scripted unit tests check "
        "(crates/assist/tests/sdtp_cache, sdtp_retransmission, crates/wire/src/sdtp)",
    )


def _sum(runs: Runs, scheme: str, name: str) -> float:
    return sum(required(counter(name)(run)) for run in runs.of(scheme))


PAYLOAD_B, OPTIONS_B = 1000, 12
"""Of each segment, with timestamps."""
TCP_IP_B, SHORT_B, OPTIONAL_B = 40, 24, 20
"""Headers of TCP and IP; the required fields of Figure 3, and its optional field."""
HEADERS = {"native": SHORT_B + OPTIONAL_B, "ip": 20 + SHORT_B + OPTIONAL_B, "udp": 28 + SHORT_B + OPTIONAL_B}
"""By carriage, without TCP's options."""


def header(runs: Runs) -> Finding:
    """Goodput by paired differences, on a core that is always busy; headers by the goodput's share of linux's."""

    def judged(scheme: str) -> tuple[Check, ...]:
        return (above(f"{scheme} above linux", beside(runs, scheme, "linux", goodput), "Mbit/s"),)

    def seen(scheme: str) -> float:
        """The header that explains a goodput, beside the 40 B of TCP and IP."""
        plain = PAYLOAD_B + OPTIONS_B + TCP_IP_B
        return plain * middle(runs, goodput, "linux") / middle(runs, goodput, scheme) - PAYLOAD_B - OPTIONS_B

    short = (PAYLOAD_B + OPTIONS_B + TCP_IP_B) / (PAYLOAD_B + OPTIONS_B + SHORT_B)
    return Finding(
        (
            *medians(runs, "goodput", "Mbit/s", goodput, ("linux", *HEADERS)),
            *(
                measured
                for scheme, length in HEADERS.items()
                for measured in (
                    Measured(f"header, {scheme}", "B", length),
                    Measured(f"header as the goodput has it, {scheme}", "B", seen(scheme)),
                )
            ),
            Measured("goodput of a header of 24 B over linux, by arithmetic", "%", 100 * (short - 1)),
        ),
        judged("native"),
        Control("IP protocol 253 in its place", judged("ip")),
        cause=(
            "The hosts are TCP's, and what they need of acknowledgments and windows travels in the optional field of "
            f"every packet: {HEADERS['native']} B (from the goodputs {seen('native'):.3g}) against {TCP_IP_B}. In IP "
            f"it is {HEADERS['ip']} B ({seen('ip'):.3g}), in UDP {HEADERS['udp']} ({seen('udp'):.3g}). The required "
            f"fields alone would give {100 * (short - 1):.2g} % more than TCP with packets of {PAYLOAD_B} B"
        ),
    )


WORDS = {
    "overflow": "a queue that overflows",
    "random": "as many random losses",
    "known": "a queue behind a cache",
}


def lost(run: Run) -> float | None:
    """Segments of the data that the network lost."""
    found = run.flow.measures.lost_segments
    return None if found is None else float(found)


def of_data(run: Run) -> float | None:
    """The mean delay of the data, from the first transmission to the delivery, ms."""
    complete(run.scheme, run.flow.measures)
    found = run.flow.measures.send_to_delivery_mean_s
    return None if found is None else 1e3 * found


def congestion(runs: Runs) -> Finding:
    """Mean delays by paired differences; "especially" by what each lost packet is spared, medians."""

    def spared(scheme: str, losses: str) -> float:
        less = middle(runs, of_data, "linux", losses=losses) - middle(runs, of_data, scheme, losses=losses)
        return less / middle(runs, lost, "linux", losses=losses)

    def judged(scheme: str) -> tuple[Check, ...]:
        return (
            *(
                above(
                    f"linux above {scheme}, {words}",
                    beside(runs, "linux", scheme, of_data, losses=losses),
                    "ms",
                )
                for losses, words in WORDS.items()
            ),
            *(
                at_least(
                    f"spared a lost packet, {scheme}, {WORDS[losses]}, against random",
                    spared(scheme, losses),
                    spared(scheme, "random"),
                    "ms",
                )
                for losses in ("overflow", "known")
            ),
        )

    def over_median(scheme: str, losses: str) -> float:
        half = middle(runs, lambda run: 1e3 * required(run.flow.measures.send_to_delivery_p50_s), scheme, losses=losses)
        return middle(runs, of_data, scheme, losses=losses) - half

    def delay(scheme: str) -> str:
        return " and ".join(f"{middle(runs, of_data, scheme, losses=at):.4g}" for at in ("overflow", "known"))

    def repair(losses: str) -> str:
        linux, mask = (over_median(scheme, losses) for scheme in ("linux", "mask"))
        return f"{linux:.3g} and {mask:.3g} ({WORDS[losses]})"

    schemes = ("linux", "sdtp", "mask", "nowhere")
    return Finding(
        tuple(
            one
            for losses in WORDS
            for one in (
                *medians(runs, "mean delay", "ms", of_data, schemes, losses=losses),
                *medians(runs, "lost", "seg", lost, schemes, losses=losses),
            )
        ),
        judged("mask"),
        Control("headers converted, nothing repaired", judged("nowhere")),
        cause=(
            "Functions are placed by losses that the controller knows, and of a queue it knows nothing: a repair "
            "comes from the sending edge. The mean delay above the median, which contains the queue, with linux and "
            f"with mask, ms: {repair('overflow')}, {repair('random')}, {repair('known')}. With a cache before the "
            "queue most of the difference is gone; what is repaired still has to pass the queue"
        ),
        remark=(
            "`sdtp` signals what a node's own queue has dropped, and `mask` repairs it as the paper does. Where a "
            f"queue overflows, and with a cache before it, ms: sdtp {delay('sdtp')}, mask {delay('mask')}, linux "
            f"{delay('linux')}"
        ),
    )
