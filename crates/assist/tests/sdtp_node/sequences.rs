//! Random sequences of trouble: hosts that send until all is acknowledged, over a line that loses, copies, delays and forgets.
//!
//! Checked: each byte comes once, in order, to the right host; nodes keep no more than they may; what they say to each other has an
//! end. `SDTP_SEQUENCES=10000 cargo test --release -p handfast-assist --test sdtp_node sequences`.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use handfast_assist::sdtp::caching::{self, Quotas};
use handfast_assist::sdtp::resequence::Bounds;
use handfast_assist::sdtp::{Config, Congestion, Kept, Level, Thresholds};
use handfast_core::{Bytes, Duration, Instant, Stream};
use handfast_wire::sdtp::{Carriage, Message};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::peer::{Hosts, Peer, Sends, State};
use crate::world::{Crossing, HOP, Line, host, ms, sealed};

#[derive(Clone, Copy, Debug)]
struct Trouble {
    seed: u64,
    /// In a thousand, of each packet on each link between nodes.
    loss: u64,
    /// The same of all but data, besides.
    message_loss: u64,
    copies: u64,
    late: u64,
    corrupt: u64,
    /// How often a queue begins to be full.
    full: u64,
    /// Of a message with a packet in it between the controller and a node.
    control_loss: u64,
}

#[derive(Clone, Debug)]
struct Case {
    nodes: usize,
    trouble: Trouble,
    flows: Vec<([Sends; 2], bool)>,
    /// When which node begins anew.
    restarts: Vec<(u64, prop::sample::Index)>,
    config: Config,
}

fn sends() -> impl Strategy<Value = Sends> {
    let bytes = prop_oneof![1 => Just(0u32), 4 => 1u32..3_000, 4 => 1u32..60_000];
    let iss = prop_oneof![any::<u32>(), (u32::MAX - 30_000)..=u32::MAX];
    let segment = prop_oneof![1u16..50, 500u16..=1_460];
    (bytes, segment, 100u64..20_000, 1u32..40, iss, any::<u8>()).prop_map(
        |(bytes, segment, interval, window, iss, salt)| {
            // Not too many segments.
            let bytes = bytes.min(u32::from(segment) * 200);
            Sends { bytes, segment, interval: Duration::from_micros(interval), window, iss, salt }
        },
    )
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let often = |most: u64| prop_oneof![1 => Just(0), 2 => 0..=most];
    let links = (often(80), often(600), often(150), often(300), often(50), often(30));
    (any::<u64>(), links, often(150)).prop_map(
        |(seed, (loss, message_loss, copies, late, corrupt, full), control_loss)| Trouble {
            seed,
            loss,
            message_loss,
            copies,
            late,
            corrupt,
            full,
            control_loss,
        },
    )
}

