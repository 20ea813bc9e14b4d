//! What becomes of a packet: tables (§5.1), misses (§5.4), instructions (§5.9), actions (§5.10 to §5.12), ports (§4.5).

use handfast_net::{SwitchOutput, SwitchSetup};
use handfast_wire::openflow::{
    Action, Body, FlowMod, Instruction, Masked, Match, PacketInReason, Port, PortNo, WHOLE_PACKET,
};
use handfast_wire::{Checksums, LinkType, Packet};

use crate::bench::{
    Bench, MAC_A, P1, P2, P3, apply, entry, frame, out_ports, output, packet_in, packet_out, segment,
    to_controller,
};

fn any() -> Match {
    Match::default()
}

fn from_p1() -> Match {
    Match { in_port: Some(P1), ..any() }
}

/// Puts instructions for all packets into a table.
fn put(bench: &mut Bench, table_id: u8, instructions: Vec<Instruction>) {
    bench.change(FlowMod { table_id, instructions, ..entry(1, any(), vec![]) });
}

#[test]
fn without_an_entry_a_packet_is_dropped() {
    let mut bench = Bench::new();
    assert_eq!(bench.packet(P1, segment(1)), [SwitchOutput::Dropped(segment(1))]);
    let counters = bench.switch.counters();
    assert_eq!((counters.packets, counters.dropped), (1, 1));
}

#[test]
fn an_entry_without_instructions_drops() {
    let mut bench = Bench::new();
    put(&mut bench, 0, vec![]);
    assert_eq!(bench.out_ports(P1, segment(1)), []);
    assert_eq!(bench.flow().packet_count, 1);
}

#[test]
fn the_highest_priority_wins_in_whatever_order_they_came() {
    for order in [[1_u16, 2], [2, 1]] {
        let mut bench = Bench::new();
        for priority in order {
            let (matches, to) = if priority == 1 { (from_p1(), P2) } else { (any(), P3) };
            bench.add(priority, matches, vec![output(to)]);
        }
        assert_eq!(bench.out_ports(P1, segment(1)), [P3]);
        let counts: Vec<_> = bench.flows().iter().map(|flow| (flow.priority, flow.packet_count)).collect();
        assert_eq!(counts, [(2, 1), (1, 0)]);
    }
}

#[test]
fn counters_count_frames_and_their_bytes() {
    let mut bench = Bench::new();
    bench.add(1, any(), vec![output(P2)]);
    bench.packet(P1, segment(100));
    bench.packet(P1, segment(10));
    let flow = bench.flow();
    assert_eq!((flow.packet_count, flow.byte_count), (2, 2 * (14 + 40) + 110));
}

#[test]
fn a_packet_that_misses_goes_to_the_controller_whole() {
    let mut bench = Bench::new();
    bench.change(FlowMod { cookie: 5, ..entry(0, any(), vec![to_controller(WHOLE_PACKET)]) });
    let told = packet_in(&bench.packet(P1, segment(100)));
    assert_eq!(told.reason, PacketInReason::NoMatch);
    assert_eq!((told.table_id, told.cookie, told.buffer_id), (0, 5, u32::MAX));
    assert_eq!(told.matches, from_p1());
    assert_eq!(told.data, frame(&segment(100)));
    assert_eq!(usize::from(told.total_len), told.data.len());
    let counters = bench.switch.counters();
    assert_eq!((counters.packet_ins, counters.dropped), (1, 0));
}

#[test]
fn only_the_table_miss_entry_is_a_miss() {
    for (priority, matches) in [(1, any()), (0, from_p1())] {
        let mut bench = Bench::new();
        bench.add(priority, matches, vec![to_controller(WHOLE_PACKET)]);
        assert_eq!(packet_in(&bench.packet(P1, segment(1))).reason, PacketInReason::Action);
    }
}

#[test]
fn a_packet_in_is_cut_to_what_the_action_says() {
    let mut bench = Bench::new();
    bench.add(1, any(), vec![to_controller(60)]);
    let told = packet_in(&bench.packet(P1, segment(100)));
    assert_eq!(told.data, frame(&segment(100))[..60]);
    assert_eq!(told.total_len, 14 + 40 + 100);
}

