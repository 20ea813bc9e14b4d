//! Random requests, packets and pauses: the switch against the naive one.

use std::collections::BTreeMap;

use handfast_net::{SwitchOutput, SwitchSetup};
use handfast_wire::openflow::{Body, FlowRemoved, FlowRemovedReason, FlowStats, Message, PacketInReason};
use proptest::prelude::*;

use crate::bench::{Bench, P1, P2, P3, removed};
use crate::generate::{MAX_ENTRIES, N_TABLES, Step, step};
use crate::naive::{Entry, Naive, Sent, fields};

/// Everything that can be told of an entry, under what makes it the only one.
fn books(flows: &[FlowStats]) -> BTreeMap<String, String> {
    let of = |flow: &FlowStats| {
        let key = format!("{} {:05} {:?}", flow.table_id, flow.priority, fields(&flow.matches));
        let told = (flow.cookie, flow.flags, flow.idle_timeout, flow.hard_timeout, flow.packet_count);
        (key, format!("{told:?} {:?}", flow.instructions))
    };
    flows.iter().map(of).collect()
}

fn naive_books(entries: &[Entry]) -> BTreeMap<String, String> {
    let of = |Entry { request, packets, .. }: &Entry| {
        let key = format!("{} {:05} {:?}", request.table_id, request.priority, fields(&request.matches));
        let told = (request.cookie, request.flags, request.idle_timeout, request.hard_timeout, *packets);
        (key, format!("{told:?} {:?}", request.instructions))
    };
    entries.iter().map(of).collect()
}

fn sent(outputs: &[SwitchOutput]) -> Vec<Sent> {
    let one = |output: &SwitchOutput| match output {
        SwitchOutput::Forward(port, _) => Some(Sent::Port(*port)),
        SwitchOutput::Message(Message { body: Body::PacketIn(told), .. }) => {
            let miss = told.reason == PacketInReason::NoMatch;
            Some(Sent::Controller { table_id: told.table_id, cookie: told.cookie, miss })
        }
        SwitchOutput::Dropped(_) => None,
        other => panic!("unexpected {other:?}"),
    };
    outputs.iter().filter_map(one).collect()
}

/// What tells apart the entries whose end is told.
fn end_of(end: &FlowRemoved) -> String {
    format!(
        "{} {} {} {:?} {:?}",
        end.table_id,
        end.priority,
        end.packet_count,
        end.reason,
        fields(&end.matches)
    )
}

fn naive_end(entry: &Entry, reason: FlowRemovedReason) -> String {
    let Entry { request, packets, .. } = entry;
    format!("{} {} {packets} {reason:?} {:?}", request.table_id, request.priority, fields(&request.matches))
}

fn check(bench: &mut Bench, naive: &mut Naive, step: Step) {
    match step {
        Step::Change(request) => match naive.change(bench.now, &request) {
            Ok(deleted) => {
                let told = removed(&bench.say(Body::FlowMod(request)));
                let mut told: Vec<_> = told.iter().map(end_of).collect();
                let mut expected: Vec<_> =
                    deleted.iter().map(|entry| naive_end(entry, FlowRemovedReason::Delete)).collect();
                told.sort();
                expected.sort();
                assert_eq!(told, expected);
            }
            Err(error) => assert_eq!(bench.refused(Body::FlowMod(request)), error),
        },
        Step::Packet(in_port, packet) => {
            let outputs = bench.packet(in_port, packet.clone());
            assert_eq!(sent(&outputs), naive.packet(bench.now, in_port, &packet));
        }
        Step::Wait(span) => {
            let told = removed(&bench.wait(span));
            let expected = naive.expire(bench.now);
            let expected: Vec<_> = expected.iter().map(|(entry, reason)| naive_end(entry, *reason)).collect();
            assert_eq!(told.iter().map(end_of).collect::<Vec<_>>(), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn it_agrees_with_the_naive_one(steps in prop::collection::vec(step(), 1..60)) {
        let setup = SwitchSetup {
            n_tables: N_TABLES,
            max_entries: MAX_ENTRIES,
            ..SwitchSetup::new(1, [P1, P2, P3])
        };
        let mut bench = Bench::of(setup);
        let mut naive = Naive::default();
        for step in steps {
            check(&mut bench, &mut naive, step);
            assert_eq!(books(&bench.flows()), naive_books(&naive.entries));
            assert_eq!(bench.switch.flow_count(), naive.entries.len());
        }
    }
}
