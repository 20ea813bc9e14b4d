//! Connections that stand still, as the kernel would show them, and what is said of them.

use std::net::SocketAddr;

use handfast_core::{Duration, Instant};
use handfast_watch::{
    Cause, Change, ConnectionId, Direction, End, InterfaceId, Limits, Lookup, Sample, Stall, State, Watcher,
};

const WIFI: InterfaceId = InterfaceId(3);
const EVERY: u64 = 50;

fn ms(at: u64) -> Instant {
    Instant::from_millis(at)
}

fn span(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn here() -> SocketAddr {
    "10.0.0.2:40000".parse().unwrap()
}

/// What a connection does, by its times; the kernel's counters follow.
#[derive(Clone, Debug, Default)]
struct Script {
    id: u64,
    /// Moments at which 1,000 bytes are acknowledged.
    acknowledged: Vec<u64>,
    /// Moments at which 1,000 bytes come.
    received: Vec<u64>,
    /// Moments at which the timer expires, each doubled.
    timeouts: Vec<u64>,
    /// From when to when something is in flight.
    sends: (u64, u64),
    out_of_order: Vec<u64>,
    probes: Vec<u64>,
    /// From when on the peer's window is the limit.
    limited: Option<u64>,
    ends: Option<u64>,
}

impl Script {
    fn sample(&self, now: u64) -> Sample {
        let count = |of: &[u64]| of.iter().filter(|&&at| at <= now).count() as u64;
        let last = |of: &[u64]| of.iter().filter(|&&at| at <= now).max().copied();
        let since = |at: Option<u64>| at.map_or(span(1_000_000), |at| span(now - at));
        let acknowledged = last(&self.acknowledged);
        let later = |of: &[u64]| of.iter().filter(|&&at| at <= now && Some(at) > acknowledged).count() as u8;
        let backoff = later(&self.timeouts);
        let sent = last(&self.timeouts).max(acknowledged).max((self.sends.0 <= now).then_some(self.sends.0));
        Sample {
            id: ConnectionId(self.id),
            local: here(),
            remote: "192.0.2.1:443".parse().unwrap(),
            state: State::Open,
            acknowledged: 1000 * count(&self.acknowledged),
            received: 1000 * count(&self.received),
            in_flight: u32::from(self.sends.0 <= now && now < self.sends.1) * 10,
            not_sent: 0,
            since_sent: since(sent),
            since_acknowledged: since(acknowledged),
            since_received: since(last(&self.received)),
            srtt: Some(span(40)),
            min_rtt: Some(span(38)),
            rto: span(240 << backoff),
            backoff,
            probes: later(&self.probes),
            retransmitted: count(&self.timeouts) as u32,
            data_segments: 100 + count(&self.timeouts) as u32,
            out_of_order: count(&self.out_of_order) as u32,
            window_limited: self.limited.map_or(Duration::ZERO, |from| span(now.saturating_sub(from))),
            delivery_rate: 2_500_000,
        }
    }
}

/// What the watcher says of connections and changes, until 10 s.
fn watched(scripts: &[Script], changes: &[(u64, Change)]) -> Vec<Stall> {
    let mut watcher = Watcher::new(Limits::default());
    watcher.on_change(ms(0), Change::Gained(WIFI, here().ip()));
    let mut stalls = Vec::new();
    let mut told = 0;
    for now in (0..10_000).step_by(EVERY as usize) {
        for &(at, change) in changes.iter().skip(told).take_while(|(at, _)| *at <= now) {
            watcher.on_change(ms(at), change);
            told += 1;
        }
        let there = scripts.iter().filter(|script| script.ends.is_none_or(|end| now < end));
        stalls.extend(watcher.on_samples(ms(now), there.map(|script| script.sample(now)).collect()));
    }
    stalls.extend(watcher.finish(ms(10_000)));
    stalls
}

fn steadily(from: u64, to: u64) -> impl Iterator<Item = u64> {
    (from..to).step_by(20)
}

/// An upload that stands still from 2 s to `until`, with the timers of RFC 6298.
fn upload(until: u64, timeouts: &[u64]) -> Script {
    Script {
        id: 1,
        acknowledged: steadily(100, 2000).chain(steadily(until, 10_000)).collect(),
        timeouts: timeouts.to_vec(),
        sends: (0, 20_000),
        ..Script::default()
    }
}

fn phases(stall: &Stall) -> Vec<(&'static str, u64, u64)> {
    let millis = |at: Instant| at.as_nanos() / 1_000_000;
    stall.phases.iter().map(|phase| (phase.cause.word(), millis(phase.from), millis(phase.to))).collect()
}

#[test]
fn a_connection_that_goes_on_has_no_stall() {
    assert_eq!(watched(&[upload(2000, &[])], &[]), []);
}

#[test]
fn a_radio_that_is_gone_and_a_timer_that_waits_on() {
    let script = upload(5230, &[2240, 2720, 3680, 5190]);
    let stalls = watched(&[script], &[(2010, Change::Down(WIFI)), (4000, Change::Up(WIFI))]);
    assert_eq!(stalls.len(), 1);
    assert_eq!(phases(&stalls[0]), [("radio-gone", 1980, 4000), ("timer-backoff", 4000, 5250)]);
    assert_eq!(
        (stalls[0].direction, stalls[0].end, stalls[0].retransmitted),
        (Direction::Sending, End::WentOn, 4)
    );
    assert_eq!(stalls[0].main_cause(), Cause::RadioGone);
    assert_eq!((stalls[0].path.rate, stalls[0].path.min_rtt), (Some(2_500_000), Some(span(38))));
}

#[test]
fn an_answer_right_after_the_radio_is_no_backoff() {
    let script = upload(4060, &[2240, 2720, 3680]);
    let stalls = watched(&[script], &[(2010, Change::Down(WIFI)), (4000, Change::Up(WIFI))]);
    assert_eq!(phases(&stalls[0]), [("radio-gone", 1980, 4100)]);
}

#[test]
fn an_address_that_goes_breaks_the_connection() {
    let script = Script { ends: Some(6000), ..upload(20_000, &[2240, 2720, 3680, 5600]) };
    let stalls = watched(&[script], &[(2010, Change::Lost(WIFI, here().ip()))]);
    assert_eq!(phases(&stalls[0]), [("address-gone", 1980, 6000)]);
    assert_eq!(stalls[0].end, End::Broke);
}

#[test]
fn a_path_that_is_gone_for_all_is_told_from_the_timer() {
    let other = Script {
        id: 2,
        received: steadily(100, 2000).chain(steadily(3500, 10_000)).collect(),
        ..Script::default()
    };
    let stalls = watched(&[upload(5230, &[2240, 2720, 3680, 5190]), other], &[]);
    let sending: Vec<_> = stalls.iter().filter(|stall| stall.direction == Direction::Sending).collect();
    assert_eq!(phases(sending[0]), [("path-gone", 1980, 3500), ("timer-backoff", 3500, 5250)]);
    assert_eq!(stalls.len(), 1, "what does not come may not have been sent");
}

#[test]
fn a_loss_of_one_connection_is_a_loss() {
    let other = Script { id: 2, received: steadily(100, 10_000).collect(), ..Script::default() };
    let stalls = watched(&[upload(2300, &[2250]), other], &[]);
    assert_eq!(phases(&stalls[0]), [("loss", 1980, 2300)]);
}

#[test]
fn a_lone_connection_says_when_the_path_was_gone_at_least() {
    // The third retransmission, at 3,680 ms, had no answer; the fourth, 1,920 ms later, had.
    let stalls = watched(&[upload(5640, &[2240, 2720, 3680, 5600])], &[]);
    assert_eq!(phases(&stalls[0]), [("path-gone", 1980, 3680), ("timer-backoff", 3680, 5640)]);
}

#[test]
fn a_peer_that_does_not_read() {
    let script = Script { probes: vec![2300, 2700, 3500], ..upload(5000, &[]) };
    assert_eq!(phases(&watched(&[script], &[])[0]), [("peer-window", 1980, 5000)]);
}

#[test]
fn a_window_that_was_the_limit_for_most_of_it() {
    let limited = |from| Script { limited: Some(from), ..upload(4000, &[]) };
    assert_eq!(phases(&watched(&[limited(2500)], &[])[0]), [("peer-window", 1980, 4000)]);
    assert_eq!(phases(&watched(&[limited(3500)], &[])[0]), [("late", 1980, 4000)]);
}

#[test]
fn one_timeout_of_a_lone_connection_is_a_loss() {
    assert_eq!(phases(&watched(&[upload(2300, &[2240])], &[])[0]), [("loss", 1980, 2300)]);
}

#[test]
fn what_is_sent_after_a_pause_waits_from_then_on() {
    let script = Script {
        acknowledged: steadily(100, 2000).chain(steadily(5300, 6000)).collect(),
        sends: (5000, 6000),
        timeouts: vec![5240],
        ..upload(0, &[])
    };
    assert_eq!(phases(&watched(&[script], &[])[0]), [("loss", 5000, 5300)]);
}

#[test]
fn a_watch_that_begins_in_a_stall_knows_since_when() {
    let script = upload(5640, &[2240, 2720, 3680, 5600]);
    let mut watcher = Watcher::new(Limits::default());
    let mut stalls = Vec::new();
    for now in (3000..7000).step_by(EVERY as usize) {
        stalls.extend(watcher.on_samples(ms(now), vec![script.sample(now)]));
    }
    assert_eq!(phases(&stalls[0]), [("path-gone", 1980, 3680), ("timer-backoff", 3680, 5640)]);
}

#[test]
fn a_late_answer() {
    assert_eq!(phases(&watched(&[upload(2300, &[])], &[])[0]), [("late", 1980, 2300)]);
}

#[test]
fn what_does_not_come_counts_where_something_shows_it() {
    let download = |out_of_order: Vec<u64>| Script {
        id: 1,
        received: steadily(100, 2000).chain(steadily(4000, 10_000)).collect(),
        out_of_order,
        ..Script::default()
    };
    assert_eq!(watched(&[download(vec![])], &[]), [], "perhaps nothing was sent");
    let holes = watched(&[download(vec![3990])], &[]);
    assert_eq!(phases(&holes[0]), [("loss", 1980, 4000)]);
    assert_eq!(holes[0].direction, Direction::Receiving);
    let roam = watched(&[download(vec![])], &[(2000, Change::Down(WIFI)), (3000, Change::Up(WIFI))]);
    assert_eq!(phases(&roam[0]), [("radio-gone", 1980, 3000), ("timer-backoff", 3000, 4000)]);
}

#[test]
fn one_that_does_not_open() {
    let opening = |now: u64| {
        let backoff = (now / 1000) as u8;
        Sample {
            state: State::Opening,
            backoff,
            acknowledged: 0,
            in_flight: 1,
            ..Script { id: 7, ..Script::default() }.sample(now)
        }
    };
    let mut watcher = Watcher::new(Limits::default());
    for now in (1000..4000).step_by(50) {
        assert_eq!(watcher.on_samples(ms(now), vec![opening(now)]), []);
    }
    assert_eq!(watcher.waiting(ms(4000)), 1);
    let open = Script { id: 7, ..Script::default() }.sample(4000);
    let stalls = watcher.on_samples(ms(4000), vec![open]);
    assert_eq!(stalls[0].direction, Direction::Opening);
}

#[test]
fn a_stall_that_lasts_is_told_at_the_end() {
    let stalls = watched(&[upload(20_000, &[2240, 2720])], &[(2010, Change::Down(WIFI))]);
    assert_eq!((phases(&stalls[0]), stalls[0].end), (vec![("radio-gone", 1980, 10_000)], End::Lasts));
}

#[test]
fn only_so_many_are_watched() {
    let mut watcher = Watcher::new(Limits { connections: 3, ..Limits::default() });
    let all = |now| (0..5).map(|id| Script { id, ..Script::default() }.sample(now)).collect();
    watcher.on_samples(ms(0), all(0));
    watcher.on_samples(ms(50), all(50));
    assert_eq!((watcher.watched(), watcher.unwatched()), (3, 4));
}

mod any {
    use proptest::prelude::*;

    use super::*;

    fn moments() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(0..10_000_u64, 0..20).prop_map(|mut of| {
            of.sort_unstable();
            of
        })
    }

    fn script(id: u64) -> impl Strategy<Value = Script> {
        (
            moments(),
            moments(),
            moments(),
            moments(),
            moments(),
            (0..10_000_u64, 0..10_000_u64),
            proptest::option::of(0..10_000_u64),
        )
            .prop_map(
                move |(acknowledged, received, timeouts, out_of_order, probes, sends, ends)| Script {
                    id,
                    acknowledged,
                    received,
                    timeouts,
                    sends,
                    out_of_order,
                    probes,
                    limited: None,
                    ends,
                },
            )
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            Just(Change::Up(WIFI)),
            Just(Change::Down(WIFI)),
            Just(Change::Gained(WIFI, here().ip())),
            Just(Change::Lost(WIFI, here().ip())),
        ]
    }

    proptest! {
        /// Whatever the kernel shows: phases follow each other, none is empty, and all is within the watch.
        #[test]
        fn phases_have_no_gaps(one in script(1), other in script(2), changes in proptest::collection::vec((0..10_000_u64, change()), 0..10)) {
            let mut changes = changes;
            changes.sort_by_key(|(at, _)| *at);
            for stall in watched(&[one, other], &changes) {
                prop_assert!(stall.length() >= Limits::default().least && stall.to() <= ms(10_000));
                prop_assert_eq!(Cause::ALL.into_iter().map(|cause| stall.of(cause)).sum::<Duration>(), stall.length());
                prop_assert!(stall.phases.windows(2).all(|two| two[0].to == two[1].from && two[0].cause != two[1].cause));
                prop_assert!(stall.phases.iter().all(|phase| phase.from < phase.to));
            }
        }
    }
}