#[test]
fn a_packet_in_fits_a_message() {
    let mut bench = Bench::new();
    bench.add(1, any(), vec![to_controller(WHOLE_PACKET)]);
    let told = packet_in(&bench.packet(P1, segment(65_495)));
    assert_eq!((told.total_len, told.data.len()), (u16::MAX, 65_535 - 42));
}

#[test]
fn applied_actions_act_in_their_order_on_a_copy_each() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![output(P3), output(P2), output(P3)]));
    assert_eq!(bench.out_ports(P1, segment(1)), [P3, P2, P3]);
}

#[test]
fn a_packet_goes_on_in_later_tables() {
    let mut bench = Bench::new();
    put(&mut bench, 0, vec![Instruction::GotoTable(2)]);
    put(&mut bench, 1, apply(vec![output(P2)]));
    put(&mut bench, 2, apply(vec![output(P3)]));
    assert_eq!(bench.out_ports(P1, segment(1)), [P3]);
    let counts: Vec<_> = bench.flows().iter().map(|flow| (flow.table_id, flow.packet_count)).collect();
    assert_eq!(counts, [(0, 1), (1, 0), (2, 1)]);
}

#[test]
fn written_actions_act_at_the_end_the_last_output_only() {
    let mut bench = Bench::new();
    let write = |to| Instruction::WriteActions(vec![output(P1), output(to)]);
    put(&mut bench, 0, vec![write(P2), Instruction::GotoTable(1)]);
    put(&mut bench, 1, vec![Instruction::ApplyActions(vec![output(P3)])]);
    assert_eq!(bench.out_ports(P1, segment(1)), [P3, P2]);
    put(&mut bench, 1, vec![write(P3)]);
    assert_eq!(bench.out_ports(P1, segment(1)), [P3]);
}

#[test]
fn instructions_are_executed_in_the_order_of_the_specification() {
    // §5.9: apply, clear, write, goto, however they stand.
    let mut bench = Bench::new();
    put(&mut bench, 0, vec![Instruction::WriteActions(vec![output(P2)]), Instruction::GotoTable(1)]);
    put(
        &mut bench,
        1,
        vec![
            Instruction::WriteActions(vec![output(P3)]),
            Instruction::ClearActions,
            Instruction::ApplyActions(vec![output(P2)]),
        ],
    );
    assert_eq!(bench.out_ports(P1, segment(1)), [P2, P3]);
    put(&mut bench, 1, vec![Instruction::ClearActions]);
    assert_eq!(bench.out_ports(P1, segment(1)), []);
}

#[test]
fn a_miss_in_a_later_table_drops_the_action_set_too() {
    let mut bench = Bench::new();
    put(&mut bench, 0, vec![Instruction::WriteActions(vec![output(P2)]), Instruction::GotoTable(1)]);
    assert_eq!(bench.out_ports(P1, segment(1)), []);
}

#[test]
fn the_controller_in_the_action_set_is_told_with_the_last_table() {
    let mut bench = Bench::new();
    put(&mut bench, 0, vec![Instruction::WriteActions(vec![to_controller(20)]), Instruction::GotoTable(1)]);
    bench.change(FlowMod { table_id: 1, cookie: 4, instructions: vec![], ..entry(3, any(), vec![]) });
    let told = packet_in(&bench.packet(P1, segment(1)));
    assert_eq!((told.table_id, told.cookie, told.reason), (1, 4, PacketInReason::Action));
}

#[test]
fn never_back_out_of_the_port_of_arrival_unless_it_is_said() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![output(P1)]));
    assert_eq!(bench.out_ports(P1, segment(1)), []);
    assert_eq!(bench.out_ports(P2, segment(1)), [P1]);
    put(&mut bench, 0, apply(vec![output(PortNo::IN_PORT)]));
    assert_eq!(bench.out_ports(P2, segment(1)), [P2]);
}

