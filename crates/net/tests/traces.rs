//! Links that follow traces, against `mm-link`'s loop over milliseconds and against a link whose rate others change.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::queue::codel;
use handfast_net::trace::{AtEnd, Trace};
use handfast_net::{Direction, DownMode, Exit, Link, Loss, Queue};
use proptest::prelude::*;

fn plain() -> Direction {
    Direction::plain(BitRate::from_bps(8_000_000), Duration::from_millis(3))
}

/// Waits in a discipline that never drops.
fn queued() -> Direction {
    let patient = codel::Config { target: Duration::from_secs(100_000), ..codel::Config::default() };
    Direction { queue: Queue::CoDel(codel::Config { limit: None, ..patient }), ..plain() }
}

fn following(direction: &Direction, trace: &Arc<Trace>) -> Link<u32> {
    Link::following(direction, trace.clone(), Stream::new(1, "link"))
}

/// What arrives when, offering each packet at its moment.
fn arrivals(
    mut link: Link<u32>,
    packets: &[(u64, u32)],
    mut also: impl FnMut(&mut Link<u32>, Instant),
) -> Vec<(u64, u32)> {
    let mut seen = Vec::new();
    let mut drain = |link: &mut Link<u32>, to: Instant| {
        while let Some(at) = link.deadline().filter(|&at| at <= to) {
            while let Some(exit) = link.poll(at) {
                let Exit::Delivered { handle, .. } = exit else { panic!("{exit:?}") };
                seen.push((at.as_nanos(), handle));
            }
            assert!(link.deadline().is_none_or(|next| next > at));
        }
    };
    for (handle, &(at, size)) in (0..).zip(packets) {
        let at = Instant::from_nanos(at);
        drain(&mut link, at);
        also(&mut link, at);
        link.enqueue(at, handle, Bytes(u64::from(size)), true).unwrap();
    }
    drain(&mut link, Instant::MAX);
    seen
}

/// `mm-link` as its loop works: at each opportunity up to 1,504 bytes leave, each packet with four bytes of the TUN device.
fn mm_link(moments: &[u64], packets: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let (mut queue, mut sending, mut seen) = (VecDeque::new(), None, Vec::new());
    let mut waiting = (0..).zip(packets).peekable();
    let length = moments.last().unwrap();
    for at in (0..).flat_map(|round| moments.iter().map(move |at| (round * length + at) * 1_000_000)) {
        while let Some((handle, &(_, size))) = waiting.next_if(|(_, (came, _))| *came < at) {
            queue.push_back((handle, u64::from(size) + 4));
        }
        let mut room = 1504;
        while room > 0 {
            let Some((handle, left)) = sending.take().or_else(|| queue.pop_front()) else { break };
            let sent = room.min(left);
            room -= sent;
            if left > sent {
                sending = Some((handle, left - sent));
            } else {
                seen.push((at + 3_000_000, handle));
            }
        }
        if seen.len() == packets.len() {
            break;
        }
    }
    seen
}

fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let wait = prop_oneof![3 => 0..400_000_u64, 1 => (0..40_u64).prop_map(|ms| ms * 1_000_000), 1 => 0..90_000_000_u64];
    let size = prop_oneof![Just(1500_u32), Just(40), 1..1500_u32];
    prop::collection::vec((wait, size), 1..80).prop_map(|packets| {
        let sum = |now: &mut u64, (wait, size)| {
            *now += wait;
            Some((*now, size))
        };
        packets.into_iter().scan(0, sum).collect()
    })
}

/// Milliseconds that do not fall, some of them several times.
fn moments() -> impl Strategy<Value = Vec<u64>> {
    let gap = prop_oneof![3 => Just(0_u64), 3 => 1..4_u64, 1 => 5..60_u64];
    (prop::collection::vec(gap, 1..40), 1..20_u64).prop_map(|(gaps, last)| {
        let mut now = 0;
        let mut all: Vec<u64> = gaps
            .into_iter()
            .map(|gap| {
                now += gap;
                now
            })
            .collect();
        all.push(now + last);
        all
    })
}

