//! The resequencing edge beside a naive model of it.

use handfast_assist::sdtp::resequence::{Bounds, Incoming, Resequencer};
use handfast_core::{Bytes, Duration, Instant, SeqNum};
use proptest::prelude::*;

const BOUNDS: Bounds = Bounds { persistence: Duration::from_millis(20), packets: 6, bytes: Bytes(60) };

#[derive(Clone, Copy, Debug)]
enum Event {
    Data { from: i64, len: u32, timestamp: Option<u32>, only: bool },
    Never { from: i64, len: u32 },
    Wait(u64),
    Flush,
}

fn event() -> impl Strategy<Value = Event> {
    let timestamp = prop_oneof![3 => Just(None), 1 => (0u32..4).prop_map(Some)];
    prop_oneof![
        12 => (0i64..80, 1u32..12, timestamp, prop::bool::weighted(0.3))
            .prop_map(|(from, len, timestamp, only)| Event::Data { from, len, timestamp, only }),
        1 => (0i64..80, 1u32..12).prop_map(|(from, len)| Event::Never { from, len }),
        3 => (1u64..15).prop_map(Event::Wait),
        1 => Just(Event::Flush),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    from: i64,
    end: i64,
    timestamp: Option<u32>,
    came: u64,
    name: usize,
}

/// Numbers that never wrap, and lists that are searched from end to end.
#[derive(Default)]
struct Model {
    next: i64,
    held: Vec<Waiting>,
    never: Vec<i64>,
    out: Vec<usize>,
    /// Each number that has left.
    left: Vec<i64>,
    dropped: Vec<usize>,
}

impl Model {
    fn leave(&mut self, one: Waiting) {
        self.left.extend(one.from..one.end);
        self.out.push(one.name);
    }

    fn data(&mut self, new: Waiting, only: bool) {
        let waits = self.held.iter().rfind(|one| one.from <= new.from).is_some_and(|one| one.end >= new.end);
        // What has left ahead of its turn, because it came twice, is not remembered.
        let has_left = new.end <= self.next && (new.from..new.end).all(|at| self.left.contains(&at));
        if only && (waits || has_left) {
            self.dropped.push(new.name);
            return;
        }
        let newer = |one: &Waiting| matches!((new.timestamp, one.timestamp), (Some(a), Some(b)) if a > b);
        if self.held.iter().any(|one| one.from >= new.from && newer(one)) {
            self.flush();
        }
        let before = self.held.iter().rfind(|one| one.from <= new.from);
        if new.from > self.next && before.is_none_or(|one| one.end < new.end) {
            self.held.push(new);
            self.held.sort_by_key(|one| one.from);
            let bytes = |held: &[Waiting]| held.iter().map(|one| one.end - one.from).sum::<i64>();
            while self.held.len() > BOUNDS.packets || bytes(&self.held) > BOUNDS.bytes.get() as i64 {
                self.give_up();
            }
        } else {
            self.leave(new);
            if new.from <= self.next {
                self.next = self.next.max(new.end);
                self.release();
            }
        }
    }

    fn give_up(&mut self) {
        self.next = self.next.max(self.held[0].from);
        self.release();
    }

    fn release(&mut self) {
        loop {
            while self.never.contains(&self.next) {
                self.next += 1;
            }
            if self.held.is_empty() || self.held[0].from > self.next {
                return;
            }
            let first = self.held.remove(0);
            self.next = self.next.max(first.end);
            self.leave(first);
        }
    }

    fn flush(&mut self) {
        while !self.held.is_empty() {
            self.give_up();
        }
    }

    fn overdue(&self, now: u64) -> bool {
        self.held.iter().any(|one| one.came + 20 <= now)
    }
}

fn compare(isn: u32, events: &[Event]) -> Result<(), TestCaseError> {
    let seq = |at: i64| SeqNum(isn) + at as u32;
    let (mut machine, mut model) = (Resequencer::new(SeqNum(isn), BOUNDS), Model::default());
    let (mut now, mut came, mut out) = (0, 0, Vec::new());
    for &event in events {
        let time = Instant::from_millis(now);
        match event {
            Event::Data { from, len, timestamp, only } => {
                let facts = Incoming { seq: seq(from), len, bytes: len, timestamp, only };
                machine.on_data(time, facts, came, &mut out);
                let end = from + i64::from(len);
                model.data(Waiting { from, end, timestamp, came: now, name: came }, only);
                came += 1;
            }
            Event::Never { from, len } => {
                machine.on_never(seq(from), seq(from) + len, &mut out);
                model.never.extend(from.max(model.next)..from + i64::from(len));
                model.release();
            }
            Event::Wait(ms) => {
                now += ms;
                machine.on_timer(Instant::from_millis(now), &mut out);
                while model.overdue(now) {
                    model.give_up();
                }
                prop_assert!(machine.deadline().is_none_or(|due| due > Instant::from_millis(now)));
            }
            Event::Flush => {
                machine.flush(&mut out);
                model.flush();
            }
        }
        prop_assert_eq!(&out, &model.out, "after {:?}", event);
        prop_assert_eq!((machine.next(), machine.held()), (seq(model.next), model.held.len()));
        let deadline = model.held.iter().map(|one| one.came + 20).min();
        prop_assert_eq!(machine.deadline(), deadline.map(Instant::from_millis));
    }
    machine.flush(&mut out);
    out.extend(&model.dropped);
    out.sort_unstable();
    prop_assert_eq!(machine.counters().needless, model.dropped.len() as u64);
    prop_assert_eq!(out, (0..came).collect::<Vec<_>>(), "each leaves once, or is one too many");
    Ok(())
}

proptest! {
    #[test]
    fn it_does_what_the_model_does(isn in any::<u32>(), events in prop::collection::vec(event(), 0..60)) {
        compare(isn, &events)?;
    }

    /// Without loss, in any order within the bounds, all leaves in order.
    #[test]
    fn what_all_comes_leaves_in_order(isn in any::<u32>(), order in Just((0u32..40).collect::<Vec<_>>()).prop_shuffle()) {
        let bounds = Bounds { packets: 40, bytes: Bytes(400), ..BOUNDS };
        let (mut machine, mut out) = (Resequencer::new(SeqNum(isn), bounds), Vec::new());
        for place in order {
            let facts = Incoming { seq: SeqNum(isn) + place * 10, len: 10, bytes: 10, timestamp: Some(place), only: false };
            machine.on_data(Instant::ZERO, facts, place, &mut out);
        }
        prop_assert_eq!(out, (0..40).collect::<Vec<_>>());
    }
}
