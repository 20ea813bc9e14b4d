//! Two associations over links that lose, delay, reorder, duplicate and fail: every message arrives once and in its stream's order, or
//! the association fails, and the links or the other end explain it.

mod support;

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use handfast_core::{Bytes as Size, Duration, Instant};
use handfast_sctp::{Config, Event, Failure, Message, State};
use handfast_wire::sctp::code;
use proptest::collection::vec;
use proptest::prelude::*;
use support::*;

/// A link, and when it is down, in tenths of a second.
#[derive(Clone, Debug)]
struct LinkCase {
    delay: u64,
    jitter: u64,
    loss: f64,
    duplicates: f64,
    cuts: Vec<(u64, u64)>,
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    links: Vec<LinkCase>,
    /// The server has an address on each link, or one in all.
    homes: bool,
    /// Stream, length, unordered; of the client and of the server.
    messages: [Vec<(u16, usize, bool)>; 2],
    receive_buffer: u64,
    rto_min: u64,
    /// Suspensions of the client's paths: when, which, for how long, and whether what is outstanding moves.
    suspensions: Vec<(u64, usize, u64, bool)>,
    /// Whether the client's driver hands in all that arrives at one time before it asks what leaves.
    batches: bool,
    /// Which end closes.
    closes: [bool; 2],
}

fn link() -> impl Strategy<Value = LinkCase> {
    let cuts = vec((0u64..100, 1u64..60), 0..3);
    (1u64..80, 0u64..60, 0.0..0.25, 0.0..0.1, cuts).prop_map(|(delay, jitter, loss, duplicates, cuts)| {
        LinkCase { delay, jitter, loss, duplicates, cuts }
    })
}

fn case() -> impl Strategy<Value = Case> {
    let messages =
        || vec((0u16..4, prop_oneof![1usize..100, 1usize..20_000], prop::bool::weighted(0.2)), 0..60);
    let suspensions = vec((0u64..100, 0usize..3, 1u64..40, any::<bool>()), 0..3);
    let sizes =
        (prop_oneof![Just(20_000u64), Just(64_000), Just(1 << 20)], prop_oneof![Just(200u64), Just(1000)]);
    let ends = (messages(), messages(), any::<(bool, bool, bool)>());
    (any::<u64>(), vec(link(), 1..4), any::<bool>(), ends, sizes, suspensions).prop_map(
        |(seed, links, homes, (a, b, (one, other, batches)), (receive_buffer, rto_min), suspensions)| Case {
            seed,
            links,
            homes,
            messages: [a, b],
            receive_buffer,
            rto_min,
            suspensions,
            batches,
            closes: [one, other || !one],
        },
    )
}

/// Message `n` of its stream: its number, and a pattern.
fn body(stream: u16, n: u32, len: usize) -> Bytes {
    let mut body = BytesMut::with_capacity(len);
    for at in 0..len {
        body.put_u8((n as usize * 31 + usize::from(stream) * 7 + at) as u8);
    }
    body.freeze()
}

/// What is written: every message of a stream and kind differs by its place in it, and its length is kept.
fn written(messages: &[(u16, usize, bool)]) -> Vec<Message> {
    let mut counts = BTreeMap::new();
    let number = |&(stream, len, unordered): &(u16, usize, bool)| {
        let n: &mut u32 = counts.entry((stream, unordered)).or_default();
        *n += 1;
        Message { stream, ppid: *n, unordered, data: body(stream, *n, len) }
    };
    messages.iter().map(number).collect()
}

fn config(case: &Case) -> Config {
    Config {
        receive_buffer: Size(case.receive_buffer),
        send_buffer: Size(100_000),
        rto_min: ms(case.rto_min),
        rto_max: ms(5_000),
        heartbeat_interval: Some(ms(2_000)),
        early_data: case.receive_buffer.is_multiple_of(2),
        ..Config::default()
    }
}

