//! Changes of flow entries (§6.4) and what of a match or of instructions is refused.

use std::net::{Ipv4Addr, Ipv6Addr};

use bytes::Bytes;
use handfast_core::Duration;
use handfast_net::SwitchSetup;
use handfast_wire::openflow::{
    ALL_TABLES, Action, Body, FlowMod, FlowModCommand, FlowModFlags, FlowRemovedReason, Instruction, Masked,
    Match, PortNo,
};

use crate::bench::{
    Bench, IP_A, IP_B, IPV4, MAC_A, P1, P2, P3, TCP, apply, entry, output, removed, request, segment,
};

fn to_network(octets: [u8; 4], bits: u32) -> Match {
    let mask = (bits < 32).then(|| Ipv4Addr::from_bits(u32::MAX << (32 - bits)));
    let ipv4_dst = Some(Masked { value: octets.into(), mask });
    Match { eth_type: Some(IPV4), ipv4_dst, ..Match::default() }
}

fn to_b() -> Match {
    to_network(IP_B.octets(), 32)
}

fn to_port_of_b(port: u16) -> Match {
    Match { ip_proto: Some(TCP), tcp_dst: Some(port), ..to_b() }
}

/// Three entries for traffic to 10.0.0.0/8: the network, host B, its port 80. Priorities 1, 2, 3.
fn three() -> Bench {
    let mut bench = Bench::new();
    bench.add(1, to_network([10, 0, 0, 0], 8), vec![output(P1)]);
    bench.add(2, to_b(), vec![output(P2)]);
    bench.add(3, to_port_of_b(80), vec![output(P3)]);
    bench
}

#[test]
fn an_addition_replaces_the_entry_with_the_same_match_and_priority() {
    let mut bench = Bench::new();
    let first = FlowMod { flags: FlowModFlags::SEND_FLOW_REM, ..entry(1, to_b(), vec![output(P2)]) };
    bench.change(FlowMod { cookie: 1, ..first.clone() });
    bench.packet(P1, segment(1));
    bench.wait(Duration::from_secs(1));
    bench.change(FlowMod { cookie: 2, instructions: apply(vec![output(P3)]), ..first.clone() });
    let flow = bench.flow();
    assert_eq!((flow.cookie, flow.packet_count, flow.duration_sec), (2, 1, 0));
    assert_eq!(bench.out_ports(P1, segment(1)), [P3]);
    bench.change(FlowMod { flags: FlowModFlags::RESET_COUNTS, ..first });
    assert_eq!((bench.flow().packet_count, bench.flow().byte_count), (0, 0));
    bench.add(2, to_b(), vec![]);
    assert_eq!(bench.priorities(), [2, 1]);
}

#[test]
fn a_match_in_other_words_is_the_same() {
    let mut bench = Bench::new();
    bench.add(1, to_network([10, 0, 0, 2], 32), vec![]);
    let in_words = Masked { value: IP_B, mask: Some(Ipv4Addr::BROADCAST) };
    bench.add(1, Match { ipv4_dst: Some(in_words), ..to_b() }, vec![]);
    let anywhere = Masked { value: Ipv4Addr::UNSPECIFIED, mask: Some(Ipv4Addr::UNSPECIFIED) };
    bench.add(1, Match { ipv4_src: Some(anywhere), ..to_b() }, vec![]);
    assert_eq!(bench.flows().len(), 1);
}

#[test]
fn overlaps_are_refused_if_it_is_asked_for() {
    let checked = |priority, matches| {
        let flags = FlowModFlags::CHECK_OVERLAP;
        Body::FlowMod(FlowMod { flags, ..entry(priority, matches, vec![]) })
    };
    let from_1000 = Match { tcp_dst: None, tcp_src: Some(1000), ..to_port_of_b(0) };
    for overlapping in [to_b(), to_network([10, 0, 0, 0], 24), Match::default(), from_1000] {
        let mut bench = Bench::new();
        bench.add(3, to_port_of_b(80), vec![]);
        // OFPET_FLOW_MOD_FAILED, OFPFMFC_OVERLAP.
        assert_eq!(bench.refused(checked(3, overlapping.clone())), (5, 3));
        assert_eq!(bench.flows().len(), 1);
        for priority in [2, 4] {
            assert_eq!(bench.say(checked(priority, overlapping.clone())), []);
        }
    }
    // The same match is no overlap: its entry is replaced, as by Open vSwitch.
    for apart in [to_port_of_b(81), to_network([10, 0, 1, 0], 24), to_port_of_b(80)] {
        let mut bench = Bench::new();
        bench.add(3, to_port_of_b(80), vec![]);
        assert_eq!(bench.say(checked(3, apart)), []);
    }
}

