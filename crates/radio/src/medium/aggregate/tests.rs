use super::*;
use crate::aggregation::Aggregation;
use crate::airtime::{Band, Format, Guard, McsSet, Physical, Rate, Width};
use crate::rate_control::Minstrel;
use crate::retries::UNDETECTED;
use handfast_core::{Bytes, Db, Duration};
use handfast_net::Queue;
use handfast_net::queue::Ecn;
use proptest::prelude::*;

const HE: McsSet = McsSet { format: Format::He, width: Width::Mhz80, guard: Guard::Ns800, streams: 2 };

fn config(downlink: bool, mpdus: u16, attempt: Attempt) -> TxQueueConfig {
    let aggregation = Aggregation { mpdus, ..Aggregation::usual(Format::He, Band::Ghz5) };
    TxQueueConfig { downlink, rate: TxRate::Mcs(HE.mcs(11, 2).unwrap()), attempt, aggregation }
}

fn medium(limit: u32, queues: &[TxQueueConfig]) -> Medium<u32> {
    let retries = Retries { limit, undetected: UNDETECTED };
    let mut medium = Medium::new(Physical::G, retries, Stream::new(1, "medium"));
    for &config in queues {
        medium.add(config, Queue::packets(1_000).build(Stream::new(1, "queue")));
    }
    medium
}

fn packet(handle: u32) -> PacketMeta<u32> {
    let (flow, ecn, enqueued_at) = (0, Ecn::NotEct, Instant::ZERO);
    PacketMeta { handle, size: Bytes(1_500), flow, ecn, has_payload: true, enqueued_at }
}

/// What is served, and when, until nothing is left.
fn drain(medium: &mut Medium<u32>) -> Vec<(Instant, Served<u32>)> {
    let mut all = Vec::new();
    while let Some(deadline) = medium.deadline() {
        while let Some(event) = medium.poll(deadline) {
            let Event::Served(served) = event else { panic!("{event:?} under drop-tail") };
            all.push((deadline, served));
        }
    }
    all
}

#[test]
fn what_waits_goes_together_and_arrives_at_once() {
    let mut medium = medium(7, &[config(true, 64, Attempt::Clean)]);
    for number in 0..100 {
        medium.enqueue(Instant::ZERO, 0, packet(number)).unwrap();
    }
    // The first finds an idle medium.
    assert_eq!(medium.held(0), Occupancy { packets: 100, bytes: Bytes(150_000) });
    let all = drain(&mut medium);
    let mut times: Vec<Instant> = all.iter().map(|&(at, _)| at).collect();
    let sizes: Vec<usize> = times.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    times.dedup();
    assert_eq!(sizes, [1, 64, 35]);
    let mcs = HE.mcs(11, 2).unwrap();
    let how = config(true, 64, Attempt::Clean).aggregation;
    assert_eq!(times[1].since(times[0]), how.saturated(mcs, Bytes(1_500)).0);
    assert!(all.iter().map(|(_, served)| served.handle).eq(0..100));
    assert!(all.iter().all(|(_, served)| served.delivered && !served.corrupted));
}

#[test]
fn only_what_has_failed_is_sent_again_and_order_waits_for_it() {
    let mut medium = medium(30, &[config(true, 64, Attempt::Frame(0.3))]);
    for number in 0..1_000 {
        medium.enqueue(Instant::ZERO, 0, packet(number)).unwrap();
    }
    let all = drain(&mut medium);
    // 1 - 0.3^30 of them.
    assert!(all.iter().map(|(_, served)| served.handle).eq(0..1_000));
    assert!(all.iter().all(|(_, served)| served.delivered));
    // 1,000 / 0.7 transmissions; a window waits for its oldest, so that A-MPDUs are not full.
    let end = all.last().unwrap().0;
    let least = config(true, 64, Attempt::Clean).aggregation.saturated(HE.mcs(11, 2).unwrap(), Bytes(1_500));
    let full = Duration::from_nanos(least.0.as_nanos() / least.1);
    assert!(
        end > Instant::ZERO + full.saturating_mul(1_428) && end < Instant::ZERO + full.saturating_mul(4_000)
    );
}