/// A question for a name: from when to when its socket is there, and when its answer comes.
fn asked(questions: &[(u64, u64, Option<u64>)], changes: &[(u64, Change)]) -> Vec<Stall> {
    let mut watcher = Watcher::new(Limits::default());
    watcher.on_change(ms(0), Change::Gained(WIFI, here().ip()));
    let mut stalls = Vec::new();
    let mut told = 0;
    for now in (0..40_000).step_by(EVERY as usize) {
        for &(at, change) in changes.iter().skip(told).take_while(|(at, _)| *at <= now) {
            watcher.on_change(ms(at), change);
            told += 1;
        }
        let there = (1..).zip(questions).filter(|(_, (from, to, _))| (*from..*to).contains(&now));
        let there = there.map(|(id, &(_, _, answer))| Lookup {
            id: ConnectionId(id),
            local: here(),
            server: "192.0.2.53:53".parse().unwrap(),
            has_answer: answer.is_some_and(|at| at <= now),
        });
        stalls.extend(watcher.on_lookups(ms(now), &there.collect::<Vec<_>>()));
    }
    stalls.extend(watcher.finish(ms(40_000)));
    stalls
}

#[test]
fn a_name_that_takes_long_is_a_stall() {
    let found = asked(&[(1000, 1100, None), (2000, 7000, None)], &[]);
    let [stall] = &found[..] else { panic!("{found:?}") };
    assert_eq!((stall.direction, stall.end), (Direction::Resolving, End::WentOn));
    assert_eq!(phases(stall), [("dns", 2000, 7000)]);
    assert_eq!(stall.remote.port(), 53);
}

#[test]
fn a_question_ends_with_its_answer_however_long_its_socket_is_there() {
    let found = asked(&[(1000, 9000, Some(1500))], &[]);
    assert_eq!(found.iter().map(phases).collect::<Vec<_>>(), [[("dns", 1000, 1500)]]);
    assert_eq!(asked(&[(1000, 9000, Some(1100))], &[]), []);
}

#[test]
fn what_was_there_before_or_stays_for_ever_is_no_question() {
    assert_eq!(asked(&[(0, 5000, None)], &[]), [], "nobody knows since when");
    assert_eq!(asked(&[(1000, 39_000, None)], &[]), [], "a server's own socket");
    let found = asked(&[(12_000, 50_000, None)], &[]);
    assert_eq!(found.iter().map(|stall| stall.end).collect::<Vec<_>>(), [End::Lasts]);
}

#[test]
fn a_question_while_the_carrier_is_gone_is_told_apart() {
    let found = asked(&[(2000, 7000, None)], &[(1900, Change::Down(WIFI)), (4000, Change::Up(WIFI))]);
    assert_eq!(
        found.iter().map(phases).collect::<Vec<_>>(),
        [[("radio-gone", 2000, 4000), ("dns", 4000, 7000)]]
    );
}
