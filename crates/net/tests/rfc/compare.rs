//! A discipline and a model side by side: the same packets come at the same instants, and the line is free at the same
//! instants. What becomes of which packet when must be the same at each step.

use handfast_core::{Bytes, Instant, Stream};
use handfast_net::queue::{Discipline, Ecn, PacketMeta, Verdict, codel, dualpi2, fq_codel};
use handfast_net::{Occupancy, Queue, QueueLimit};
use proptest::prelude::*;

use crate::codel::CodelQueue;
use crate::dualpi2::DualPi2;
use crate::fq_codel::{FqCodel, Reading};

/// A packet that comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) handle: u32,
    pub(crate) flow: u32,
    pub(crate) size: u64,
    pub(crate) ecn: Ecn,
    /// When, in nanoseconds.
    pub(crate) tstamp: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Dropped(u32),
    /// And then sent.
    Marked(u32),
    Sent(u32),
}

/// A queue as a text describes it.
pub(crate) trait Model {
    fn enqueue(&mut self, packet: Arrival);
    /// All that happens when the line is free: at most one packet is sent.
    fn dequeue(&mut self, now: u64) -> Vec<Event>;
}

/// One of ours.
pub(crate) type Ours = Box<dyn Discipline<u32>>;

pub(crate) fn ours(queue: &Queue) -> Ours {
    queue.build(Stream::new(1, "queue"))
}

pub(crate) fn offer(ours: &mut Ours, packet: Arrival) {
    let enqueued_at = Instant::from_nanos(packet.tstamp);
    let Arrival { handle, flow, size, ecn, .. } = packet;
    let packet = PacketMeta { handle, size: Bytes(size), flow, ecn, has_payload: true, enqueued_at };
    ours.enqueue(enqueued_at, packet, Occupancy::default()).unwrap();
}

/// As [`Model::dequeue`].
pub(crate) fn serve(ours: &mut Ours, now: u64) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(verdict) = ours.dequeue(Instant::from_nanos(now)) {
        match verdict {
            Verdict::Drop(packet) => events.push(Event::Dropped(packet.handle)),
            Verdict::Mark(packet) => {
                events.extend([Event::Marked(packet.handle), Event::Sent(packet.handle)]);
                break;
            }
            Verdict::Send(packet) => {
                events.push(Event::Sent(packet.handle));
                break;
            }
        }
    }
    events
}

/// A time at which packets come, the line is free, or both.
#[derive(Clone, Debug)]
struct Step {
    after_us: u64,
    arrivals: Vec<(u32, u64, Ecn)>,
    turns: usize,
}

/// Bursts and pauses, at and above the rate at which the line is free, so that dropping states begin, last, end and come back.
fn steps(sizes: impl Strategy<Value = u64> + Clone, flows: u32) -> impl Strategy<Value = Vec<Step>> {
    let after_us = prop_oneof![8 => 100_u64..2_000, 2 => 2_000_u64..20_000, 1 => 20_000_u64..2_000_000];
    let ecn =
        prop_oneof![6 => Just(Ecn::NotEct), 2 => Just(Ecn::Ect0), 2 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)];
    let packet = (0..flows, sizes, ecn);
    let arrivals = prop_oneof![
        6 => prop::collection::vec(packet.clone(), 0..3),
        1 => prop::collection::vec(packet, 3..20),
    ];
    let step = (after_us, arrivals, 1_usize..3);
    prop::collection::vec(step, 1..1_500).prop_map(|steps| {
        let step = |(after_us, arrivals, turns)| Step { after_us, arrivals, turns };
        steps.into_iter().map(step).collect()
    })
}