fn world(case: &Case) -> World {
    let links = case.links.iter().map(|link| Link {
        delay: ms(link.delay),
        jitter: ms(link.jitter),
        loss: link.loss,
        duplicates: link.duplicates,
        ..Link::default()
    });
    let servers: Vec<_> = (0..case.links.len() as u8).map(server).collect();
    let servers = if case.homes { &servers[..] } else { &servers[..1] };
    let mut world = World::new(case.seed, config(case), links.collect(), servers);
    world.batches = case.batches;
    for end in 0..2 {
        world.ends[end].to_write = written(&case.messages[end]).into();
        world.ends[end].then_shuts = case.closes[end];
    }
    world
}

/// Lets time pass in tenths of a second: links fail and come back, paths are suspended and resumed.
fn run(case: &Case, world: &mut World) {
    for tick in 0..40_000u64 {
        for (link, told) in world.links.iter_mut().zip(&case.links) {
            link.down = told.cuts.iter().any(|&(start, len)| (start..start + len).contains(&tick));
        }
        let now = world.now;
        for &(start, path, len, moves) in &case.suspensions {
            if tick == start {
                world.client().suspend(path);
            } else if tick == start + len {
                world.client().resume(now, path);
                if moves {
                    world.client().reroute(path);
                }
            }
        }
        let over = |end: &End| end.association.as_ref().is_none_or(|a| a.state() == State::Closed);
        if world.ends.iter().all(over) {
            return;
        }
        world.run_to(now + Duration::from_millis(100));
    }
}

/// The messages of each stream, and the unordered ones of each, as they come.
fn by_stream(messages: &[Message]) -> BTreeMap<(u16, bool), Vec<&Message>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for message in messages {
        all.entry((message.stream, message.unordered)).or_default().push(message);
    }
    for (&(_, unordered), list) in &mut all {
        if unordered {
            list.sort_by_key(|message| message.ppid);
        }
    }
    all
}

/// What one end has got of what the other wrote: all of it where `whole`, else the beginning of each stream, and nothing twice.
fn judge(wrote: &[Message], read: &[Message], whole: bool) {
    let (wrote, read) = (by_stream(wrote), by_stream(read));
    if whole {
        let numbers = |all: &BTreeMap<(u16, bool), Vec<&Message>>| -> Vec<_> {
            all.iter()
                .map(|(stream, list)| (*stream, list.iter().map(|m| m.ppid).collect::<Vec<_>>()))
                .collect()
        };
        assert_eq!(numbers(&wrote), numbers(&read));
        assert!(wrote == read, "a message has other bytes");
        return;
    }
    for (stream, read) in &read {
        let wrote = wrote.get(stream).expect("something was written there");
        if stream.1 {
            assert!(read.iter().all(|message| wrote.contains(message)));
            assert!(read.windows(2).all(|pair| pair[0].ppid != pair[1].ppid), "one came twice");
        } else {
            assert!(wrote.starts_with(read), "stream {stream:?} is out of order");
        }
    }
}

impl Case {
    /// Something may be without an answer ten times in a row.
    fn is_harsh(&self) -> bool {
        let harsh = |link: &LinkCase| link.loss > 0.1 || !link.cuts.is_empty();
        !self.suspensions.is_empty() || self.links.iter().any(harsh)
    }

    /// The same case over links that lose little and never fail.
    fn mild(self) -> Self {
        let links = self.links.into_iter();
        let links = links.map(|link| LinkCase { loss: link.loss / 10.0, cuts: Vec::new(), ..link }).collect();
        Self { links, suspensions: Vec::new(), ..self }
    }
}

