//! A peer, or somebody on the way, that says anything: nothing panics, deadlines lie in the future, and memory is bounded.

mod support;

use bytes::Bytes;
use handfast_core::Duration;
use handfast_mptcp::{Flow, Received, State};
use handfast_wire::Payload;
use handfast_wire::tcp::mptcp::{AddAddress, Capable, DataSeq, Dss, Join, Mapping, Mptcp};
use handfast_wire::tcp::{Flags, Segment};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use support::*;

fn number() -> impl Strategy<Value = DataSeq> {
    prop_oneof![any::<u32>().prop_map(DataSeq::Low), any::<u64>().prop_map(DataSeq::Whole)]
}

fn mapping() -> impl Strategy<Value = Mapping> {
    let subflow_seq = prop_oneof![0u32..30_000, any::<u32>()];
    let len = prop_oneof![Just(0u16), 1u16..3000, any::<u16>()];
    (number(), subflow_seq, len, option::of(any::<u16>()))
        .prop_map(|(data_seq, subflow_seq, len, checksum)| Mapping { data_seq, subflow_seq, len, checksum })
}

fn option() -> impl Strategy<Value = Mptcp> {
    let dss = (option::of(number()), option::of(mapping()), any::<bool>()).prop_map(|(ack, mapping, fin)| {
        Mptcp::Dss(Dss { ack, mapping, fin: fin && mapping.is_some_and(|m| m.len > 0) })
    });
    let keys = (any::<u64>(), any::<u64>(), option::of((any::<u16>(), option::of(any::<u16>()))));
    prop_oneof![
        6 => dss,
        1 => keys.prop_map(|(a, b, mapped)| Mptcp::Capable(Capable {
            version: 1,
            algorithms: 1,
            sender_key: Some(a),
            receiver_key: Some(b),
            mapped,
            ..Capable::default()
        })),
        1 => any::<[u8; 20]>().prop_map(|hmac| Mptcp::Join(Join::Ack { hmac })),
        1 => (any::<u8>(), any::<[u8; 4]>(), option::of(any::<u64>())).prop_map(|(id, address, hmac)| {
            Mptcp::AddAddress(AddAddress { address_id: id, address: address.into(), port: None, hmac })
        }),
        1 => any::<bool>().prop_map(|backup| Mptcp::Priority { backup }),
        1 => any::<u64>().prop_map(Mptcp::Fail),
        1 => any::<u64>().prop_map(Mptcp::FastClose),
    ]
}

/// A segment that lies in the window of the sub-flow, or not.
fn forged() -> impl Strategy<Value = (u8, bool, i32, i32, u16, usize, u16, Vec<Mptcp>)> {
    let near = || prop_oneof![3 => -2000i32..20_000, 1 => any::<i32>()];
    let flags = prop_oneof![4 => Just(0x10u16), 1 => Just(0x11), 1 => Just(0x14), 1 => 0u16..0x40];
    (0u8..2, any::<bool>(), near(), near(), flags, 0usize..1400, any::<u16>(), vec(option(), 0..3))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_memory_is_bounded(forgeries in vec(forged(), 1..60), checksum: bool, seed: u64) {
        let mut config = config();
        config.checksum = checksum;
        let mut world = World::new(seed, config, vec![Link::default(), Link::default()]);
        world.write(0, 60_000);
        world.write(1, 60_000);
        world.run_for(ms(250));
        world.joins = false;
        for (link, to_client, seq, ack, flags, len, window, options) in forgeries {
            let from = usize::from(to_client);
            let there = Flow { local: server(), remote: client(link) };
            let (sent, flow) =
                if to_client { (there, flow(link)) } else { (flow(link), there) };
            let last = world.ends[from].sent.iter().rev().find(|(_, t)| t.flow == sent);
            let Some(last) = last.map(|(_, t)| t.tcp.segment.clone()) else { continue };
            let mut segment = Segment {
                seq: last.seq + seq as u32,
                ack: last.ack + ack as u32,
                flags: Flags(flags),
                window,
                payload: Payload::Bytes(Bytes::from(vec![7; len])),
                timestamps: last.timestamps,
                rare: None,
                ..last
            };
            for option in &options {
                segment.push_mptcp(option);
            }
            let (now, received) = (world.now, Received { flow, tcp: handfast_tcp::Received::plain(&segment) });
            world.ends[1 - from].get().on_segment(now, &received);
            world.run_for(ms(5));
        }
        world.run_for(Duration::from_secs(5));
        for end in &mut world.ends {
            let connection = end.get();
            let footprint = connection.footprint();
            prop_assert!(footprint.data <= 200_000 && footprint.mappings <= 2048, "{:?}", footprint);
            prop_assert!(connection.state() == State::Closed || footprint.subflows <= 2);
        }
    }
}
