//! What the controller asks besides flow entries: session (§6.3, §7.5), roles (§7.3.9), statistics (§7.3.5).

use bytes::Bytes;
use handfast_net::{SwitchOutput, SwitchSetup};
use handfast_wire::openflow::{
    Body, Error, FeaturesReply, FlowModCommand, FlowStatsRequest, Hello, Match, Message, MultipartReply,
    MultipartRequest, Port, PortNo, PortReason, PortStatus, Role, RoleMessage, SwitchConfig, WHOLE_PACKET,
};

use crate::bench::{
    Bench, P1, P2, P3, all_flows, entry, output, packet_out, request, segment, to_controller,
};

fn role(role: Role, generation_id: u64) -> Body {
    Body::RoleRequest(RoleMessage { role, generation_id })
}

fn answer(role: Role, generation_id: u64) -> Body {
    Body::RoleReply(RoleMessage { role, generation_id })
}

#[test]
fn a_connection_begins_with_a_greeting() {
    let mut bench = Bench::new();
    bench.disconnect();
    let hello = Body::Hello(Hello { version: 4, bitmaps: vec![1 << 4] });
    assert_eq!(bench.connect(), [SwitchOutput::Message(Message { xid: 0, body: hello })]);
}

#[test]
fn a_controller_must_speak_1_3() {
    let mut bench = Bench::new();
    let hello = |version, bitmaps: &[u32]| Body::Hello(Hello { version, bitmaps: bitmaps.to_vec() });
    for good in [hello(4, &[]), hello(6, &[]), hello(6, &[0x52]), hello(4, &[0x10])] {
        assert_eq!(bench.say(good), []);
    }
    // OFPET_HELLO_FAILED, OFPHFC_INCOMPATIBLE.
    for bad in [hello(1, &[]), hello(3, &[]), hello(6, &[0x42]), hello(4, &[0])] {
        assert_eq!(bench.refused(bad), (0, 0));
    }
}

#[test]
fn without_a_connection_nothing_is_heard() {
    let mut bench = Bench::new();
    bench.disconnect();
    assert_eq!(bench.say(Body::FlowMod(entry(1, Match::default(), vec![]))), []);
    assert_eq!(bench.say(Body::BarrierRequest), []);
    bench.connect();
    assert_eq!(bench.flows(), []);
}

#[test]
fn echo_barrier_features() {
    let mut bench = Bench::new();
    let data = Bytes::from_static(b"there?");
    assert_eq!(bench.ask(Body::EchoRequest(data.clone())), Body::EchoReply(data));
    assert_eq!(bench.ask(Body::BarrierRequest), Body::BarrierReply);
    let features =
        FeaturesReply { datapath_id: 1, n_buffers: 0, n_tables: 4, auxiliary_id: 0, capabilities: 1 };
    assert_eq!(bench.ask(Body::FeaturesRequest), Body::FeaturesReply(features));
}

#[test]
fn there_is_at_least_one_table() {
    let mut bench = Bench::of(SwitchSetup { n_tables: 0, ..SwitchSetup::new(1, [P1, P2]) });
    bench.add(1, Match::default(), vec![output(P2)]);
    assert_eq!(bench.out_ports(P1, segment(1)), [P2]);
}

#[test]
fn configuration_is_kept() {
    let mut bench = Bench::new();
    assert_eq!(bench.switch.config(), SwitchConfig { flags: 0, miss_send_len: 128 });
    let config = SwitchConfig { flags: 1, miss_send_len: 99 };
    assert_eq!(bench.say(Body::SetConfig(config)), []);
    // OFPET_SWITCH_CONFIG_FAILED, OFPSCFC_BAD_FLAGS.
    assert_eq!(bench.refused(Body::SetConfig(SwitchConfig { flags: 2, miss_send_len: 0 })), (10, 0));
    assert_eq!(bench.switch.config(), config);
}

