"""The claims of SDTP's paper: looks at some of them, and what they measure."""

from __future__ import annotations

import json
import re
import sys
from types import ModuleType
from typing import Any

import pytest

from conftest import ROOT, Command
from handfast.measures import Measures
from handfast.studies import reproduce
from handfast.studies.reproduce import paper


def look(handfast: Command, claim: str) -> dict[str, Any]:
    (one,) = json.loads(handfast("reproduce", f"sdtp/{claim}", "--quick", "--json").stdout)["claims"]
    return dict(one)


@pytest.fixture
def measure() -> ModuleType:
    paper.load("sdtp")
    return sys.modules["handfast_paper_sdtp.measure"]


def test_a_handshake_crosses_the_access_links_and_the_controller(handfast: Command) -> None:
    one = look(handfast, "hs")
    assert one["verdict"] == "holds"
    assert "100000 >= 100000 B" in one["reason"]
    assert (one["measured"]["links_crossed_linux"], one["measured"]["links_crossed_sdtp_10"]) == (18, 6)
    # 1,024 connections: an order each for the closing ACK, and five nodes that are told of both directions.
    assert one["measured"]["orders_a_run_besides_sdtp_10"] == pytest.approx(1034, abs=2)
    assert "fails, as it must (links crossed, linux: 18 <= 6)" in one["control"]


def test_caches_keep_their_bounds(handfast: Command) -> None:
    one = look(handfast, "cache")
    assert one["verdict"] == "holds"
    largest = {cache: one["measured"][f"largest_cache_{cache}_sdtp_b"] for cache in ("4mb", "20kb", "6kb")}
    assert 5_000 < largest["6kb"] <= 6_000 < largest["20kb"] <= 20_000 < largest["4mb"]
    assert one["measured"]["largest_cache_4mb_never_released_b"] > 2 * largest["4mb"]


def test_the_header_is_no_shorter_with_what_tcp_needs(handfast: Command) -> None:
    one = look(handfast, "hdr")
    assert one["verdict"] == "fails"
    for carriage, length in (("native", 44), ("ip", 64), ("udp", 72)):
        assert one["measured"][f"header_{carriage}_b"] == length
        assert one["measured"][f"header_as_the_goodput_has_it_{carriage}_b"] == pytest.approx(length, abs=1)
    assert "travels in the optional field" in one["reason"]


def test_an_ri_for_both_triggers_spares_what_one_for_counts_does_not(handfast: Command) -> None:
    one = look(handfast, "ri")
    assert one["verdict"] == "fails"
    untold, told, both = (
        one["measured"][f"needless_5_15ms_{scheme}_rr"]["median"] for scheme in ("untold", "sdtp", "told_of_both")
    )
    assert both < 0.7 * untold
    assert told > 0.8 * untold


def test_the_unit_tests_that_the_page_names_are_there() -> None:
    page = (ROOT / "docs" / "reference" / "claims" / "sdtp-core.md").read_text(encoding="utf-8")
    named = re.findall(r"`(crates/[\w/]+\.rs)`: `(\w+)`", page)
    assert len(named) > 15
    assert [name for file, name in named if f"fn {name}(" not in (ROOT / file).read_text(encoding="utf-8")] == []


def test_delays_that_leave_out_the_slowest_are_not_judged(measure: ModuleType) -> None:
    measure.complete("x", Measures(measured_packets=1000, delivered_packets=1000))
    for sent, delivered in ((1000, 999), (900, 900), (None, None)):
        with pytest.raises(reproduce.NotRun):
            measure.complete("x", Measures(measured_packets=sent, delivered_packets=delivered))


def test_where_a_difference_falls_to_zero(measure: ModuleType) -> None:
    above = {"0": 3.0, "1": 1.0, "3": -1.0, "5": -2.0}
    assert measure.crossing(list(above), above.__getitem__) == pytest.approx(2.0)
    assert measure.crossing(["0", "1"], above.__getitem__) is None
    assert measure.crossing(["3", "5"], above.__getitem__) is None
