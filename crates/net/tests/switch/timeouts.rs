//! Entries end by themselves (§5.5), with or without a controller (§6.3).

use handfast_core::Duration;
use handfast_net::SwitchOutput;
use handfast_wire::openflow::{Body, FlowMod, FlowModFlags, FlowRemovedReason, Match};

use crate::bench::{Bench, P1, P2, entry, output, removed, segment};

const SECOND: Duration = Duration::from_secs(1);
const NANOSECOND: Duration = Duration::from_nanos(1);

fn timed(idle_timeout: u16, hard_timeout: u16) -> FlowMod {
    let flags = FlowModFlags::SEND_FLOW_REM;
    FlowMod { idle_timeout, hard_timeout, flags, cookie: 9, ..entry(5, Match::default(), vec![output(P2)]) }
}

#[test]
fn an_entry_without_timeouts_stays() {
    let mut bench = Bench::new();
    bench.change(timed(0, 0));
    assert_eq!(bench.switch.deadline(), None);
    assert_eq!(bench.wait(Duration::from_secs(1 << 20)), []);
    assert_eq!(bench.flows().len(), 1);
}

#[test]
fn a_hard_timeout_comes_in_spite_of_traffic() {
    let mut bench = Bench::new();
    bench.change(timed(0, 3));
    for _ in 0..2 {
        bench.wait(SECOND);
        assert_eq!(bench.out_ports(P1, segment(10)), [P2]);
    }
    assert_eq!(bench.wait(Duration::from_nanos(999_999_999)), []);
    let ends = removed(&bench.wait(NANOSECOND));
    let end = &ends[0];
    assert_eq!((ends.len(), end.reason), (1, FlowRemovedReason::HardTimeout));
    assert_eq!((end.duration_sec, end.duration_nsec), (3, 0));
    assert_eq!((end.packet_count, end.byte_count), (2, 2 * (14 + 40 + 10)));
    assert_eq!((end.cookie, end.priority, end.table_id), (9, 5, 0));
    assert_eq!((end.idle_timeout, end.hard_timeout), (0, 3));
    assert_eq!(bench.out_ports(P1, segment(10)), []);
}

#[test]
fn an_idle_timeout_counts_from_the_last_packet() {
    let mut bench = Bench::new();
    bench.change(timed(2, 0));
    for _ in 0..5 {
        assert_eq!(bench.wait(Duration::from_millis(1500)), []);
        assert_eq!(bench.out_ports(P1, segment(10)), [P2]);
    }
    assert_eq!(bench.wait(Duration::from_nanos(1_999_999_999)), []);
    let ends = removed(&bench.wait(NANOSECOND));
    assert_eq!(ends[0].reason, FlowRemovedReason::IdleTimeout);
    assert_eq!((ends[0].duration_sec, ends[0].duration_nsec), (9, 500_000_000));
    assert_eq!(bench.flows(), []);
    assert_eq!(bench.switch.deadline(), None);
}

#[test]
fn the_timeout_that_comes_first_is_the_reason() {
    for (idle, hard, reason) in [
        (1, 2, FlowRemovedReason::IdleTimeout),
        (2, 1, FlowRemovedReason::HardTimeout),
        (1, 1, FlowRemovedReason::HardTimeout),
    ] {
        let mut bench = Bench::new();
        bench.change(timed(idle, hard));
        assert_eq!(removed(&bench.wait(SECOND))[0].reason, reason, "idle {idle} s, hard {hard} s");
    }
}

#[test]
fn only_entries_that_ask_for_it_are_told() {
    let mut bench = Bench::new();
    bench.change(FlowMod { flags: FlowModFlags::default(), ..timed(0, 1) });
    assert_eq!(bench.wait(SECOND), []);
    assert_eq!(bench.flows(), []);
}

#[test]
fn a_packet_at_the_very_end_is_too_late() {
    let mut bench = Bench::new();
    bench.change(timed(1, 0));
    // The driver has not called the timer yet: the switch does not depend on who comes first.
    bench.now += SECOND;
    match bench.packet(P1, segment(1)).as_slice() {
        [SwitchOutput::Message(message), SwitchOutput::Dropped(_)] => {
            assert!(matches!(message.body, Body::FlowRemoved(_)));
        }
        other => panic!("expected the end of the entry and a dropped packet, got {other:?}"),
    }
}

#[test]
fn an_entry_added_again_begins_anew() {
    let mut bench = Bench::new();
    bench.change(timed(0, 2));
    bench.wait(SECOND);
    bench.change(timed(0, 2));
    assert_eq!(bench.wait(SECOND), []);
    assert_eq!(removed(&bench.wait(SECOND)).len(), 1);
    assert_eq!(bench.switch.deadline(), None);
}

#[test]
fn a_modification_leaves_the_timeouts() {
    let mut bench = Bench::new();
    bench.change(timed(0, 2));
    bench.wait(SECOND);
    let command = handfast_wire::openflow::FlowModCommand::Modify;
    bench.change(FlowMod { command, ..timed(0, 100) });
    assert_eq!(removed(&bench.wait(SECOND))[0].hard_timeout, 2);
}

#[test]
fn without_a_controller_entries_end_by_themselves_and_nobody_is_told() {
    let mut bench = Bench::new();
    bench.change(timed(0, 2));
    assert_eq!(bench.disconnect(), []);
    assert_eq!(bench.wait(SECOND), []);
    assert_eq!(bench.out_ports(P1, segment(1)), [P2]);
    assert_eq!(bench.wait(SECOND), []);
    assert_eq!(bench.out_ports(P1, segment(1)), []);
    bench.connect();
    assert_eq!(bench.flows(), []);
}