#[test]
fn roles_are_ordered_by_generation() {
    let mut bench = Bench::new();
    assert_eq!(bench.ask(role(Role::NoChange, 0)), answer(Role::Equal, u64::MAX));
    assert_eq!(bench.ask(role(Role::Master, 5)), answer(Role::Master, 5));
    assert_eq!(bench.ask(role(Role::NoChange, 3)), answer(Role::Master, 5));
    // OFPET_ROLE_REQUEST_FAILED, OFPRRFC_STALE.
    assert_eq!(bench.refused(role(Role::Slave, 4)), (11, 0));
    assert_eq!(bench.ask(role(Role::Master, 5)), answer(Role::Master, 5));
    assert_eq!(bench.ask(role(Role::Equal, 0)), answer(Role::Equal, 5));
    assert_eq!(bench.ask(role(Role::Slave, 6)), answer(Role::Slave, 6));
}

#[test]
fn generations_wrap_and_outlive_a_connection() {
    let mut bench = Bench::new();
    assert_eq!(bench.ask(role(Role::Master, u64::MAX)), answer(Role::Master, u64::MAX));
    assert_eq!(bench.ask(role(Role::Master, 1)), answer(Role::Master, 1));
    assert_eq!(bench.refused(role(Role::Master, u64::MAX)), (11, 0));
    bench.disconnect();
    bench.connect();
    assert_eq!(bench.refused(role(Role::Master, 0)), (11, 0));
    assert_eq!(bench.ask(role(Role::NoChange, 0)), answer(Role::Equal, 1));
}

#[test]
fn a_slave_may_only_look() {
    let mut bench = Bench::new();
    bench.add(1, Match::default(), vec![to_controller(WHOLE_PACKET)]);
    bench.ask(role(Role::Slave, 1));
    let changes = [
        Body::FlowMod(request(FlowModCommand::Delete, 0, Match::default())),
        packet_out(P1, vec![output(P2)], &segment(1)),
        Body::SetConfig(SwitchConfig { flags: 0, miss_send_len: 0 }),
    ];
    for change in changes {
        // OFPET_BAD_REQUEST, OFPBRC_IS_SLAVE.
        assert_eq!(bench.refused(change), (1, 10));
    }
    assert_eq!(bench.flows().len(), 1);
    assert_eq!(bench.packet(P1, segment(1)), [SwitchOutput::Dropped(segment(1))]);
    assert_eq!(bench.switch.counters().packet_ins_lost, 1);
    bench.ask(role(Role::Master, 1));
    assert_eq!(bench.say(Body::FlowMod(request(FlowModCommand::Delete, 0, Match::default()))), []);
}

#[test]
fn what_a_switch_does_not_take_is_refused() {
    let mut bench = Bench::new();
    let features =
        FeaturesReply { datapath_id: 1, n_buffers: 0, n_tables: 4, auxiliary_id: 0, capabilities: 1 };
    let body = Bytes::from_static(&[1, 2, 3]);
    for bad in
        [Body::Unknown { kind: 99, body: body.clone() }, Body::BarrierReply, Body::FeaturesReply(features)]
    {
        // OFPET_BAD_REQUEST, OFPBRC_BAD_TYPE.
        assert_eq!(bench.refused(bad), (1, 1));
    }
    let other = MultipartRequest::Other { kind: 3, flags: 0, body };
    assert_eq!(bench.refused(Body::MultipartRequest(other)), (1, 2));
}

#[test]
fn an_error_quotes_the_beginning_of_the_request() {
    let mut bench = Bench::new();
    for (body, len) in [(Bytes::from_static(&[1, 2, 3]), 11), (Bytes::from(vec![9; 100]), 64)] {
        let request = Message { xid: 77, body: Body::Unknown { kind: 99, body } };
        let mut bytes = Vec::new();
        request.emit(&mut bytes).unwrap();
        let Body::Error(error) = bench.ask(request.body) else { panic!("no error") };
        assert_eq!((&error.data[..], error.data.len()), (&bytes[..len], len));
    }
}

