//! A terminal: a person types, and each keystroke comes back from the other end, as over SSH.

use std::collections::VecDeque;

use handfast_core::{Bytes, Duration, Instant, Stream};

use super::draw;
use crate::dialogue::request::{HEADER_LEN, MOST_REQUEST};
use crate::dialogue::{Client, Description, Request, Waits};
use crate::transport::{Figure, Figures};

/// Dhakal et al., "Observations on Typing from 136 Million Keystrokes", CHI 2018: between two keystrokes 238.656 ms on average, with a
/// standard deviation of 111.6 ms. Of the lognormal distribution that has both this is sigma: sqrt(ln(1 + (111.6 / 238.656)^2)).
const SIGMA: f64 = 0.445;

/// Between two keystrokes, on average, at least: each is kept.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// What a terminal is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Between two keystrokes, on average.
    pub interval: Duration,
    /// Bytes of a keystroke and of its echo.
    pub size: Bytes,
}

impl Default for Terminal {
    /// The interval is that of the study above. A keystroke is the smallest SSH packet (RFC 4253 §6) of a cipher whose length field
    /// stands alone, as chacha20-poly1305 and AES-GCM have it: 4 bytes, 16 encrypted, a tag of 16.
    fn default() -> Self {
        Self { interval: Duration::from_micros(238_656), size: Bytes(36) }
    }
}

pub(crate) fn description(terminal: Terminal) -> Description {
    let sizes = u64::from(HEADER_LEN)..=u64::from(MOST_REQUEST);
    let problem = if terminal.interval < LEAST_INTERVAL {
        Some(format!("has an interval of {} between keystrokes: 1 ms at least", terminal.interval))
    } else if sizes.contains(&terminal.size.get()) {
        None
    } else {
        let size = terminal.size;
        Some(format!("has keystrokes of {size}: they have {} to {} bytes", sizes.start(), sizes.end()))
    };
    Description { connections: 1, problem }
}

pub(crate) fn client(terminal: Terminal, seed: u64, flow: &str) -> Box<dyn Client> {
    let stream = Stream::new(seed, &format!("flow {flow} keystrokes"));
    let Terminal { interval, size } = terminal;
    let request = Request { len: size.get() as u32, answer: size.get() };
    Box::new(Typist {
        interval,
        request,
        stream,
        next: None,
        typed: VecDeque::new(),
        asked: 0,
        echoes: Waits::default(),
    })
}

/// Who types.
#[derive(Debug)]
struct Typist {
    interval: Duration,
    request: Request,
    stream: Stream,
    /// The next keystroke; [`None`]: the connection is not open yet.
    next: Option<Instant>,
    /// When each keystroke was typed that has not come back.
    typed: VecDeque<Instant>,
    /// How many of these, the first ones, are on their way.
    asked: usize,
    echoes: Waits,
}

impl Typist {
    fn pause(&mut self) -> Duration {
        draw::times(self.interval, draw::lognormal(&mut self.stream, SIGMA))
    }
}

impl Client for Typist {
    fn on_start(&mut self, _now: Instant) {}

    fn on_open(&mut self, now: Instant, _connection: usize) {
        self.next = Some(now + self.pause());
    }

    fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// A person types on, whether or not something comes back.
    fn on_timer(&mut self, now: Instant) {
        while let Some(next) = self.next.filter(|&next| next <= now) {
            self.typed.push_back(next);
            self.next = Some(next + self.pause());
        }
    }

    fn ask(&mut self, _now: Instant, _connection: usize) -> Option<Request> {
        let is_there = self.asked < self.typed.len();
        self.asked += usize::from(is_there);
        is_there.then_some(self.request)
    }

    fn on_answer(&mut self, now: Instant, _connection: usize) {
        let Some(typed) = self.typed.pop_front() else { return };
        self.asked -= 1;
        self.echoes.add(now.since(typed));
    }

    /// For an echo, or for the connection: a person who cannot type yet waits too.
    fn is_waiting(&self) -> bool {
        self.next.is_none() || !self.typed.is_empty()
    }