fn text(moments: &[u64]) -> String {
    let lines: Vec<String> = moments.iter().map(u64::to_string).collect();
    lines.join("\n")
}

/// Steps: how long, rate, delay; at least one carries.
fn steps() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let rate = prop_oneof![1 => Just(0_u64), 4 => 100_000..20_000_000_u64];
    prop::collection::vec((50_000..30_000_001_u64, rate, 0..20_000_000_u64), 1..12)
        .prop_filter("something leaves", |steps| steps.iter().any(|step| step.1 > 0))
}

/// As a file, whose last line is the end.
fn csv(steps: &[(u64, u64, u64)]) -> String {
    let thousandths = |number: u64| format!("{}.{:03}", number / 1000, number % 1000);
    let mut lines = vec!["time_us,rate_bps,delay_us".to_owned()];
    let mut now = 0_u64;
    for &(length, rate, delay) in steps {
        lines.push(format!("{},{rate},{}", thousandths(now), thousandths(delay)));
        now += length;
    }
    lines.push(format!("{},1,0", thousandths(now)));
    lines.join("\n")
}

proptest! {
    #[test]
    fn opportunities_are_used_as_mm_link_uses_them(moments in moments(), packets in packets()) {
        let trace = Arc::new(Trace::parse(&text(&moments), AtEnd::Repeat).unwrap());
        let expected = mm_link(&moments, &packets);
        for direction in [plain(), queued()] {
            let seen = arrivals(following(&direction, &trace), &packets, |_, _| {});
            prop_assert_eq!(&seen, &expected, "{:?}", direction.queue);
        }
    }

    /// Work is conserved: who always has something to send gets each opportunity, and nobody gets more.
    #[test]
    fn no_more_leaves_than_there_are_opportunities(moments in moments(), packets in packets(), until in 1..500_u64) {
        let trace = Arc::new(Trace::parse(&text(&moments), AtEnd::Repeat).unwrap());
        let until = Instant::from_millis(until);
        let carried = |seen: &[(u64, u32)], size: &dyn Fn(u32) -> u64| -> u64 {
            let left = seen.iter().filter(|(at, _)| at - 3_000_000 <= until.as_nanos());
            left.map(|&(_, handle)| size(handle)).sum()
        };
        let seen = arrivals(following(&plain(), &trace), &packets, |_, _| {});
        let most = trace.carried(until).unwrap().get();
        prop_assert!(carried(&seen, &|handle| u64::from(packets[handle as usize].1)) <= most);
        // One at 0 is past for a packet that comes at 0.
        let past = moments.iter().filter(|&&at| at == 0).count() as u64 * 1500;
        let always: Vec<_> = (0..(most / 1500 + 2)).map(|_| (0, 1500)).collect();
        let seen = arrivals(following(&plain(), &trace), &always, |_, _| {});
        prop_assert_eq!(carried(&seen, &|_| 1500), most - past);
    }

    /// The same as a link whose rate and delay are changed at each step, but for a nanosecond.
    #[test]
    fn steps_are_what_changes_of_rate_and_delay_are(steps in steps(), packets in packets()) {
        let trace = Arc::new(Trace::parse(&csv(&steps), AtEnd::Repeat).unwrap());
        let mut now = 0;
        let mut changes = Vec::new();
        for &(length, rate, delay) in steps.iter().cycle() {
            changes.push((Instant::from_nanos(now), BitRate::from_bps(rate), Duration::from_nanos(delay)));
            now += length;
            if changes.len() > 3_000 {
                break;
            }
        }
        for direction in [plain(), queued()] {
            let seen = arrivals(following(&direction, &trace), &packets, |_, _| {});
            let changed = with_changes(Link::new(&direction, Stream::new(1, "link")), &packets, &changes);
            // What the changes do not reach is not compared; all before that is. A change forgets by how much a departure was
            // rounded up.
            let near = |a: &(u64, u32), b: &(u64, u32)| a.1 == b.1 && a.0.abs_diff(b.0) <= 1;
            let end = changes.last().map_or(0, |last| last.0.as_nanos());
            let reached = |arrived: &[(u64, u32)]| arrived.iter().filter(|(at, _)| at + 1 < end).count();
            let count = reached(&seen).max(reached(&changed));
            prop_assert!(seen.len().min(changed.len()) >= count, "{seen:?}\n{changed:?}");
            let same = seen.iter().zip(&changed).take(count).all(|(a, b)| near(a, b));
            prop_assert!(same, "{seen:?}\n{changed:?}");
        }
    }

    #[test]
    fn whatever_happens_each_packet_leaves_once(
        moments in moments(), steps in steps(), opportunities in any::<bool>(), waits in any::<bool>(),
        happens in prop::collection::vec((0..9_000_000_u64, 0..12_u8), 1..120),
    ) {
        let text = if opportunities { text(&moments) } else { csv(&steps) };
        let trace = Arc::new(Trace::parse(&text, AtEnd::Repeat).unwrap());
        let direction = if waits { queued() } else { plain() };
        let mut link = following(&direction, &trace);
        let (mut inside, mut now, mut last) = (BTreeSet::new(), Instant::ZERO, None);
        let mut drain = |link: &mut Link<u32>, to: Instant, inside: &mut BTreeSet<u32>| {
            while let Some(at) = link.deadline().filter(|&at| at <= to) {
                while let Some(exit) = link.poll(at) {
                    let (Exit::Delivered { handle, .. } | Exit::Lost { handle, .. }) = exit else { panic!() };
                    assert!(inside.remove(&handle) && last.is_none_or(|last| last < handle), "in order");
                    last = Some(handle);
                }
                assert!(link.deadline().is_none_or(|next| next > at));
            }
        };
        for (handle, (wait, what)) in (0..).zip(happens) {
            now += Duration::from_nanos(wait);
            drain(&mut link, now, &mut inside);
            match what {
                0 => link.down(now, DownMode::Drop),
                1 => link.down(now, DownMode::Hold),
                2 => link.up(now, DownMode::Drop),
                3 => link.up(now, DownMode::Hold),
                4 => link.set_rate(now, BitRate::default()),
                5 => link.set_delay(now, Duration::from_millis(wait % 9)),
                _ => if link.enqueue(now, handle, Bytes(wait % 1500), true).is_ok() { inside.insert(handle); },
            }
        }
        for mode in [DownMode::Drop, DownMode::Hold] {
            (0..120).for_each(|_| link.up(now, mode));
        }
        drain(&mut link, now + Duration::from_secs(10_000), &mut inside);
        prop_assert!(inside.is_empty(), "{inside:?} never left");
    }
}