fn config() -> impl Strategy<Value = Config> {
    let packets = prop_oneof![1u64..6, Just(10_000)];
    let carriage = prop::sample::select(vec![Carriage::Native, Carriage::Ip, Carriage::Udp]);
    let counts = (1usize..5, 1usize..5, 1usize..40, 1usize..20);
    let congestion = prop::sample::select(vec![Congestion::Signal, Congestion::Mask, Congestion::Cache]);
    (carriage, packets, counts, any::<[bool; 4]>(), (20u64..300, congestion)).prop_map(
        |(
            carriage,
            packets,
            (connections, cached, waiting, windows),
            [by_packet, has_seals, all, parity],
            (persistence, congestion),
        )| {
            let persistence = ms(persistence);
            let room = Bytes(packets * 2_000);
            let thresholds = Thresholds {
                level: if by_packet { Level::Packet } else { Level::Segment },
                persistence,
                most_windows: windows,
                ..Thresholds::new(HOP * 2)
            };
            let caching = caching::Config {
                quotas: Quotas {
                    per_connection: room,
                    per_host: Bytes(room.0 + room.0 / 2),
                    per_slice: Bytes(room.0 * 2),
                    total: Bytes(room.0 * 3),
                },
                connections: cached,
                congestion,
                parity,
                ..caching::Config::default()
            };
            let resequencing = Bounds { persistence, packets: waiting, bytes: Bytes(waiting as u64 * 1_000) };
            let base = if has_seals { sealed() } else { Config::default() };
            Config { carriage, connections, thresholds, caching, resequencing, all, ..base }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let flow = ([sends(), sends()], any::<bool>());
    let restarts = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec((0u64..3_000, any::<prop::sample::Index>()), 1..4),
    ];
    (2usize..6, trouble(), prop::collection::vec(flow, 1..5), restarts, config()).prop_map(
        |(nodes, trouble, flows, mut restarts, config)| {
            restarts.sort_by_key(|&(at, _)| at);
            Case { nodes, trouble, flows, restarts, config }
        },
    )
}

/// What becomes of a packet on a link.
fn fate(trouble: Trouble) -> impl FnMut(&Crossing<'_>) -> Vec<Duration> {
    let mut stream = Stream::new(trouble.seed, "links");
    move |crossing| {
        let is_message = crossing.sdtp().is_some_and(|sdtp| !matches!(sdtp.message, Message::Data(_)));
        let mut happens = |thousandths: u64| stream.below(1_000) < thousandths;
        if happens(trouble.loss) || is_message && happens(trouble.message_loss) {
            return Vec::new();
        }
        let copies = 1 + u64::from(happens(trouble.copies));
        let late = (0..copies).map(|_| happens(trouble.late)).collect::<Vec<_>>();
        late.into_iter()
            .map(|late| HOP + Duration::from_micros(if late { stream.below(30_000) } else { 0 }))
            .collect()
    }
}

/// A queue that is full refuses all that comes for a while.
fn queues(trouble: Trouble) -> impl FnMut(&Crossing<'_>) -> bool {
    let mut stream = Stream::new(trouble.seed, "queues");
    let mut until = BTreeMap::new();
    move |crossing| {
        let until = until.entry((crossing.from, crossing.to)).or_insert(Instant::ZERO);
        if *until <= crossing.now && stream.below(1_000) < trouble.full {
            *until = crossing.now + Duration::from_micros(stream.below(30_000));
        }
        crossing.now < *until
    }
}

fn hosts(case: &Case, now: Instant) -> [Hosts; 2] {
    let mut ends = [Vec::new(), Vec::new()];
    for (number, (sends, has_timestamps)) in (0..).zip(&case.flows) {
        let client = SocketAddr::new(host(0, 1 + number as u8 % 2), 5_000 + number);
        let server = SocketAddr::new(host(1, 1), 80);
        let starts = Some(now + ms(u64::from(number) * 150));
        ends[0].push(Peer::new([client, server], *sends, *has_timestamps, starts));
        ends[1].push(Peer::new([server, client], [sends[1], sends[0]], *has_timestamps, None));
    }
    ends.map(Hosts)
}

fn line(case: &Case) -> Line<Hosts> {
    let mut line = Line::new(case.nodes, hosts(case, Instant::from_millis(1_000)), case.config.clone());
    line.fate = Box::new(fate(case.trouble));
    let mut control = Stream::new(case.trouble.seed, "control");
    let Trouble { control_loss: loss, corrupt, .. } = case.trouble;
    let mut errors = Stream::new(case.trouble.seed, "bit errors");
    line.corrupts = Box::new(move || corrupt > 0 && errors.below(1_000) < corrupt);
    line.is_full = Box::new(queues(case.trouble));
    line.loses_control = Box::new(move || control.below(1_000) < loss);
    line
}

fn check_bounds(line: &Line<Hosts>, config: &Config) {
    for node in &line.nodes {
        let Kept { connections, lanes, waiting, waiting_bytes, watched, cached, cache_cost, held_cost } =
            node.kept();
        assert!(connections.max(watched).max(lanes) <= config.connections);
        let ends = connections + lanes;
        assert!(waiting <= ends * config.resequencing.packets, "{waiting} wait");
        assert!(waiting_bytes <= ends as u64 * config.resequencing.bytes.get());
        assert!(cached <= config.caching.connections);
        assert!(cache_cost <= config.caching.quotas.total.get(), "{cache_cost} are cached");
        assert!(held_cost <= config.caching.quotas.total.get(), "{held_cost} wait for a queue");
    }
}

fn run_to(line: &mut Line<Hosts>, until: Instant, config: &Config) {
    let mut steps = 0;
    while line.step(until) {
        check_bounds(line, config);
        steps += 1;
        assert!(steps < 1_000_000, "it has no end");
    }
    line.now = until;
}

/// The states of both ends of each flow.
fn states(line: &Line<Hosts>) -> Vec<[State; 2]> {
    let [left, right] = &line.ends;
    left.0.iter().zip(&right.0).map(|(one, other)| [one.state, other.state]).collect()
}

fn is_over(line: &Line<Hosts>) -> bool {
    line.ends.iter().all(|hosts| hosts.0.iter().all(Peer::is_over))
}

/// What nodes have said to each other, and what hosts have through them.
fn crossed(line: &Line<Hosts>) -> (u64, u64) {
    let of = |kinds: &[&str]| kinds.iter().filter_map(|kind| line.crossed.get(kind)).sum::<u64>();
    (of(&["RR", "RD", "RI", "CN", "CM"]), of(&["data", "plain"]))
}

/// Messages of nodes for each packet of hosts, on all links together.
fn play(case: &Case) -> Result<f64, TestCaseError> {
    let mut line = line(case);
    let start = line.now;
    // The server counts as open what its client has not heard of, and a restart may have taken the answer with it.
    let mut opening = BTreeSet::new();
    for (at, place) in &case.restarts {
        run_to(&mut line, start + ms(*at), &case.config);
        let is_opening =
            |(_, ends): &(usize, &[State; 2])| ends[0] == State::SynSent && ends[1] != State::Listen;
        opening.extend(states(&line).iter().enumerate().filter(is_opening).map(|(flow, _)| flow));
        line.restart(place.index(case.nodes));
    }
    let end = start + ms(3_600_000);
    while !is_over(&line) && line.now < end {
        let next = line.now + ms(1_000);
        run_to(&mut line, next, &case.config);
    }
    let all = states(&line);
    let is_well = |(flow, ends): (usize, &[State; 2])| {
        *ends == [State::Done; 2]
            || opening.contains(&flow) && ends.iter().all(|state| matches!(state, State::Reset(_)))
    };
    prop_assert!(all.iter().enumerate().all(is_well), "{all:?} {:?}", line.counted());
    // A caching node gives up a hole a second, of 64 at most, and repeats its CN twice.
    let settled = line.now + ms(70_000);
    run_to(&mut line, settled, &case.config);
    let (messages, packets) = crossed(&line);
    let quiet = line.now + ms(30_000);
    run_to(&mut line, quiet, &case.config);
    prop_assert_eq!(crossed(&line), (messages, packets), "it has an end");
    prop_assert!(messages <= 10 * packets + 100, "{messages} messages for {packets} packets");
    Ok(messages as f64 / packets as f64)
}

fn sequences() -> u32 {
    std::env::var("SDTP_SEQUENCES").ok().and_then(|number| number.parse().ok()).unwrap_or(200)
}

#[test]
fn every_byte_comes_once_and_in_order() {
    let config =
        ProptestConfig { cases: sequences(), source_file: Some(file!()), ..ProptestConfig::default() };
    let most = Cell::new((0.0f64, 0));
    let result = TestRunner::new(config).run(&case(), |case| {
        let ratio = play(&case)?;
        most.set((most.get().0.max(ratio), most.get().1 + 1));
        Ok(())
    });
    println!("{} sequences, at most {:.1} messages a packet", most.get().1, most.get().0);
    result.unwrap_or_else(|error| panic!("{error}"));
}
