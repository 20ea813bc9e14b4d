//! A link with a cellular radio: every packet once and in order, delay in place of loss, and what a handover does to it.

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::cell::{HarqProfile, Profile};
use handfast_net::queue::{codel, fq_codel};
use handfast_net::{Cause, Direction, DownMode, Exit, Link, Queue};
use proptest::prelude::*;

const RATE: BitRate = BitRate::from_bps(12_000_000);

fn direction(profile: Profile) -> Direction {
    Direction { access: Some(Box::new(profile)), ..Direction::plain(RATE, Duration::ZERO) }
}

fn nr() -> Profile {
    Profile::nr(Profile::SLOT_30_KHZ).unwrap()
}

/// Nothing fails.
fn clean(profile: Profile) -> Profile {
    let harq = HarqProfile { bler: 0.0, combined_bler: 0.0, nack_to_ack: 0.0, ..profile.harq };
    Profile { harq, ..profile }
}

fn link(profile: Profile) -> Link<u32> {
    Link::new(&direction(profile), Stream::new(1, "link"))
}

fn us(at: u64) -> Instant {
    Instant::from_nanos(at * 1000)
}

/// All that comes out of a link by `until`, and when.
fn drain(link: &mut Link<u32>, until: Instant) -> Vec<(Instant, Exit<u32>)> {
    let mut all = Vec::new();
    while let Some(at) = link.deadline().filter(|&at| at <= until) {
        while let Some(exit) = link.poll(at) {
            all.push((at, exit));
        }
        assert!(link.deadline().is_none_or(|next| next > at), "a deadline is in the future");
    }
    all
}

fn delivered(all: &[(Instant, Exit<u32>)]) -> Vec<(Instant, u32)> {
    let handle = |&(at, exit): &(Instant, Exit<u32>)| match exit {
        Exit::Delivered { handle, .. } => Some((at, handle)),
        _ => None,
    };
    all.iter().filter_map(handle).collect()
}

/// The delays of so many packets, one every 200.3 ms, on a link with nothing else.
fn unloaded(profile: Profile, size: u64, packets: u32) -> Vec<Duration> {
    let mut link = link(profile);
    let sent = |handle: u32| us(u64::from(handle) * 200_300);
    let mut delays = Vec::new();
    for handle in 0..packets {
        let out = delivered(&drain(&mut link, sent(handle)));
        delays.extend(out.iter().map(|&(out, handle)| out.since(sent(handle))));
        link.enqueue(sent(handle), handle, Bytes(size), true).unwrap();
    }
    delays
}

fn mean(delays: &[Duration]) -> f64 {
    delays.iter().map(|delay| delay.as_secs_f64() * 1e3).sum::<f64>() / delays.len() as f64
}

#[test]
fn a_slot_carries_what_the_rate_gives_in_it() {
    // 1500 bytes a millisecond: a packet a block, then two in three blocks.
    for (size, expected) in [(1500, vec![0, 1, 2, 3]), (2250, vec![1, 2, 4, 5]), (750, vec![0, 0, 1, 1])] {
        let mut link = link(clean(Profile::lte()));
        for handle in 0..4 {
            link.enqueue(Instant::ZERO, handle, Bytes(size), true).unwrap();
        }
        let out = delivered(&drain(&mut link, us(1_000_000)));
        // From the first slot on: its end, and the decoding.
        let first = out[0].0.as_nanos() / 1_000_000 - if size == 2250 { 5 } else { 4 };
        let blocks: Vec<u64> = out.iter().map(|(at, _)| at.as_nanos() / 1_000_000 - 4 - first).collect();
        assert_eq!(blocks, expected, "{size}");
    }
}

#[test]
fn a_packet_waits_for_a_slot_that_begins_after_it_came() {
    // Each fills its block to the last byte, so that nothing tells the link that the queue is empty but the queue.
    let mut link = link(clean(Profile::lte()));
    for handle in 0..20 {
        let sent = us(u64::from(handle) * 7_300);
        drain(&mut link, sent);
        link.enqueue(sent, handle, Bytes(1500), true).unwrap();
        let out = delivered(&drain(&mut link, sent + Duration::from_millis(7)));
        let taken = out[0].0.since(sent).as_secs_f64() * 1e3;
        // A slot on the air and 3 ms of decoding, after less than a slot of waiting.
        assert!(out.len() == 1 && (4.0..5.0).contains(&taken), "{handle}: {taken} ms");
    }
}