fn with_changes(
    mut link: Link<u32>,
    packets: &[(u64, u32)],
    changes: &[(Instant, BitRate, Duration)],
) -> Vec<(u64, u32)> {
    let mut seen = Vec::new();
    let mut drain = |link: &mut Link<u32>, to: Instant| {
        while let Some(at) = link.deadline().filter(|&at| at <= to) {
            while let Some(Exit::Delivered { handle, .. }) = link.poll(at) {
                seen.push((at.as_nanos(), handle));
            }
        }
    };
    let mut packets = (0..).zip(packets).peekable();
    for (index, &(at, rate, delay)) in changes.iter().enumerate() {
        drain(&mut link, at);
        link.set_rate(at, rate);
        link.set_delay(at, delay);
        let until = changes.get(index + 1).map_or(at, |next| next.0).as_nanos();
        while let Some((handle, &(came, size))) = packets.next_if(|(_, (came, _))| *came < until) {
            drain(&mut link, Instant::from_nanos(came));
            link.enqueue(Instant::from_nanos(came), handle, Bytes(u64::from(size)), true).unwrap();
        }
    }
    drain(&mut link, changes.last().unwrap().0);
    seen
}

#[test]
fn a_trace_may_be_far_shorter_than_a_packet_takes() {
    let trace =
        Arc::new(Trace::parse("time_us,rate_bps\n0,1\n0.001,3\n0.002,0\n0.003,0\n", AtEnd::Repeat).unwrap());
    // 4/3 bit/s: one byte takes 6 s and the next too; a round ends with a nanosecond in which nothing leaves.
    let seen = arrivals(following(&plain(), &trace), &[(0, 1), (1, 1)], |_, _| {});
    assert_eq!(seen.iter().map(|(at, _)| at / 1_000).collect::<Vec<_>>(), [6_002_999, 12_002_999]);
}