#[test]
fn a_full_table_takes_replacements_only() {
    let mut bench = Bench::of(SwitchSetup { max_entries: 2, ..SwitchSetup::new(1, [P1, P2]) });
    bench.add(1, to_b(), vec![]);
    bench.change(FlowMod { table_id: 1, ..entry(1, to_b(), vec![]) });
    // OFPET_FLOW_MOD_FAILED, OFPFMFC_TABLE_FULL: the bound is on all tables together.
    assert_eq!(bench.refused(Body::FlowMod(entry(2, to_b(), vec![]))), (5, 1));
    bench.add(1, to_b(), vec![output(P2)]);
    assert_eq!(bench.out_ports(P1, segment(1)), [P2]);
}

#[test]
fn a_modification_changes_what_is_the_same_or_narrower() {
    let mut bench = three();
    bench.packet(P1, segment(1));
    bench.wait(Duration::from_secs(1));
    let change = request(FlowModCommand::Modify, 9, to_b());
    bench.change(FlowMod {
        instructions: apply(vec![output(P1)]),
        cookie: 4,
        idle_timeout: 8,
        flags: FlowModFlags::SEND_FLOW_REM,
        ..change
    });
    let flows = bench.flows();
    let changed: Vec<_> = flows.iter().map(|flow| flow.instructions == apply(vec![output(P1)])).collect();
    assert_eq!(changed, [true, true, true]);
    assert_eq!(flows[2].matches, to_network([10, 0, 0, 0], 8));
    let first = &flows[0];
    assert_eq!((first.priority, first.cookie, first.idle_timeout, first.flags.0), (3, 0, 0, 0));
    assert_eq!((first.packet_count, first.duration_sec), (1, 1));
}

#[test]
fn a_modification_leaves_wider_entries() {
    let mut bench = three();
    bench.change(request(FlowModCommand::Modify, 0, to_port_of_b(80)));
    let empty: Vec<_> = bench.flows().iter().map(|flow| flow.instructions.is_empty()).collect();
    assert_eq!(empty, [true, false, false]);
}

#[test]
fn a_strict_modification_changes_one() {
    let mut bench = three();
    bench.change(request(FlowModCommand::ModifyStrict, 3, to_b()));
    bench.change(request(FlowModCommand::ModifyStrict, 2, to_port_of_b(80)));
    bench.change(request(FlowModCommand::ModifyStrict, 2, to_b()));
    let empty: Vec<_> = bench.flows().iter().map(|flow| flow.instructions.is_empty()).collect();
    assert_eq!(empty, [false, true, false]);
}

#[test]
fn a_modification_of_nothing_adds_nothing_and_is_no_error() {
    let mut bench = Bench::new();
    bench.change(request(FlowModCommand::Modify, 1, to_b()));
    bench.change(request(FlowModCommand::ModifyStrict, 1, to_b()));
    assert_eq!(bench.flows(), []);
}

#[test]
fn a_modification_resets_counters_if_it_says_so() {
    let mut bench = three();
    bench.packet(P1, segment(1));
    let change = request(FlowModCommand::Modify, 0, Match::default());
    bench.change(FlowMod { flags: FlowModFlags::RESET_COUNTS, ..change });
    let first = &bench.flows()[0];
    assert_eq!((first.packet_count, first.byte_count), (0, 0));
}

#[test]
fn a_deletion_takes_what_is_the_same_or_narrower() {
    let left = |matches| {
        let mut bench = three();
        bench.change(request(FlowModCommand::Delete, 0, matches));
        bench.priorities()
    };
    assert_eq!(left(Match::default()), []);
    assert_eq!(left(to_network([10, 0, 0, 0], 8)), []);
    assert_eq!(left(to_network([10, 0, 0, 0], 9)), [1]);
    assert_eq!(left(to_b()), [1]);
    assert_eq!(left(to_port_of_b(80)), [2, 1]);
    assert_eq!(left(to_port_of_b(81)), [3, 2, 1]);
    assert_eq!(left(to_network([11, 0, 0, 0], 8)), [3, 2, 1]);
}