/// One block in ten is sent twice, and one in a hundred of them once more, and once more.
#[test]
fn what_a_radio_carries_of_new_data_is_less_than_its_rate() {
    let mean = link(Profile::lte()).mean_rate();
    assert_eq!(mean, direction(Profile::lte()).mean_rate());
    assert!((10_790_000..10_810_000).contains(&mean.as_bps()), "{mean:?}");
    assert_eq!(link(clean(Profile::lte())).mean_rate(), RATE);
    let mut changed = link(Profile::lte());
    changed.set_rate(us(5), BitRate::from_bps(24_000_000));
    assert!(changed.mean_rate().as_bps().abs_diff(2 * mean.as_bps()) <= 1);
    let plain = Link::<u32>::new(&Direction::plain(RATE, Duration::ZERO), Stream::new(1, "link"));
    assert_eq!(plain.mean_rate(), RATE);
}

#[test]
fn an_unloaded_downlink_takes_what_the_standard_computes() {
    // TR 36.912 §B.2: 1.5 ms in each end and 1 ms on the air; half a slot of waiting in the mean. With 10 % of errors, 0.8 ms
    // more for a repetition, 0.888 with further ones.
    let clean_mean = mean(&unloaded(clean(Profile::lte()), 100, 2000));
    assert!((clean_mean - 4.5).abs() < 0.03, "{clean_mean}");
    let mut profile = Profile::lte();
    profile.harq.nack_to_ack = 0.0;
    let usual = mean(&unloaded(profile, 100, 20_000));
    assert!((4.5 + 0.8..4.5 + 1.1).contains(&usual), "{usual}");
}

#[test]
fn a_station_asks_before_it_sends() {
    // To the next opportunity for a request 5 ms in the mean (TR 36.881 §5.2.1), 8 ms to the slot of the grant, 4 ms as above.
    let delays = unloaded(clean(Profile::lte_uplink()), 100, 2000);
    let mean = mean(&delays);
    assert!((mean - 17.0).abs() < 0.05, "{mean}");
    assert!(delays.iter().all(|&delay| delay >= Duration::from_millis(12)));
    assert!(delays.iter().all(|&delay| delay <= Duration::from_millis(22)));
}

#[test]
fn a_station_that_keeps_sending_asks_once() {
    let mut link = link(clean(Profile::lte_uplink()));
    for handle in 0..100 {
        link.enqueue(Instant::ZERO, handle, Bytes(1500), true).unwrap();
    }
    let out = delivered(&drain(&mut link, us(1_000_000)));
    assert_eq!(out[99].0.since(out[0].0), Duration::from_millis(99));
}

#[test]
fn what_harq_repairs_holds_up_what_is_behind_it() {
    let mut profile = Profile::lte();
    profile.harq.nack_to_ack = 0.0;
    let mut link = link(profile);
    for handle in 0..1000 {
        link.enqueue(Instant::ZERO, handle, Bytes(1500), true).unwrap();
    }
    let out = delivered(&drain(&mut link, us(10_000_000)));
    assert_eq!(out.iter().map(|&(_, handle)| handle).collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
    let gaps: Vec<u64> =
        out.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_nanos() / 1_000_000).collect();
    // A block that fails once comes with the seven behind it, if none of those fails.
    assert!(gaps.contains(&9), "{gaps:?}");
    assert_eq!(link.counters().lost(), 0);
    // 1.111 transmissions a block.
    let took = out[999].0.since(out[0].0).as_secs_f64();
    assert!((1.07..1.15).contains(&took), "{took}");
}

