//! Whatever the controller says and whatever happens to ports and connection: what holds all the same.

use bytes::Bytes;
use handfast_core::Duration;
use handfast_net::{SwitchOutput, SwitchSetup};
use handfast_wire::Packet;
use handfast_wire::openflow::{
    Action, Body, Error, FlowMod, FlowModFlags, FlowStatsRequest, Hello, Instruction, Masked, Match, Message,
    MultipartRequest, PacketOut, Port, PortNo, Role, RoleMessage, SwitchConfig,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::bench::{Bench, P1, P2, frame};
use crate::generate::{flow_mod, matches, packet};

#[derive(Clone, Debug)]
enum Step {
    Say(Body),
    Packet(PortNo, Packet),
    Port { number: u32, config: u32, state: u32 },
    NoPort(u32),
    Connect,
    Disconnect,
    Wait(u64),
}

const MAX_ENTRIES: usize = 20;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => body().prop_map(Step::Say),
        5 => (port(), packet()).prop_map(|(port, packet)| Step::Packet(port, packet)),
        1 => (0..4_u32, 0..128_u32, 0..8_u32)
            .prop_map(|(number, config, state)| Step::Port { number, config, state }),
        1 => (0..4_u32).prop_map(Step::NoPort),
        2 => Just(Step::Connect),
        1 => Just(Step::Disconnect),
        2 => (0..3000_u64).prop_map(Step::Wait),
    ]
}

fn port() -> impl Strategy<Value = PortNo> {
    let special = [PortNo::IN_PORT, PortNo::TABLE, PortNo::NORMAL, PortNo::FLOOD, PortNo::ALL];
    let rest = [PortNo::CONTROLLER, PortNo::LOCAL, PortNo::ANY, PortNo::MAX, PortNo(0)];
    prop_oneof![3 => (1..4_u32).prop_map(PortNo), 3 => select([special, rest].concat()), 1 => any::<u32>().prop_map(PortNo)]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..80).prop_map(Bytes::from)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (port(), any::<u16>()).prop_map(|(port, max_len)| Action::Output { port, max_len }),
        1 => (1..30_u16, bytes()).prop_map(|(kind, body)| Action::Other { kind, body }),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop_oneof![9 => prop::collection::vec(action(), 0..4), 1 => prop::collection::vec(action(), 60..70)]
}

fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        2 => (0..6_u8).prop_map(Instruction::GotoTable),
        2 => actions().prop_map(Instruction::WriteActions),
        3 => actions().prop_map(Instruction::ApplyActions),
        1 => Just(Instruction::ClearActions),
        1 => (6..10_u16, bytes()).prop_map(|(kind, body)| Instruction::Other { kind, body }),
    ]
}

/// Fields without regard to prerequisites and masks.
fn wild_match() -> impl Strategy<Value = Match> {
    let vlan = prop::option::of((any::<u16>(), prop::option::of(any::<u16>())));
    let address = prop::option::of((any::<u32>(), prop::option::of(any::<u32>())));
    let port = || prop::option::of(any::<u16>());
    (vlan, address, port(), port(), prop::option::of(any::<u8>()), bytes()).prop_map(
        |(vlan, address, tcp_src, udp_dst, ip_proto, other)| Match {
            vlan_vid: vlan.map(|(value, mask)| Masked { value, mask }),
            ipv4_dst: address.map(|(value, mask)| Masked { value: value.into(), mask: mask.map(Into::into) }),
            tcp_src,
            udp_dst,
            ip_proto,
            other,
            ..Match::default()
        },
    )
}

fn wild_flow_mod() -> impl Strategy<Value = FlowMod> {
    let matches = prop_oneof![2 => matches(), 1 => wild_match()];
    let numbers = (any::<u16>(), any::<u16>(), prop_oneof![Just(u32::MAX), any::<u32>()]);
    let where_to = (prop_oneof![0..6_u8, any::<u8>()], port(), prop_oneof![Just(u32::MAX), any::<u32>()]);
    let instructions = prop::collection::vec(instruction(), 0..4);
    (flow_mod(), matches, instructions, numbers, where_to).prop_map(
        |(request, matches, instructions, numbers, where_to)| {
            let (priority, flags, buffer_id) = numbers;
            let (table_id, out_port, out_group) = where_to;
            let flags = FlowModFlags(flags & 0x3f);
            FlowMod {
                matches,
                instructions,
                priority,
                flags,
                buffer_id,
                table_id,
                out_port,
                out_group,
                ..request
            }
        },
    )
}

