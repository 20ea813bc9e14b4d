//! What the test suites of ns-3 expect of its `CoDelQueueDisc` and `FqCoDelQueueDisc`, asked of ours: the same packets, the
//! same instants, the same figures (src/traffic-control/test/codel-queue-disc-test-suite.cc, tests 2, 5 and 6;
//! src/test/ns3tc/fq-codel-queue-disc-test-suite.cc, deficits). docs/explanation/queues.md has the table.

use handfast_core::{Bytes, Instant, Stream};
use handfast_net::queue::{Discipline, Ecn, PacketMeta, codel, fq_codel};
use handfast_net::{Cause, Occupancy, Queue, QueueLimit};

use crate::compare::{Arrival, Event, Ours, offer, ours, serve};

const MS: u64 = 1_000_000;

/// So many packets of 1000 bytes at once, at the beginning.
fn loaded(packets: u32, ecn: Ecn) -> Ours {
    let mut ours = ours(&Queue::CoDel(codel::Config {
        limit: Some(QueueLimit::Packets(500)),
        ..codel::Config::default()
    }));
    for handle in 0..packets {
        offer(&mut ours, Arrival { handle, flow: 0, size: 1000, ecn, tstamp: 0 });
    }
    ours
}

/// Dequeues at these times in milliseconds: packets dropped, packets marked, packets left.
fn figures(ours: &mut Ours, times: &[u64]) -> Vec<(usize, usize, usize)> {
    let (mut dropped, mut marked) = (0, 0);
    let at = |&ms: &u64| {
        for event in serve(ours, ms * MS) {
            match event {
                Event::Dropped(_) => dropped += 1,
                Event::Marked(_) => marked += 1,
                Event::Sent(_) => {}
            }
        }
        (dropped, marked, ours.occupancy().packets)
    };
    times.iter().map(at).collect()
}

/// Its dequeues: twice the target after the start, two intervals later, at that instant again, and at twice that time.
const TIMES: [u64; 4] = [10, 210, 210, 420];

#[test]
fn test_2_what_finds_500_packets_is_dropped() {
    let mut ours = loaded(500, Ecn::NotEct);
    let packet = PacketMeta {
        handle: 500,
        size: Bytes(1000),
        flow: 0,
        ecn: Ecn::NotEct,
        has_payload: true,
        enqueued_at: Instant::ZERO,
    };
    for _ in 0..3 {
        assert_eq!(ours.enqueue(Instant::ZERO, packet, Occupancy::default()), Err(Cause::QueueFull));
    }
    assert_eq!(ours.occupancy().packets, 500);
}

#[test]
fn test_5_one_drop_after_an_interval_none_at_that_instant_and_two_that_were_due_meanwhile() {
    // "1 packet dequeued"; "1 packet drop", "2 more packets dequeued"; "only 1 more packet dequeued"; then as many drops as
    // times the next one is set: it was due at 310 and at 380.7 ms, and is due again at 438.4 ms.
    assert_eq!(
        figures(&mut loaded(20, Ecn::NotEct), &TIMES),
        [(0, 0, 19), (1, 0, 17), (1, 0, 16), (3, 0, 13)]
    );
}

#[test]
fn test_6_where_packets_are_marked_each_dequeue_takes_one() {
    // "no target exceeded marked packets"; "1"; "still be only 1"; "2 target exceeded marked packet".
    assert_eq!(figures(&mut loaded(20, Ecn::Ect0), &TIMES), [(0, 0, 19), (0, 1, 18), (0, 1, 17), (0, 2, 16)]);
}

#[test]
fn flows_of_120_bytes_take_turns_under_a_quantum_of_90() {
    let config = fq_codel::Config { quantum: Bytes(90), ..fq_codel::Config::default() };
    let mut queues = fq_codel::FqCoDel::<u32>::new(&config, Stream::new(1, "queue"));
    let add = |queues: &mut dyn Discipline<u32>, flow: u32| {
        let packet = PacketMeta {
            handle: flow,
            size: Bytes(120),
            flow,
            ecn: Ecn::NotEct,
            has_payload: true,
            enqueued_at: Instant::ZERO,
        };
        queues.enqueue(Instant::ZERO, packet, Occupancy::default()).unwrap();
    };
    // One packet of the first flow leaves: its deficit is -30. Then two of each.
    add(&mut queues, 1);
    let mut ours: Ours = Box::new(queues);
    assert_eq!(serve(&mut ours, 0), [Event::Sent(1)]);
    for flow in [1, 1, 2, 2] {
        add(ours.as_mut(), flow);
    }
    // "from the second flow, as the first flow has a negative deficit", and so on in turn.
    let order: Vec<_> = (0..5).map(|_| serve(&mut ours, 0)).collect();
    assert_eq!(
        order,
        [vec![Event::Sent(2)], vec![Event::Sent(1)], vec![Event::Sent(2)], vec![Event::Sent(1)], vec![]]
    );
}