#[test]
fn rlc_repeats_what_harq_has_given_up() {
    // Nobody learns of a NACK: each first failure is for RLC, after t-Reordering, the report and the repetition.
    let mut profile = Profile::lte();
    profile.harq = HarqProfile { bler: 0.01, nack_to_ack: 1.0, ..profile.harq };
    let mut link = link(profile);
    for handle in 0..1000 {
        link.enqueue(Instant::ZERO, handle, Bytes(1500), true).unwrap();
    }
    let out = delivered(&drain(&mut link, us(10_000_000)));
    assert_eq!(out.iter().map(|&(_, handle)| handle).collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
    let longest = out.windows(2).map(|pair| pair[1].0.since(pair[0].0)).max().unwrap();
    assert!((Duration::from_millis(59)..Duration::from_millis(130)).contains(&longest), "{longest}");
}

#[test]
fn the_last_block_is_found_missing_by_the_poll() {
    // Every other transmission fails and is taken for a success, RLC's repetitions as well: only polls get the block through.
    let mut profile = Profile::lte();
    profile.harq = HarqProfile { bler: 0.5, nack_to_ack: 1.0, ..profile.harq };
    for seed in 0..20 {
        let mut link = Link::new(&direction(profile.clone()), Stream::new(seed, "link"));
        link.enqueue(Instant::ZERO, 7, Bytes(100), true).unwrap();
        let out = delivered(&drain(&mut link, us(10_000_000)));
        assert_eq!(out.len(), 1);
        let took = out[0].0.since(Instant::ZERO).as_nanos() / 1_000_000;
        // 4 to 5 ms, and 120 to 121 ms for each poll that had no answer.
        assert!(took % 120 <= 5 + took / 120, "{took}");
    }
}

#[test]
fn what_rlc_gives_up_is_lost_and_holds_up_nothing_more() {
    let mut profile = Profile::lte();
    profile.harq = HarqProfile { bler: 1.0, nack_to_ack: 1.0, ..profile.harq };
    profile.rlc.max_retx = 2;
    let mut link = link(profile);
    link.enqueue(Instant::ZERO, 7, Bytes(100), true).unwrap();
    let out = drain(&mut link, us(10_000_000));
    let lost = Exit::Lost { handle: 7, cause: Cause::Loss };
    assert_eq!(out.iter().map(|&(_, exit)| exit).collect::<Vec<_>>(), [lost]);
    // Polls at 120, 240 and 360 ms: two repetitions, and the third is one too many.
    assert_eq!(out[0].0.as_nanos() / 120_000_000, 3);
    assert_eq!((link.counters().loss, link.deadline()), (1, None));
}

#[test]
fn a_handover_with_forwarding_sends_again_what_had_not_come_up() {
    let mut link = link(Profile::lte());
    for handle in 0..50 {
        link.enqueue(Instant::ZERO, handle, Bytes(1500), true).unwrap();
    }
    let mut out = drain(&mut link, us(20_000));
    link.down(us(20_000), DownMode::Hold);
    out.extend(drain(&mut link, us(60_000)));
    assert_eq!(link.counters().offered - link.counters().delivered, link.queue(us(60_000)).packets as u64);
    link.up(us(60_000), DownMode::Hold);
    let before = out.len();
    out.extend(drain(&mut link, us(10_000_000)));
    let out = delivered(&out);
    assert_eq!(out.iter().map(|&(_, handle)| handle).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
    assert!(out[before - 1].0 <= us(20_000) && out[before].0 >= us(64_000), "{out:?}");
}

#[test]
fn a_handover_without_forwarding_loses_what_had_not_come_up() {
    let mut link = link(Profile::lte_uplink());
    for handle in 0..50 {
        link.enqueue(Instant::ZERO, handle, Bytes(1500), true).unwrap();
    }
    let mut out = drain(&mut link, us(30_000));
    link.down(us(30_000), DownMode::Drop);
    out.extend(drain(&mut link, us(30_000)));
    assert_eq!(out.len(), 50);
    assert_eq!(link.counters().outage + link.counters().delivered, 50);
    assert_eq!(link.enqueue(us(31_000), 99, Bytes(1500), true), Err(Cause::Outage));
    link.up(us(60_000), DownMode::Drop);
    link.enqueue(us(60_000), 50, Bytes(1500), true).unwrap();
    assert_eq!(delivered(&drain(&mut link, us(10_000_000))).len(), 1);
}

#[test]
fn a_deep_queue_counts_what_a_block_has_a_part_of() {
    let mut link = Link::new(
        &Direction {
            queue: Queue::packets(2),
            rate: BitRate::from_bps(1_200_000),
            ..direction(Profile::lte())
        },
        Stream::new(1, "link"),
    );
    // 150 bytes a slot: the packet stays in front for ten slots.
    for (handle, accepted) in [(0, true), (1, true), (2, false)] {
        assert_eq!(link.enqueue(us(3000), handle, Bytes(1500), true).is_ok(), accepted);
    }
    assert_eq!(link.enqueue(us(8000), 3, Bytes(1500), true), Err(Cause::QueueFull));
    assert_eq!(link.queue(us(8000)).bytes, Bytes(3000));
}

#[test]
fn a_full_window_waits_for_a_status_report() {
    // 150 bytes a slot, four blocks: in slots 0 to 3. The last one polls, is decoded at 7 ms and reported at 15 ms; and so on.
    let mut profile = clean(Profile::lte());
    profile.rlc.window = 4;
    profile.rlc.t_status_prohibit = Duration::ZERO;
    let slow = Direction { rate: BitRate::from_bps(1_200_000), ..direction(profile) };
    let mut link = Link::new(&slow, Stream::new(1, "link"));
    for handle in 0..2 {
        link.enqueue(Instant::ZERO, handle, Bytes(1500), true).unwrap();
    }
    let out = delivered(&drain(&mut link, us(1_000_000)));
    // Ten blocks: the last two in slots 30 and 31. The first slot begins within a millisecond.
    assert_eq!(out[0].0.as_nanos() / 1_000_000, 35, "{out:?}");
}

fn profiles() -> impl Strategy<Value = Profile> {
    let profile = prop_oneof![
        Just(Profile::lte()),
        Just(Profile::lte_uplink()),
        Just(nr()),
        Just(Profile::nr_uplink(Duration::from_micros(125)).unwrap()),
    ];
    (profile, 0.0..0.6, 0.0..0.6, 0.0..0.3, 1_u32..6, 1_usize..300).prop_map(
        |(mut profile, bler, combined_bler, nack_to_ack, transmissions, window)| {
            let harq = HarqProfile { bler, combined_bler, nack_to_ack, transmissions, ..profile.harq };
            profile.rlc.window = profile.rlc.window.min(window);
            Profile { harq, ..profile }
        },
    )
}

fn queues() -> impl Strategy<Value = Queue> {
    prop_oneof![
        Just(Queue::UNLIMITED),
        Just(Queue::packets(20)),
        Just(Queue::bytes(9000)),
        Just(Queue::CoDel(codel::Config::default())),
        Just(Queue::FqCoDel(fq_codel::Config::default())),
    ]
}

/// Something that happens to a link.
#[derive(Clone, Debug)]
enum Step {
    Offer(u64),
    Down(DownMode),
    Up(DownMode),
    Rate(u64),
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let mode = prop_oneof![Just(DownMode::Hold), Just(DownMode::Drop)];
    let step = prop_oneof![
        20 => (0_u64..1600).prop_map(Step::Offer),
        1 => mode.clone().prop_map(Step::Down),
        2 => mode.prop_map(Step::Up),
        1 => (0_u64..50_000_000).prop_map(Step::Rate),
    ];
    prop::collection::vec((0_u64..3_000, step), 1..200)
}

proptest! {
    #[test]
    fn each_packet_leaves_once_and_in_order(
        profile in profiles(), queue in queues(), steps in steps(), seed in any::<u64>(),
    ) {
        let mut link = Link::new(&Direction { queue: queue.clone(), ..direction(profile) }, Stream::new(seed, "link"));
        let (mut now, mut accepted, mut out) = (0, 0_u32, Vec::new());
        for (after, step) in steps {
            now += after;
            out.extend(drain(&mut link, us(now)));
            match step {
                Step::Offer(size) => {
                    accepted += u32::from(link.enqueue(us(now), accepted, Bytes(size), true).is_ok());
                }
                Step::Down(mode) => link.down(us(now), mode),
                Step::Up(mode) => link.up(us(now), mode),
                Step::Rate(bps) => link.set_rate(us(now), BitRate::from_bps(bps)),
            }
            let counters = link.counters();
            let known = counters.delivered + counters.aqm + counters.loss + counters.outage + counters.queue_full;
            prop_assert!(known <= counters.offered);
        }
        // All outages end, and the rate is one that carries them.
        link.set_rate(us(now), RATE);
        for mode in [DownMode::Hold, DownMode::Drop] {
            (0..200).for_each(|_| link.up(us(now), mode));
        }
        // Each packet takes a bounded time where a block gets through with a probability.
        out.extend(drain(&mut link, us(now + 300_000_000)));
        prop_assert_eq!(link.deadline(), None);
        prop_assert_eq!(link.queue(us(now + 300_000_000)).packets, 0);
        let mut left: Vec<u32> = out.iter().filter_map(|&(_, exit)| match exit {
            Exit::Delivered { handle, .. } | Exit::Lost { handle, .. } => Some(handle),
            Exit::Marked { .. } | Exit::Duplicated { .. } => None,
        }).collect();
        left.sort_unstable();
        prop_assert_eq!(left, (0..accepted).collect::<Vec<_>>());
        let counters = link.counters();
        prop_assert_eq!(counters.offered, counters.delivered + counters.lost());
        if !matches!(queue, Queue::FqCoDel(_)) {
            prop_assert!(delivered(&out).is_sorted_by_key(|&(_, handle)| handle));
        }
    }

    #[test]
    fn without_errors_the_rate_of_the_link_is_carried_to_the_byte(
        sizes in prop::collection::vec(1_u64..1600, 10..200), mbps in 1_u64..200,
    ) {
        let plain = Direction::plain(BitRate::from_bps(mbps * 1_000_000), Duration::ZERO);
        let profile = clean(nr());
        let (slot, processing) = (profile.slot, profile.processing);
        let cellular = Direction { access: Some(Box::new(profile)), ..plain.clone() };
        let [line, radio] = [plain, cellular].map(|direction| {
            let mut link = Link::new(&direction, Stream::new(1, "link"));
            for (handle, &size) in sizes.iter().enumerate() {
                link.enqueue(Instant::ZERO, handle as u32, Bytes(size), true).unwrap();
            }
            delivered(&drain(&mut link, us(100_000_000)))
        });
        for ((line, _), (radio, _)) in line.iter().zip(&radio) {
            // Up to a slot before the first one, and the rest of the slot that has its last byte.
            let more = radio.since(*line + processing);
            prop_assert!(more <= slot * 2 + Duration::from_nanos(8000), "{more}");
        }
    }
}