    fn figures(&self, now: Instant) -> Figures {
        let echoes = self.echoes.sorted(now, self.typed.iter().copied());
        let waiting = self.typed.len() as u64;
        Figures::from([
            ("keystrokes", Figure::Count(self.echoes.count() + waiting)),
            ("unechoed_keystrokes", Figure::Count(waiting)),
            ("echo_p50_s", echoes.at(500)),
            ("echo_p95_s", echoes.at(950)),
            ("echo_p99_s", echoes.at(990)),
            ("echo_max_s", echoes.at(1000)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::over_tcp::testing::{World, at};
    use crate::session::Ending;
    use proptest::prelude::*;

    fn typist() -> Box<dyn Client> {
        client(Terminal::default(), 1, "a-b")
    }

    #[test]
    fn a_person_types_on_while_nothing_comes_back() {
        let mut typist = typist();
        typist.on_start(at(0));
        assert_eq!((typist.deadline(), typist.ask(at(0), 0)), (None, None));
        typist.on_open(at(40), 0);
        typist.on_timer(at(60_040));
        let requests = std::iter::from_fn(|| typist.ask(at(60_040), 0)).count();
        // A minute of keystrokes, every 239 ms: 251, give or take.
        assert!((235..268).contains(&requests), "{requests}");
        assert!(typist.deadline() > Some(at(60_040)));
        let figures = typist.figures(at(60_040));
        assert_eq!(figures["keystrokes"], Figure::Count(requests as u64));
        assert_eq!(figures["unechoed_keystrokes"], figures["keystrokes"]);
    }

    #[test]
    fn an_echo_is_that_of_the_oldest_keystroke() {
        let mut typist = typist();
        typist.on_open(at(0), 0);
        let first = typist.deadline().unwrap();
        typist.on_timer(first);
        let second = typist.deadline().unwrap();
        typist.on_timer(second);
        while typist.ask(second, 0).is_some() {}
        let echoed = second + Duration::from_millis(50);
        typist.on_answer(echoed, 0);
        let figures = typist.figures(echoed);
        assert_eq!(figures["echo_max_s"], Figure::Value(Some(echoed.since(first).as_secs_f64())));
        assert_eq!(figures["unechoed_keystrokes"], Figure::Count(1));
    }

    #[test]
    fn a_person_waits_for_the_connection_and_for_echoes() {
        let mut typist = typist();
        typist.on_start(at(0));
        assert!(typist.is_waiting());
        typist.on_open(at(0), 0);
        assert!(!typist.is_waiting());
        let typed = typist.deadline().unwrap();
        typist.on_timer(typed);
        assert!(typist.is_waiting());
        typist.ask(typed, 0);
        typist.on_answer(typed, 0);
        assert!(!typist.is_waiting());
    }

    /// An echo over TCP takes one round trip of 40 ms where nothing is lost.
    #[test]
    fn a_keystroke_takes_a_round_trip() {
        let mut world = World::new(typist(), 1, Some(at(10_000)));
        world.run(at(20_000), |_| false);
        let figures = world.figures(at(20_000));
        for key in ["echo_p50_s", "echo_p99_s", "echo_max_s"] {
            assert_eq!(figures[key], Figure::Value(Some(0.04)), "{key}");
        }
        assert!(world.is_right());
        assert_eq!(world.servers[0].0.sending().ending().map(Ending::name), Some("closed"));
    }

    /// What is typed while nothing passes comes back after it, all of it.
    #[test]
    fn an_outage_is_felt_by_who_types_in_it() {
        let mut world = World::new(typist(), 1, None);
        world.run(at(30_000), |now| (at(10_000)..at(13_000)).contains(&now));
        let figures = world.figures(at(30_000));
        let Figure::Value(Some(longest)) = figures["echo_max_s"] else { panic!("{figures:?}") };
        assert!((2.5..6.0).contains(&longest), "{figures:?}");
        assert_eq!(figures["echo_p50_s"], Figure::Value(Some(0.04)));
        assert!(world.is_right());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        /// Whatever is lost, each keystroke that was typed long ago has come back, once.
        #[test]
        fn each_keystroke_comes_back_once(seed in 0_u64..1000, loss in 0.0_f64..0.2) {
            let mut drops = Stream::new(seed, "drops");
            let mut world = World::new(client(Terminal::default(), seed, "a-b"), 1, None);
            world.run(at(20_000), |now| now < at(15_000) && drops.chance(loss));
            let figures = world.figures(at(20_000));
            let count = |key: &str| match figures[key] { Figure::Count(count) => count, Figure::Value(_) => 0 };
            prop_assert!(world.is_right());
            prop_assert_eq!(world.delivered(), 36 * (count("keystrokes") - count("unechoed_keystrokes")));
            prop_assert!(count("keystrokes") > 50);
        }
    }

    #[test]
    fn what_cannot_be_typed_is_refused() {
        let whole = Terminal::default();
        assert_eq!(description(whole).problem, None);
        assert!(description(Terminal { interval: Duration::ZERO, ..whole }).problem.is_some());
        assert!(description(Terminal { size: Bytes(15), ..whole }).problem.is_some());
    }
}