#[test]
fn an_mpdu_that_fails_too_often_is_given_up_and_nobody_waits_for_it() {
    let mut medium = medium(2, &[config(true, 64, Attempt::Frame(0.5))]);
    for number in 0..900 {
        medium.enqueue(Instant::ZERO, 0, packet(number)).unwrap();
    }
    let all = drain(&mut medium);
    let lost = all.iter().filter(|(_, served)| !served.delivered).count();
    // A quarter; five standard deviations.
    assert!((160..290).contains(&lost), "{lost}");
    let up: Vec<u32> =
        all.iter().filter(|(_, served)| served.delivered).map(|(_, served)| served.handle).collect();
    assert!(up.is_sorted_by(|a, b| a < b) && up.len() + lost == 900);
}

#[test]
fn nobody_answers_a_station_out_of_range_and_the_window_doubles() {
    let mut medium = medium(3, &[config(true, 64, Attempt::Frame(1.0))]);
    medium.enqueue(Instant::ZERO, 0, packet(1)).unwrap();
    let all = drain(&mut medium);
    let mcs = HE.mcs(11, 2).unwrap();
    let how = config(true, 64, Attempt::Clean).aggregation;
    let mut psdu = how.psdu(mcs);
    psdu.push(Bytes(1_500));
    let exchange = AggregateExchange::new(how, mcs, &psdu);
    let three = exchange.duration(0, false, false)
        + exchange.duration(1, false, false)
        + exchange.duration(2, false, true);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].0, all[0].1.delivered), (Instant::ZERO + three, false));
}

#[test]
fn turns_are_ppdus_beside_frames_of_g() {
    // A station of 802.11g gets a frame for each A-MPDU of the access point.
    let single = TxQueueConfig {
        downlink: false,
        rate: TxRate::Legacy(Rate::Ofdm54),
        attempt: Attempt::Clean,
        aggregation: Aggregation::NONE,
    };
    let mut medium = medium(7, &[config(true, 64, Attempt::Clean), single]);
    for number in 0..130 {
        medium.enqueue(Instant::ZERO, 0, packet(number)).unwrap();
        medium.enqueue(Instant::ZERO, 1, packet(number)).unwrap();
    }
    let order: Vec<usize> = drain(&mut medium).iter().map(|(_, served)| served.tx_queue).collect();
    let runs: Vec<(usize, usize)> = order.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    assert_eq!(runs, [(0, 1), (1, 1), (0, 64), (1, 1), (0, 64), (1, 1), (0, 1), (1, 127)]);
}

#[test]
fn a_station_that_goes_gets_nothing_and_begins_anew() {
    let mut medium = medium(7, &[config(true, 64, Attempt::Frame(0.5))]);
    for number in 0..100 {
        medium.enqueue(Instant::ZERO, 0, packet(number)).unwrap();
    }
    // Some are out of order at the other end by now.
    let mut seen = Vec::new();
    for _ in 0..3 {
        let now = medium.deadline().unwrap();
        seen.extend(std::iter::from_fn(|| medium.poll(now)));
    }
    let given_back = medium.clear(0);
    for number in 200..210 {
        medium.enqueue(Instant::ZERO, 0, packet(number)).unwrap();
    }
    let rest = drain(&mut medium);
    let on_air = rest.iter().filter(|(_, served)| served.handle < 200).count();
    assert!(rest.iter().all(|(_, served)| served.delivered == (served.handle >= 200)), "{rest:?}");
    assert_eq!(seen.len() + given_back.len() + on_air, 100);
    assert_eq!(rest.len() - on_air, 10);
}

/// A saturated queue: what 16,000 packets take after 44,000, and the medium then.
fn saturated(config: TxQueueConfig, control: Option<Minstrel>) -> (Duration, Medium<u32>) {
    let mut medium = medium(7, &[config]);
    if let Some(control) = control {
        medium.control(0, control);
    }
    let (mut now, mut number, mut times) = (Instant::ZERO, 0, Vec::new());
    while times.len() < 60_000 {
        while medium.held(0).packets < 800 {
            medium.enqueue(now, 0, packet(number)).unwrap();
            number += 1;
        }
        now = medium.deadline().unwrap();
        times.extend(std::iter::from_fn(|| medium.poll(now)).map(|_| now));
    }
    (times[60_000 - 1].since(times[44_000]), medium)
}