#[test]
fn a_strict_deletion_takes_one() {
    let mut bench = three();
    bench.change(request(FlowModCommand::DeleteStrict, 3, to_b()));
    bench.change(request(FlowModCommand::DeleteStrict, 2, Match::default()));
    assert_eq!(bench.priorities(), [3, 2, 1]);
    bench.change(request(FlowModCommand::DeleteStrict, 2, to_b()));
    assert_eq!(bench.priorities(), [3, 1]);
    assert_eq!(bench.out_ports(P1, segment(1)), [P3]);
}

#[test]
fn a_deletion_is_told_of_entries_that_ask_for_it() {
    let mut bench = Bench::new();
    bench.change(FlowMod { flags: FlowModFlags::SEND_FLOW_REM, ..entry(1, to_b(), vec![output(P2)]) });
    bench.add(2, to_b(), vec![]);
    bench.wait(Duration::from_millis(1500));
    let ends = removed(&bench.say(Body::FlowMod(request(FlowModCommand::Delete, 0, to_b()))));
    assert_eq!(ends.len(), 1);
    assert_eq!((ends[0].reason, ends[0].priority), (FlowRemovedReason::Delete, 1));
    assert_eq!((ends[0].duration_sec, ends[0].duration_nsec), (1, 500_000_000));
    assert_eq!(ends[0].matches, to_b());
}

#[test]
fn a_deleted_entry_takes_its_timeouts_along() {
    let mut bench = Bench::new();
    bench.change(FlowMod { idle_timeout: 1, ..entry(1, to_b(), vec![]) });
    assert!(bench.switch.deadline().is_some());
    bench.change(request(FlowModCommand::Delete, 0, to_b()));
    assert_eq!(bench.switch.deadline(), None);
}

#[test]
fn deletions_are_by_table_or_of_all() {
    for (table_id, left) in [(0, vec![1]), (1, vec![0]), (2, vec![0, 1]), (ALL_TABLES, vec![])] {
        let mut bench = Bench::new();
        for table_id in [0, 1] {
            bench.change(FlowMod { table_id, ..entry(1, to_b(), vec![]) });
        }
        bench.change(FlowMod { table_id, ..request(FlowModCommand::Delete, 0, Match::default()) });
        assert_eq!(bench.flows().iter().map(|flow| flow.table_id).collect::<Vec<_>>(), left);
    }
}

#[test]
fn the_cookie_filters_modifications_and_deletions() {
    let cookies = |command, cookie, cookie_mask| {
        let mut bench = Bench::new();
        for cookie in [0x10, 0x11, 0x21] {
            bench.change(FlowMod { cookie, ..entry(cookie as u16, to_b(), vec![output(P2)]) });
        }
        let change = request(command, 0x11, to_b());
        bench.change(FlowMod { cookie, cookie_mask, ..change });
        let flows = bench.flows();
        let spared = flows.iter().filter(|flow| !flow.instructions.is_empty());
        spared.map(|flow| flow.cookie).collect::<Vec<_>>()
    };
    for command in [FlowModCommand::Modify, FlowModCommand::Delete] {
        assert_eq!(cookies(command, 0x10, 0xf0), [0x21]);
        assert_eq!(cookies(command, 0x01, 0x0f), [0x10]);
        assert_eq!(cookies(command, 0x99, 0), []);
        assert_eq!(cookies(command, 0x11, u64::MAX), [0x21, 0x10]);
    }
    for command in [FlowModCommand::ModifyStrict, FlowModCommand::DeleteStrict] {
        assert_eq!(cookies(command, 0x10, 0xf0), [0x21, 0x10]);
        assert_eq!(cookies(command, 0x20, 0xf0), [0x21, 0x11, 0x10]);
    }
}