/// Whether what the links do, or what the other end has done before, makes an association fail so.
fn is_explained(case: &Case, other: &End, when: Instant, failure: Failure) -> bool {
    let is_over =
        |&(at, event): &(Instant, Event)| at <= when && matches!(event, Event::Closed | Event::Failed(_));
    // A client here does not answer what comes out of the blue: who waits for SHUTDOWN COMPLETE then waits in vain.
    let alone = other.events.iter().any(is_over);
    match failure {
        Failure::Unreachable | Failure::ShutdownGuard => alone || case.is_harsh(),
        Failure::Handshake => case.is_harsh(),
        Failure::Aborted { cause: code::USER_INITIATED_ABORT } => {
            other.has(Event::Failed(Failure::ShutdownGuard))
        }
        // Out of the blue.
        Failure::Aborted { cause: 0 } => alone,
        _ => false,
    }
}

fn check(case: &Case) -> bool {
    let mut world = world(case);
    run(case, &mut world);
    let closed = world.ends.iter().all(|end| end.has(Event::Closed));
    let failed = world.ends.iter().any(|end| end.events.iter().any(|(_, e)| matches!(e, Event::Failed(_))));
    assert!(
        closed || failed,
        "neither closed nor failed: {:?}",
        world.ends.each_ref().map(|end| &end.events)
    );
    for (end, other) in [(0, 1), (1, 0)].map(|(end, other)| (&world.ends[end], &world.ends[other])) {
        for &(when, event) in &end.events {
            if let Event::Failed(failure) = event {
                assert!(
                    is_explained(case, other, when, failure),
                    "{failure:?} at {when:?} in {:?}",
                    end.events
                );
            }
        }
    }
    for (from, to) in [(0, 1), (1, 0)] {
        let (wrote, end) = (&world.ends[from].wrote, &world.ends[to]);
        if closed && !failed {
            judge(wrote, &end.read, true);
            continue;
        }
        // A server that has failed may begin again with a cookie that the client repeats, and then close: what comes with that the
        // first one may have read. Nothing comes twice to one association.
        let begins = if end.begins.is_empty() { &[0][..] } else { &end.begins };
        for (n, &begin) in begins.iter().enumerate() {
            let until = begins.get(n + 1).copied().unwrap_or(end.read.len());
            judge(wrote, &end.read[begin..until], false);
        }
    }
    closed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_and_in_order_or_the_association_fails(case in case()) {
        check(&case);
    }

    /// Nothing explains that a message is missing, or that neither end has closed.
    #[test]
    fn links_that_lose_little_lose_no_message(case in case().prop_map(Case::mild)) {
        let mut world = world(&case);
        check(&case);
        run(&case, &mut world);
        prop_assert!(world.ends.iter().any(|end| end.has(Event::Closed)));
        for (from, to) in [(0, 1), (1, 0)] {
            judge(&world.ends[from].wrote, &world.ends[to].read, true);
        }
    }
}

/// The property says nothing of cases that it does not have: most close, some fail, and all of the machinery runs.
#[test]
fn the_cases_reach_what_they_are_for() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = BTreeMap::new();
    for _ in 0..150 {
        let case = case().new_tree(&mut runner).expect("a case").current();
        let mut world = world(&case);
        run(&case, &mut world);
        for end in &world.ends {
            for (_, event) in &end.events {
                let name = format!("{event:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
                *seen.entry(name).or_insert(0u64) += 1;
            }
            let Some(association) = &end.association else { continue };
            let counters = association.counters();
            for (name, count) in [
                ("fast recoveries", counters.fast_recoveries),
                ("without room", counters.chunks_without_room),
                ("duplicates", counters.duplicate_chunks_received),
                ("repeated", counters.retransmitted_chunks),
                ("heartbeats", counters.heartbeats_sent),
            ] {
                *seen.entry(name.to_owned()).or_default() += count;
            }
        }
    }
    for name in
        ["Closed", "Failed", "PathDown", "PathUp", "Timeout", "fast recoveries", "duplicates", "heartbeats"]
    {
        assert!(seen.get(name).is_some_and(|&count| count >= 5), "{name} in {seen:?}");
    }
}