#[test]
fn errors_and_echo_replies_are_not_answered() {
    let mut bench = Bench::new();
    assert_eq!(bench.say(Body::Error(Error { kind: 1, code: 1, data: Bytes::new() })), []);
    assert_eq!(bench.say(Body::EchoReply(Bytes::new())), []);
}

#[test]
fn packet_outs_are_checked() {
    let mut bench = Bench::new();
    let good = || {
        let Body::PacketOut(request) = packet_out(P1, vec![output(P2)], &segment(1)) else { unreachable!() };
        request
    };
    let mut kept = good();
    kept.buffer_id = 3;
    assert_eq!(bench.refused(Body::PacketOut(kept)), (1, 8));
    for in_port in [PortNo(0), PortNo::ANY, PortNo::FLOOD, PortNo(0xffff_ff01)] {
        let mut from = good();
        from.in_port = in_port;
        assert_eq!(bench.refused(Body::PacketOut(from)), (1, 11), "{in_port:?}");
    }
    for in_port in [P1, PortNo::MAX, PortNo::LOCAL, PortNo::CONTROLLER] {
        let mut from = good();
        from.in_port = in_port;
        assert_eq!(bench.say(Body::PacketOut(from)).len(), 1);
    }
    let mut to = good();
    to.actions = vec![output(P2), output(PortNo::ANY)];
    // OFPET_BAD_ACTION, OFPBAC_BAD_OUT_PORT: nothing of it is done.
    assert_eq!(bench.refused(Body::PacketOut(to)), (2, 4));
}

#[test]
fn statistics_are_filtered_like_deletions() {
    let mut bench = Bench::new();
    let from = |port| Match { in_port: Some(port), ..Match::default() };
    bench.add(1, from(P1), vec![output(P2)]);
    bench.add(2, from(P2), vec![output(P3)]);
    let mut second = entry(3, from(P2), vec![]);
    (second.table_id, second.cookie) = (1, 6);
    bench.change(second);
    let mut priorities = |request: FlowStatsRequest| {
        bench.flows_of(request).iter().map(|flow| flow.priority).collect::<Vec<_>>()
    };
    assert_eq!(priorities(all_flows()), [2, 1, 3]);
    assert_eq!(priorities(FlowStatsRequest { table_id: 1, ..all_flows() }), [3]);
    assert_eq!(priorities(FlowStatsRequest { matches: from(P2), ..all_flows() }), [2, 3]);
    assert_eq!(priorities(FlowStatsRequest { out_port: P2, ..all_flows() }), [1]);
    assert_eq!(priorities(FlowStatsRequest { out_group: 0, ..all_flows() }), []);
    assert_eq!(priorities(FlowStatsRequest { cookie: 2, cookie_mask: 2, ..all_flows() }), [3]);
    let bad = FlowStatsRequest { table_id: 9, ..all_flows() };
    assert_eq!(bench.refused(Body::MultipartRequest(MultipartRequest::Flow(bad))), (1, 9));
}

/// The parts of an answer: how many items each has and whether it says that another follows.
fn parts(outputs: &[SwitchOutput]) -> Vec<(usize, bool)> {
    outputs
        .iter()
        .map(|output| match output {
            SwitchOutput::Message(Message { xid: 77, body: Body::MultipartReply(reply) }) => match reply {
                MultipartReply::Flow { more, flows } => (flows.len(), *more),
                MultipartReply::PortDescription { more, ports } => (ports.len(), *more),
                MultipartReply::Other { .. }
                | MultipartReply::Table { .. }
                | MultipartReply::TableFeatures { .. } => panic!("unexpected {reply:?}"),
            },
            other => panic!("unexpected {other:?}"),
        })
        .collect()
}