#[test]
fn the_output_port_filters_deletions_only() {
    let mut bench = three();
    let change = FlowMod { out_port: P2, ..request(FlowModCommand::Modify, 0, Match::default()) };
    bench.change(FlowMod { instructions: apply(vec![output(P2), output(P1)]), ..change });
    let write = vec![Instruction::WriteActions(vec![output(P3)])];
    bench.change(FlowMod { instructions: write, ..entry(4, to_b(), vec![]) });
    let delete = request(FlowModCommand::Delete, 0, Match::default());
    bench.change(FlowMod { out_port: PortNo(7), ..delete.clone() });
    assert_eq!(bench.priorities(), [4, 3, 2, 1]);
    bench.change(FlowMod { out_port: P3, ..delete.clone() });
    assert_eq!(bench.priorities(), [3, 2, 1]);
    let strict =
        FlowMod { command: FlowModCommand::DeleteStrict, priority: 2, matches: to_b(), ..delete.clone() };
    bench.change(FlowMod { out_port: P3, ..strict.clone() });
    bench.change(FlowMod { out_port: P2, ..strict });
    assert_eq!(bench.priorities(), [3, 1]);
    // No entry sends to a group: there are none.
    bench.change(FlowMod { out_group: 1, ..delete.clone() });
    assert_eq!(bench.priorities(), [3, 1]);
    bench.change(FlowMod { out_port: P1, ..delete });
    assert_eq!(bench.priorities(), []);
}

/// Type and code with which an addition of this match is refused.
fn refused_match(matches: Match) -> (u16, u16) {
    let mut bench = Bench::new();
    let error = bench.refused(Body::FlowMod(entry(1, matches, vec![])));
    assert_eq!(bench.flows(), []);
    assert_eq!(bench.switch.counters().errors, 1);
    error
}

#[test]
fn a_field_without_its_prerequisite_is_refused() {
    let ip = |eth_type| Match { eth_type: Some(eth_type), ..Match::default() };
    let proto = |ip_proto| Match { ip_proto: Some(ip_proto), ..ip(IPV4) };
    let v4 = Some(Masked::exact(IP_A));
    let v6 = Some(Masked::exact(Ipv6Addr::LOCALHOST));
    let flags = Some(Masked::exact(2));
    let cases = [
        Match { ip_proto: Some(TCP), ..Match::default() },
        Match { ip_proto: Some(TCP), ..ip(0x0806) },
        Match { ipv4_src: v4, ..Match::default() },
        Match { ipv4_dst: v4, ..ip(0x86dd) },
        Match { ipv6_src: v6, ..ip(IPV4) },
        Match { ipv6_dst: v6, ..Match::default() },
        Match { arp_tpa: v4, ..ip(IPV4) },
        Match { tcp_src: Some(1), ..proto(17) },
        Match { tcp_dst: Some(1), ..ip(IPV4) },
        Match { udp_src: Some(1), ..proto(6) },
        Match { udp_dst: Some(1), ..Match::default() },
        Match { tcp_flags: flags, ..proto(17) },
    ];
    for matches in cases {
        // OFPET_BAD_MATCH, OFPBMC_BAD_PREREQ.
        assert_eq!(refused_match(matches.clone()), (4, 9), "{matches:?}");
    }
    let met = [
        Match { ip_proto: Some(TCP), ..ip(0x86dd) },
        Match { ipv6_src: v6, ipv6_dst: v6, ..ip(0x86dd) },
        Match { arp_tpa: v4, ..ip(0x0806) },
        Match { udp_src: Some(1), udp_dst: Some(2), ..proto(17) },
        Match { tcp_src: Some(1), tcp_dst: Some(2), tcp_flags: flags, ipv4_src: v4, ..proto(TCP) },
    ];
    let mut bench = Bench::new();
    for matches in met {
        bench.add(1, matches, vec![]);
    }
    assert_eq!(bench.flows().len(), 5);
}