/// Both do the same at each step; how many packets were dropped and marked.
fn run(
    ours: &mut Ours,
    model: &mut dyn Model,
    steps: &[Step],
    ecn: bool,
) -> Result<(usize, usize), TestCaseError> {
    // 0 means "not set" in the pseudocode.
    let (mut now, mut handle, mut all) = (1, 0, Vec::new());
    for (number, step) in steps.iter().enumerate() {
        now += step.after_us * 1_000;
        for &(flow, size, field) in &step.arrivals {
            let packet =
                Arrival { handle, flow, size, ecn: if ecn { field } else { Ecn::NotEct }, tstamp: now };
            handle += 1;
            offer(ours, packet);
            model.enqueue(packet);
        }
        for turn in 0..step.turns {
            let (theirs, ours) = (model.dequeue(now), serve(ours, now));
            prop_assert_eq!(&ours, &theirs, "step {} turn {} at {} ns", number, turn, now);
            all.extend(ours);
        }
    }
    let count = |is: fn(&Event) -> bool| all.iter().filter(|event| is(event)).count();
    Ok((count(|e| matches!(e, Event::Dropped(_))), count(|e| matches!(e, Event::Marked(_)))))
}

fn codel() -> Ours {
    ours(&Queue::CoDel(codel::Config { limit: None, ..codel::Config::default() }))
}

fn fq_codel(limit: u32) -> Ours {
    ours(&Queue::FqCoDel(fq_codel::Config {
        limit: Some(QueueLimit::Packets(limit)),
        ..fq_codel::Config::default()
    }))
}

fn dualpi2() -> Ours {
    ours(&Queue::DualPi2(dualpi2::Config { limit: None, ..dualpi2::Config::default() }))
}

const QUANTUM: i64 = 1500;

/// Packets of one size in each flow, so that half of its packets are half of its bytes, which is what ours drops, as Linux
/// does; and another size in each, so that one queue is the largest.
fn size_of(flow: u32) -> u64 {
    1_000 + u64::from(flow)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn codel_does_what_the_pseudocode_of_rfc_8289_does(steps in steps(1_u64..1_600, 1)) {
        run(&mut codel(), &mut CodelQueue::default(), &steps, false)?;
    }

    #[test]
    fn codel_marks_where_the_pseudocode_drops(steps in steps(40_u64..1_600, 1)) {
        run(&mut codel(), &mut CodelQueue::default(), &steps, true)?;
    }

    #[test]
    fn fq_codel_does_what_rfc_8290_says(steps in steps(1_u64..1_600, 5)) {
        run(&mut fq_codel(100_000), &mut FqCodel::new(Reading::Linux, QUANTUM, 100_000), &steps, true)?;
    }

    #[test]
    fn dualpi2_does_what_the_pseudocode_of_rfc_9332_does(steps in steps(40_u64..1_600, 1)) {
        run(&mut dualpi2(), &mut DualPi2::default(), &steps, true)?;
    }

    #[test]
    fn fq_codel_makes_room_as_rfc_8290_says(mut steps in steps(Just(0), 5), limit in 20_u32..200) {
        for (flow, size, _) in steps.iter_mut().flat_map(|step| &mut step.arrivals) {
            *size = size_of(*flow);
        }
        run(&mut fq_codel(limit), &mut FqCodel::new(Reading::Linux, QUANTUM, limit as usize), &steps, false)?;
    }
}

/// An overload that lasts: a comparison that sees no drop would compare nothing.
#[test]
fn the_comparison_sees_drops_and_marks() {
    let load = |flows: u32| -> Vec<Step> {
        let ecn = |k: u32| if k.is_multiple_of(3) { Ecn::Ect0 } else { Ecn::NotEct };
        let arrivals = |k: u32| vec![(k % flows, 1000, ecn(k)), (k % flows, 1500, Ecn::NotEct)];
        let step = |k| Step { after_us: 1_000, arrivals: arrivals(k), turns: 1 + usize::from(k % 4 == 0) };
        (0..3_000).map(step).collect()
    };
    let (dropped, marked) = run(&mut codel(), &mut CodelQueue::default(), &load(1), true).unwrap();
    assert!(dropped > 100 && marked > 20, "{dropped} {marked}");
    let (dropped, marked) =
        run(&mut fq_codel(10_000), &mut FqCodel::new(Reading::Linux, QUANTUM, 10_000), &load(5), true)
            .unwrap();
    assert!(dropped > 100 && marked > 20, "{dropped} {marked}");
    let equal: Vec<Step> = (0..3_000)
        .map(|k| Step { after_us: 1_000, arrivals: vec![(k % 5, size_of(k % 5), Ecn::NotEct); 2], turns: 1 })
        .collect();
    let (dropped, _) =
        run(&mut fq_codel(50), &mut FqCodel::new(Reading::Linux, QUANTUM, 50), &equal, false).unwrap();
    assert!(dropped > 1_000, "{dropped}");
}