#[test]
fn all_and_flood_leave_out_the_port_of_arrival() {
    for port in [PortNo::ALL, PortNo::FLOOD] {
        let mut bench = Bench::new();
        put(&mut bench, 0, apply(vec![output(port)]));
        assert_eq!(bench.out_ports(P2, segment(1)), [P1, P3]);
    }
}

#[test]
fn normal_is_the_drivers_own_forwarding() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![output(PortNo::NORMAL)]));
    assert_eq!(bench.packet(P2, segment(1)), [SwitchOutput::Normal(P2, segment(1))]);
}

#[test]
fn a_port_that_is_not_there_takes_nothing() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![output(PortNo(9)), output(PortNo::LOCAL)]));
    assert_eq!(bench.out_ports(P1, segment(1)), []);
    assert_eq!(bench.out_ports(PortNo(9), segment(1)), []);
}

#[test]
fn a_packet_without_a_frame_is_dropped() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![output(P2)]));
    let packet = Packet { ethernet: None, ..segment(1) };
    assert_eq!(bench.out_ports(P1, packet), []);
}

/// A switch whose third port is as told.
fn with_third_port(config: u32, state: u32) -> Bench {
    let mut setup = SwitchSetup::new(1, [P1, P2, P3]);
    let port = &mut setup.ports[2];
    *port = Port { config, state, ..port.clone() };
    Bench::of(setup)
}

#[test]
fn a_ports_configuration_and_state_are_kept() {
    // (config, state): what arrives is taken, output, all, flood leave there.
    let cases = [
        ((0, 0), [true, true, true, true]),
        ((1, 0), [false, false, false, false]),
        ((1 << 2, 0), [false, true, true, true]),
        ((1 << 5, 0), [true, false, false, false]),
        ((0, 1), [false, false, false, false]),
        ((0, 1 << 1), [true, true, true, false]),
    ];
    for ((config, state), expected) in cases {
        let mut bench = with_third_port(config, state);
        put(&mut bench, 0, apply(vec![output(P2)]));
        let taken = bench.out_ports(P3, segment(1)) == [P2];
        let mut leaves = |port| {
            put(&mut bench, 0, apply(vec![output(port)]));
            bench.out_ports(P1, segment(1)).contains(&P3)
        };
        let leaves = [leaves(P3), leaves(PortNo::ALL), leaves(PortNo::FLOOD)];
        assert_eq!([taken, leaves[0], leaves[1], leaves[2]], expected, "config {config}, state {state}");
    }
}

#[test]
fn a_port_may_forbid_packet_ins() {
    let mut bench = with_third_port(1 << 6, 0);
    put(&mut bench, 0, apply(vec![to_controller(WHOLE_PACKET)]));
    assert_eq!(bench.out_ports(P3, segment(1)), []);
    packet_in(&bench.packet(P1, segment(1)));
    assert_eq!(bench.switch.counters().packet_ins_lost, 1);
}

#[test]
fn without_a_controller_packet_ins_are_dropped_and_counted() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![to_controller(WHOLE_PACKET)]));
    bench.disconnect();
    assert_eq!(bench.packet(P1, segment(1)), [SwitchOutput::Dropped(segment(1))]);
    let counters = bench.switch.counters();
    assert_eq!((counters.packet_ins, counters.packet_ins_lost), (0, 1));
    bench.connect();
    packet_in(&bench.packet(P1, segment(1)));
}

#[test]
fn a_packet_out_says_what_the_tables_match() {
    let mut bench = Bench::new();
    for (value, to) in [(0, P2), (7, P3)] {
        let matches = Match { metadata: Some(Masked::exact(value)), ..any() };
        bench.add(1, matches, vec![output(to)]);
    }
    let (sent, table) = (segment(1), || output(PortNo::TABLE));
    let actions = [
        (vec![table()], vec![P2]),
        (vec![Action::SetMetadata(7), table()], vec![P3]),
        (vec![Action::SetMetadata(7), table(), Action::SetMetadata(0), table()], vec![P3, P2]),
    ];
    for (actions, expected) in actions {
        let outputs = bench.say(packet_out(P1, actions, &sent));
        assert_eq!(out_ports(&outputs, &sent), expected);
    }
    assert_eq!(bench.out_ports(P1, segment(1)), [P2], "what arrives says nothing");
    let too_much = packet_out(P1, vec![Action::SetMetadata(1 << 32)], &sent);
    assert_eq!(bench.refused(too_much), (2, 0), "this switch has 32 bits");
}