#[test]
fn minstrel_comes_near_the_rate_of_a_signal_and_forgets_it_with_the_station() {
    let slow =
        TxQueueConfig { rate: TxRate::Mcs(HE.slowest()), ..config(true, 256, Attempt::Signal(Db(24_000))) };
    let given = |index| {
        let rate = TxRate::Mcs(HE.mcs(index, 2).unwrap());
        saturated(TxQueueConfig { rate, ..slow }, None).0.as_secs_f64()
    };
    let control = Minstrel::new(HE, slow.aggregation, Stream::new(3, "minstrel"));
    let (took, mut medium) = saturated(slow, Some(control));
    // 16-QAM 3/4 is best; of 64-QAM 2/3 three frames in ten fail. Minstrel takes nine tenths for all, and does not see that a
    // window waits for its oldest frame: it prefers the faster one.
    let [slower, best, faster] = [3, 4, 5].map(given);
    assert!(best < slower && best < faster);
    assert!((0.95 * best..1.2 * best).contains(&took.as_secs_f64()), "{took:?} {best}");
    medium.clear(0);
    let forgotten = medium.tx_queues[0].control.as_ref().map(Minstrel::best);
    assert_eq!(forgotten, Some(HE.slowest()));
}

proptest! {
    #[test]
    fn packets_come_up_once_and_in_order_and_airtime_does_not_overlap(
        queues in prop::collection::vec((any::<bool>(), 1_u16..=256, 0.0..0.9_f64), 1..5),
        limit in 1_u32..8,
        steps in prop::collection::vec((0_usize..5, 1_u32..40, 0_u64..3_000, prop::bool::weighted(0.03)), 0..60),
    ) {
        let configs: Vec<_> =
            queues.iter().map(|&(downlink, mpdus, error)| config(downlink, mpdus, Attempt::Frame(error))).collect();
        let mut medium = medium(limit, &configs);
        let (mut now, mut number, mut given_back) = (Instant::ZERO, 0, 0);
        let (mut out, mut ends) = (Vec::new(), Vec::new());
        for (tx_queue, count, micros, clear) in steps {
            let tx_queue = tx_queue % queues.len();
            if clear {
                given_back += medium.clear(tx_queue).len();
            }
            for _ in 0..count {
                medium.enqueue(now, tx_queue, packet(number)).unwrap();
                number += 1;
            }
            let until = now + Duration::from_micros(micros);
            while let Some(deadline) = medium.deadline().filter(|&deadline| deadline <= until) {
                ends.push(deadline);
                out.extend(std::iter::from_fn(|| medium.poll(deadline)));
            }
            now = until;
            // Nothing waits while the medium is idle: no reorder buffer keeps what nobody will complete.
            let held: usize = (0..queues.len()).map(|at| medium.held(at).packets).sum();
            prop_assert_eq!(medium.is_idle(), held == 0);
        }
        out.extend(drain(&mut medium).into_iter().map(|(_, served)| Event::Served(served)));
        prop_assert_eq!(out.len() + given_back, number as usize);
        for tx_queue in 0..queues.len() {
            let up: Vec<u32> = out
                .iter()
                .filter_map(|event| match event {
                    Event::Served(served) if served.tx_queue == tx_queue && served.delivered => Some(served.handle),
                    _ => None,
                })
                .collect();
            prop_assert!(up.is_sorted_by(|a, b| a < b), "{tx_queue}: {up:?}");
        }
        // The end of one exchange and that of the next are at least the shortest one apart.
        let mcs = HE.mcs(11, 2).unwrap();
        let how = configs[0].aggregation;
        let mut psdu = how.psdu(mcs);
        psdu.push(Bytes(1_500));
        let least = AggregateExchange::new(how, mcs, &psdu).duration(0, true, false);
        ends.dedup();
        prop_assert!(ends.windows(2).all(|pair| pair[1].since(pair[0]) >= least));
    }
}