#[test]
fn bad_values_and_unknown_fields_are_refused() {
    let vlan = |value, mask| Match { vlan_vid: Some(Masked { value, mask }), ..Match::default() };
    // OFPBMC_BAD_VALUE, OFPBMC_BAD_WILDCARDS, OFPBMC_BAD_FIELD.
    assert_eq!(refused_match(vlan(0x2001, None)), (4, 7));
    assert_eq!(refused_match(vlan(0x1001, Some(0x1000))), (4, 5));
    let flags = Some(Masked::exact(0x1000));
    let tcp = Match { eth_type: Some(IPV4), ip_proto: Some(TCP), tcp_flags: flags, ..Match::default() };
    assert_eq!(refused_match(tcp), (4, 7));
    let mac = Masked { value: MAC_A, mask: Some([0xff, 0, 0, 0, 0, 0]) };
    assert_eq!(refused_match(Match { eth_src: Some(mac), ..Match::default() }), (4, 5));
    let host = Masked { value: IP_A, mask: Some(Ipv4Addr::new(255, 0, 0, 0)) };
    assert_eq!(refused_match(Match { ipv4_src: Some(host), ..to_b() }), (4, 5));
    let other = Bytes::from_static(&[0x80, 0, 0x40, 1, 0]);
    assert_eq!(refused_match(Match { other, ..Match::default() }), (4, 6));
}

#[test]
fn bad_instructions_are_refused() {
    let mut bench = Bench::new();
    let mut refused = |instructions| {
        bench.refused(Body::FlowMod(FlowMod { table_id: 2, instructions, ..entry(1, to_b(), vec![]) }))
    };
    let other = |kind| vec![Instruction::Other { kind, body: Bytes::from_static(&[0; 4]) }];
    for (kind, code) in [(2, 1), (6, 1), (7, 0), (0xffff, 5)] {
        assert_eq!(refused(other(kind)), (3, code), "instruction {kind}");
    }
    // OFPBIC_BAD_TABLE_ID: not forward, or not there.
    for table in [0, 2, 4, 0xff] {
        assert_eq!(refused(vec![Instruction::GotoTable(table)]), (3, 2), "table {table}");
    }
    assert_eq!(refused(vec![Instruction::ClearActions, Instruction::ClearActions]), (3, 1));
    let action = |kind| apply(vec![Action::Other { kind, body: Bytes::from_static(&[0; 4]) }]);
    for (kind, code) in [(22, 9), (0xffff, 2), (25, 0)] {
        assert_eq!(refused(action(kind)), (2, code), "action {kind}");
    }
    for port in [PortNo(0), PortNo(0xffff_ff01), PortNo::TABLE, PortNo::ANY] {
        assert_eq!(refused(apply(vec![output(port)])), (2, 4), "{port:?}");
        assert_eq!(refused(vec![Instruction::WriteActions(vec![output(port)])]), (2, 4));
    }
    assert_eq!(refused(apply(vec![output(P1); 65])), (2, 7));
    bench.add(1, to_b(), vec![output(P1); 64]);
    bench.change(FlowMod {
        table_id: 2,
        instructions: vec![Instruction::GotoTable(3)],
        ..entry(1, to_b(), vec![])
    });
}

#[test]
fn a_bad_modification_is_refused_like_an_addition() {
    let mut bench = three();
    for command in [FlowModCommand::Modify, FlowModCommand::ModifyStrict] {
        let change = FlowMod { command, ..entry(2, to_b(), vec![output(PortNo(0))]) };
        assert_eq!(bench.refused(Body::FlowMod(change)), (2, 4));
        let change = FlowMod { table_id: ALL_TABLES, ..request(command, 2, to_b()) };
        assert_eq!(bench.refused(Body::FlowMod(change)), (5, 2));
    }
}

#[test]
fn bad_tables_flags_and_buffers_are_refused() {
    let mut bench = Bench::new();
    let add = entry(1, to_b(), vec![]);
    for table_id in [4, 0xfe, ALL_TABLES] {
        assert_eq!(bench.refused(Body::FlowMod(FlowMod { table_id, ..add.clone() })), (5, 2));
    }
    let delete = request(FlowModCommand::Delete, 1, to_b());
    assert_eq!(bench.refused(Body::FlowMod(FlowMod { table_id: 4, ..delete.clone() })), (5, 2));
    assert_eq!(bench.refused(Body::FlowMod(FlowMod { flags: FlowModFlags(0x20), ..add.clone() })), (5, 7));
    // OFPBRC_BUFFER_UNKNOWN; a deletion has no packet to send.
    assert_eq!(bench.refused(Body::FlowMod(FlowMod { buffer_id: 0, ..add })), (1, 8));
    bench.change(FlowMod { buffer_id: 0, ..delete });
    assert_eq!(bench.flows(), []);
}