#[test]
fn a_packet_out_takes_its_actions() {
    let mut bench = Bench::new();
    let sent = segment(10);
    let outputs = bench.say(packet_out(PortNo::CONTROLLER, vec![output(P1), output(P3)], &sent));
    assert_eq!(out_ports(&outputs, &sent), [P1, P3]);
    let outputs = bench.say(packet_out(P1, vec![output(PortNo::FLOOD)], &sent));
    assert_eq!(out_ports(&outputs, &sent), [P2, P3]);
    assert_eq!(bench.say(packet_out(P1, vec![], &sent)), [SwitchOutput::Dropped(sent)]);
    assert_eq!(bench.switch.counters().packet_outs, 3);
}

#[test]
fn a_packet_out_may_go_through_the_tables() {
    let mut bench = Bench::new();
    bench.add(1, from_p1(), vec![output(P2)]);
    bench.add(1, Match { in_port: Some(PortNo::CONTROLLER), ..any() }, vec![output(P3)]);
    for (in_port, way) in [(P1, P2), (PortNo::CONTROLLER, P3)] {
        let outputs = bench.say(packet_out(in_port, vec![output(PortNo::TABLE)], &segment(1)));
        assert_eq!(out_ports(&outputs, &segment(1)), [way]);
    }
}

#[test]
fn a_packet_out_to_the_controller_belongs_to_no_entry() {
    let mut bench = Bench::new();
    let told = packet_in(&bench.say(packet_out(P2, vec![to_controller(30)], &segment(1))));
    assert_eq!((told.cookie, told.reason, told.data.len()), (u64::MAX, PacketInReason::Action, 30));
    assert_eq!(told.matches.in_port, Some(P2));
}

#[test]
fn the_mark_of_corruption_survives_the_controller() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![to_controller(WHOLE_PACKET)]));
    for corrupted in [false, true] {
        let told = packet_in(&bench.packet(P1, Packet { corrupted, ..segment(100) }));
        let parsed = Packet::parse(LinkType::Ethernet, &told.data, Checksums::Verify).unwrap();
        assert_eq!(parsed.corrupted, corrupted);
        let back = bench.say(packet_out(P1, vec![output(P2)], &parsed));
        assert_eq!(back, [SwitchOutput::Forward(P2, parsed)]);
    }
}

#[test]
fn a_packet_without_a_form_on_the_wire_is_not_told() {
    let mut bench = Bench::new();
    put(&mut bench, 0, apply(vec![to_controller(WHOLE_PACKET)]));
    let mut packet = segment(1);
    packet.ethernet.as_mut().unwrap().vlan =
        Some(handfast_wire::Vlan { priority: 8, drop_eligible: false, id: 1 });
    assert_eq!(bench.out_ports(P1, packet), []);
    assert_eq!(bench.switch.counters().packet_ins_lost, 1);
}

#[test]
fn a_frame_that_is_no_packet_here_is_refused_and_counted() {
    let mut bench = Bench::new();
    let mut arp = vec![0xff; 12];
    arp.extend([0x08, 0x06]);
    arp.extend([0; 28]);
    arp[6..12].copy_from_slice(&MAC_A);
    for data in [arp.into(), bytes::Bytes::new(), bytes::Bytes::from_static(&[7; 50])] {
        let Body::PacketOut(mut request) = packet_out(P1, vec![output(P2)], &segment(1)) else {
            unreachable!()
        };
        request.data = data;
        // OFPET_BAD_REQUEST, OFPBRC_BAD_PACKET.
        assert_eq!(bench.refused(Body::PacketOut(request)), (1, 12));
    }
    assert_eq!(bench.switch.counters().unparsable, 3);
    assert_eq!(bench.switch.counters().packet_outs, 0);
}