#[test]
fn ports_are_described_in_parts_that_fit_messages() {
    let ask = || Body::MultipartRequest(MultipartRequest::PortDescription);
    let mut bench = Bench::of(SwitchSetup::new(1, (1..=1023).map(PortNo)));
    assert_eq!(parts(&bench.say(ask())), [(1023, false)]);
    let mut bench = Bench::of(SwitchSetup::new(1, (1..=2100).map(PortNo)));
    assert_eq!(parts(&bench.say(ask())), [(1023, true), (1023, true), (54, false)]);
    let mut bench = Bench::of(SwitchSetup::new(1, []));
    assert_eq!(parts(&bench.say(ask())), [(0, false)]);
}

#[test]
fn entries_are_told_in_parts_and_none_is_left_out() {
    let mut bench = Bench::new();
    for priority in 0..1000 {
        bench.add(priority, Match::default(), vec![output(P2); 10]);
    }
    let ask = Body::MultipartRequest(MultipartRequest::Flow(all_flows()));
    let parts = parts(&bench.say(ask));
    assert_eq!(parts.iter().map(|part| part.0).sum::<usize>(), 1000);
    assert!(parts.iter().rev().skip(1).all(|part| part.1) && !parts.last().unwrap().1);
    // Each counts as 48 bytes, at most 256 of match, 8 of instruction and 10 times 16 of actions.
    assert_eq!(parts[0].0, (65_535 - 16) / (48 + 256 + 8 + 160));
}

#[test]
fn tables_say_how_full_they_are_and_what_they_take() {
    let mut bench = Bench::new();
    let full = |bench: &mut Bench| {
        let Body::MultipartReply(MultipartReply::Table { more: false, tables }) =
            bench.ask(Body::MultipartRequest(MultipartRequest::Table))
        else {
            panic!("no tables");
        };
        tables.iter().map(|table| (table.table_id, table.active_count)).collect::<Vec<_>>()
    };
    let before = full(&mut bench);
    assert!(before.iter().all(|&(_, count)| count == 0));
    bench.add(1, Match::default(), vec![output(PortNo::ALL)]);
    bench.add(2, Match::default(), vec![output(PortNo::ALL)]);
    assert_eq!(full(&mut bench)[0], (0, 2));
    assert_eq!(full(&mut bench)[1..], before[1..]);
    let Body::MultipartReply(MultipartReply::TableFeatures { more: false, tables }) =
        bench.ask(Body::MultipartRequest(MultipartRequest::TableFeatures))
    else {
        panic!("no features");
    };
    assert_eq!(tables.len(), before.len());
    assert!(tables.iter().all(|table| table.max_entries > 0 && table.metadata_match == u64::from(u32::MAX)));
}

#[test]
fn changes_of_ports_are_reported() {
    let mut bench = Bench::new();
    let Body::MultipartReply(MultipartReply::PortDescription { ports, .. }) =
        bench.ask(Body::MultipartRequest(MultipartRequest::PortDescription))
    else {
        panic!("no ports");
    };
    let told = |reason, port| {
        [SwitchOutput::Message(Message { xid: 0, body: Body::PortStatus(PortStatus { reason, port }) })]
    };
    let down = Port { state: 1, ..ports[1].clone() };
    let fourth = Port { port_no: PortNo(4), ..ports[0].clone() };
    assert_eq!(bench.set_port(down.clone()), told(PortReason::Modify, down));
    assert_eq!(bench.set_port(fourth.clone()), told(PortReason::Add, fourth.clone()));
    bench.add(1, Match::default(), vec![output(PortNo::ALL)]);
    assert_eq!(bench.out_ports(P1, segment(1)), [P3, PortNo(4)]);
    assert_eq!(bench.remove_port(PortNo(4)), told(PortReason::Delete, fourth.clone()));
    assert_eq!(bench.remove_port(PortNo(4)), []);
    assert_eq!(bench.out_ports(P1, segment(1)), [P3]);
    bench.disconnect();
    assert_eq!(bench.set_port(fourth), []);
}