/// Both queues of `DualPI2` in the four states that its pseudocode knows: at rest, controlled, and overloaded on either side.
#[test]
fn the_comparison_sees_l4s_marks_and_the_overload() {
    let load = |l4s: usize, classic: usize| -> Vec<Step> {
        let packets = [
            vec![(0, 1500, Ecn::Ect1); l4s],
            vec![(1, 1500, Ecn::NotEct); classic],
            vec![(1, 1500, Ecn::Ect0)],
        ];
        let step = |_| Step { after_us: 1_000, arrivals: packets.concat(), turns: 3 };
        (0..3_000).map(step).collect()
    };
    let seen =
        |l4s, classic| run(&mut dualpi2(), &mut DualPi2::default(), &load(l4s, classic), true).unwrap();
    assert_eq!(seen(1, 1), (0, 0), "as many leave as come");
    let (dropped, marked) = seen(2, 1);
    assert!(dropped > 500 && marked > 2_000, "{dropped} {marked}");
    let (dropped, marked) = seen(6, 0);
    assert!(dropped > 2_000 && marked > 2_000, "{dropped} {marked}");
}

/// Ours as a model.
struct Built(Ours);

impl Model for Built {
    fn enqueue(&mut self, packet: Arrival) {
        offer(&mut self.0, packet);
    }

    fn dequeue(&mut self, now: u64) -> Vec<Event> {
        serve(&mut self.0, now)
    }
}

/// What is sent: bursts of packets, each a flow and a size, numbered as they come, and so many dequeues after each burst.
fn sent(model: &mut dyn Model, bursts: &[(&[(u32, u64)], usize)]) -> Vec<u32> {
    let (mut handle, mut sent) = (0, Vec::new());
    for &(burst, turns) in bursts {
        for &(flow, size) in burst {
            model.enqueue(Arrival { handle, flow, size, ecn: Ecn::NotEct, tstamp: 1 });
            handle += 1;
        }
        sent.extend((0..turns).flat_map(|_| model.dequeue(1)).map(|event| match event {
            Event::Sent(handle) => handle,
            other => panic!("{other:?}"),
        }));
    }
    sent
}

#[test]
fn ours_differs_from_the_words_of_rfc_8290_where_linux_does() {
    let both = |bursts: &[(&[(u32, u64)], usize)]| {
        let [words, linux] = [Reading::Words, Reading::Linux]
            .map(|reading| sent(&mut FqCodel::new(reading, QUANTUM, 100), bursts));
        assert_eq!(sent(&mut Built(fq_codel(100)), bursts), linux);
        (words, linux)
    };
    // The first flow has sent its quantum to the byte: by the words of the RFC it may go on.
    let exact: &[(u32, u64)] = &[(0, 1500), (0, 1500), (1, 1500)];
    assert_eq!(both(&[(exact, 3)]), (vec![0, 1, 2], vec![0, 2, 1]));
    // The first flow is empty when its turn comes, and no queue is old. By the words of the RFC it is old then, so that the third
    // flow, which is new, goes before it.
    let before: &[(u32, u64)] = &[(0, 100), (1, 1000), (1, 1000)];
    let after: &[(u32, u64)] = &[(0, 100), (2, 100)];
    assert_eq!(both(&[(before, 2), (after, 3)]), (vec![0, 1, 2, 4, 3], vec![0, 1, 2, 3, 4]));
}