fn packet_out() -> impl Strategy<Value = PacketOut> {
    let data = prop_oneof![3 => packet().prop_map(|packet| frame(&packet)), 1 => bytes()];
    let buffer_id = prop_oneof![4 => Just(u32::MAX), 1 => any::<u32>()];
    (buffer_id, port(), actions(), data).prop_map(|(buffer_id, in_port, actions, data)| PacketOut {
        buffer_id,
        in_port,
        actions,
        data,
    })
}

fn flow_stats() -> impl Strategy<Value = FlowStatsRequest> {
    (any::<u8>(), port(), prop_oneof![matches(), wild_match()], any::<u64>()).prop_map(
        |(table_id, out_port, matches, cookie)| FlowStatsRequest {
            table_id,
            out_port,
            out_group: u32::MAX,
            cookie,
            cookie_mask: cookie,
            matches,
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let roles = select(vec![Role::NoChange, Role::Equal, Role::Master, Role::Slave]);
    prop_oneof![
        6 => flow_mod().prop_map(Body::FlowMod),
        6 => wild_flow_mod().prop_map(Body::FlowMod),
        4 => packet_out().prop_map(Body::PacketOut),
        2 => flow_stats().prop_map(|request| Body::MultipartRequest(MultipartRequest::Flow(request))),
        1 => prop_oneof![
            Just(MultipartRequest::PortDescription),
            Just(MultipartRequest::Table),
            Just(MultipartRequest::TableFeatures),
        ]
        .prop_map(Body::MultipartRequest),
        1 => (roles, any::<u64>())
            .prop_map(|(role, generation_id)| Body::RoleRequest(RoleMessage { role, generation_id })),
        1 => (any::<u16>(), any::<u16>())
            .prop_map(|(flags, miss_send_len)| Body::SetConfig(SwitchConfig { flags, miss_send_len })),
        1 => (1..9_u8, prop::collection::vec(any::<u32>(), 0..2))
            .prop_map(|(version, bitmaps)| Body::Hello(Hello { version, bitmaps })),
        1 => bytes().prop_map(Body::EchoRequest),
        1 => bytes().prop_map(|data| Body::Error(Error { kind: 1, code: 1, data })),
        1 => (30..200_u8, bytes()).prop_map(|(kind, body)| Body::Unknown { kind, body }),
        1 => Just(Body::BarrierRequest),
        1 => Just(Body::FeaturesRequest),
    ]
}

fn take(bench: &mut Bench, step: Step) -> Vec<SwitchOutput> {
    match step {
        Step::Say(body) => bench.say(body),
        Step::Packet(port, packet) => bench.packet(port, packet),
        Step::Port { number, config, state } => {
            let port = SwitchSetup::new(0, [PortNo(number)]).ports.remove(0);
            bench.set_port(Port { config, state, ..port })
        }
        Step::NoPort(number) => bench.remove_port(PortNo(number)),
        Step::Connect => bench.connect(),
        Step::Disconnect => bench.disconnect(),
        Step::Wait(ms) => bench.wait(Duration::from_millis(ms)),
    }
}

/// What a driver does with a message works: it has a form on the wire, and is read there as it was meant.
fn survives_the_wire(message: &Message) {
    let mut bytes = Vec::new();
    message.emit(&mut bytes).unwrap();
    assert_eq!(Message::parse(&bytes.into()).as_ref(), Ok(message));
}

proptest! {
    #[test]
    fn it_holds_out(steps in prop::collection::vec(step(), 1..80)) {
        let setup = SwitchSetup { max_entries: MAX_ENTRIES, ..SwitchSetup::new(1, [P1, P2]) };
        let (mut bench, mut connected, mut dropped, mut told) = (Bench::of(setup), true, 0, 0);
        for step in steps {
            connected = match step {
                Step::Connect => true,
                Step::Disconnect => false,
                _ => connected,
            };
            // What falls due at the moment of the cut is still told.
            let may_speak = connected || matches!(step, Step::Disconnect);
            let came_in = matches!(step, Step::Packet(..));
            let outputs = take(&mut bench, step);
            prop_assert!(!came_in || !outputs.is_empty(), "a packet left no trace");
            for output in outputs {
                match output {
                    SwitchOutput::Message(message) => {
                        prop_assert!(may_speak, "{message:?} without a connection");
                        told += u64::from(matches!(message.body, Body::PacketIn(_)));
                        survives_the_wire(&message);
                    }
                    SwitchOutput::Dropped(_) => dropped += 1,
                    SwitchOutput::Forward(..) | SwitchOutput::Normal(..) => {}
                }
            }
        }
        let counters = bench.switch.counters();
        prop_assert_eq!((counters.dropped, counters.packet_ins), (dropped, told));
        bench.connect();
        prop_assert!(bench.flows().len() <= MAX_ENTRIES);
    }
}