#[test]
fn nothing_overtakes_where_the_delay_falls() {
    let trace = Trace::parse("time_ms,delay_ms\n0,50\n10,5\n1000,5\n", AtEnd::Repeat).unwrap();
    // 1 ms each at the link's own rate; the second leaves when the delay has fallen.
    let seen =
        arrivals(following(&plain(), &Arc::new(trace)), &[(8_000_000, 1000), (9_500_000, 1000)], |_, _| {});
    assert_eq!(seen, [(59_000_000, 0), (59_000_000, 1)]);
}

#[test]
fn what_leaves_is_lost_as_the_step_says() {
    let trace = Arc::new(Trace::parse("time_s,loss\n0,0\n10,0.5\n20,0\n", AtEnd::Repeat).unwrap());
    // The losses of the link are those of its trace.
    let mut link = following(&Direction { losses: vec![Loss::Packet(1.0)], ..plain() }, &trace);
    let mut lost = [0; 4];
    for index in 0..40_000_u32 {
        let at = Instant::from_millis(u64::from(index));
        link.enqueue(at, index, Bytes(100), true).unwrap();
        let at = link.deadline().unwrap();
        lost[index as usize / 10_000] += u32::from(matches!(link.poll(at), Some(Exit::Lost { .. })));
    }
    // 10,000 trials at one half: standard deviation 50; five of them either way.
    assert!(
        lost[0] == 0 && lost[2] == 0 && lost[1].abs_diff(5000) < 250 && lost[3].abs_diff(5000) < 250,
        "{lost:?}"
    );
}

#[test]
fn a_held_link_misses_its_opportunities() {
    let trace = Arc::new(Trace::parse("5\n10\n15\n20\n", AtEnd::Repeat).unwrap());
    let mut link = following(&plain(), &trace);
    link.enqueue(Instant::from_millis(1), 0, Bytes(1500), true).unwrap();
    link.down(Instant::from_millis(2), DownMode::Hold);
    assert_eq!(link.deadline(), None);
    link.up(Instant::from_millis(12), DownMode::Hold);
    assert_eq!(link.deadline(), Some(Instant::from_millis(15 + 3)));
    link.set_delay(Instant::from_millis(13), Duration::from_millis(7));
    assert_eq!(link.deadline(), Some(Instant::from_millis(15 + 7)), "the trace has no delay of its own");
}

#[test]
fn a_full_queue_drops_what_the_trace_does_not_carry() {
    let trace = Arc::new(Trace::parse("10\n20\n", AtEnd::Repeat).unwrap());
    let mut link = following(&Direction { queue: Queue::packets(2), ..plain() }, &trace);
    let took =
        |link: &mut Link<u32>, at| link.enqueue(Instant::from_millis(at), 0, Bytes(1500), true).is_ok();
    assert_eq!([1, 2, 3, 10, 11].map(|at| took(&mut link, at)), [true, true, false, true, false]);
    assert!(link.foreseen().is_none());
}
