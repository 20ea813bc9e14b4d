//! Two endpoints, the wire between them, and the interpreter of operations. It stops at the first broken promise.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use handfast_core::{BitRate, Bytes, Duration, Instant, SeqNum};
use handfast_tcp::{
    Config, Death, EcnMode, Endpoint, Event, IoslRules, Radio, Received, Resumption, State, Transmit,
};
use handfast_wire::notification::{AccessLink, Kind};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ecn, IpFacts, Notification, Payload, QuickStart};

use crate::case::{Case, Direction, Op, Setup, Side};
use crate::hop;
use crate::ledger::{Agreed, Ledger, holds, stream};
use crate::limits::Limits;

/// Segments of a case at most: beyond it two ends talk without end.
const MAX_SEGMENTS: u64 = 400_000;
/// Octets a side writes in a case at most; the rest of its writes is left out.
const MAX_WRITTEN: u64 = 300_000;
/// Answers to answers, none of which carries anything.
const MAX_ECHO: u32 = 6;

/// Milliseconds for which a connection is suspended at most.
const MOST_SUSPENDED: u64 = 10_000;

/// What a mobile says of its links' delays, true or not.
const DELAYS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_secs(100_000), Duration::from_millis(1)];

/// What happens to the next segment of a direction.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Pass,
    Drop,
    Corrupt,
    Twice(Duration),
    Late(Duration),
}

pub struct Flight {
    to: Side,
    segment: Segment,
    corrupted: bool,
    /// How many answers to answers led to it.
    echo: u32,
    /// The IP option it came with.
    option: Option<QuickStart>,
    /// The mark of its packet.
    ecn: Ecn,
}

/// One end: the machine, its application, and the referee's book on it.
pub struct End {
    pub config: Arc<Config>,
    pub endpoint: Endpoint,
    pub ledger: Ledger,
    pub connected: bool,
    pub died: Option<Death>,
    reading: bool,
    /// When the peer last answered, or nothing waited for an answer.
    pub progress: Instant,
    /// The longest wait for an answer that came.
    pub longest: Duration,
    /// When something last arrived in order.
    heard: Instant,
    pub fates: VecDeque<Fate>,
    /// The ID-oriented socket layer controls it.
    pub layered: bool,
    /// How often it said of a segment that no other follows.
    pub spent: u32,
}

/// Times at which the link was gone.
pub struct Gone {
    pub from: Instant,
    pub to: Instant,
    hold: bool,
    direction: Direction,
}

pub struct World {
    pub now: Instant,
    pub limits: Limits,
    pub ends: [End; 2],
    pub outages: Vec<Gone>,
    delay: Duration,
    pub wire: BTreeMap<(Instant, u64), Flight>,
    segments: u64,
    /// Notifications so far.
    told: u32,
    /// `HANDFAST_FUZZ_TRACE` is set: every segment and event is printed.
    trace: bool,
    is_fast: bool,
}

/// Runs a case to its end; panics where a promise is broken.
pub fn run(case: &Case) -> World {
    let mut world = World::new(&case.setup);
    world.perform(&case.ops);
    world.finish();
    world
}

impl World {
    pub fn new(setup: &Setup) -> Self {
        let now = Instant::from_millis(1000);
        let delay = Duration::from_millis(u64::from(setup.delay_ms) + 1);
        let choices = [setup.client, setup.server];
        let configs = choices.map(|choices| Arc::new(choices.config()));
        let isses = [SeqNum(setup.client_iss), SeqNum(setup.server_iss)];
        let agreed = Agreed::of(&configs[0], &configs[1]);
        let ends = Side::BOTH.map(|side| {
            let (me, peer) = (side as usize, side.other() as usize);
            let config = Arc::clone(&configs[me]);
            let listens = side == Side::Server && !setup.both_open;
            let (port, peer_port) = if side == Side::Client { (4000, 80) } else { (80, 4000) };
            let mut endpoint = if listens {
                Endpoint::listen(Arc::clone(&config), port, isses[me])
            } else {
                Endpoint::connect(Arc::clone(&config), port, peer_port, isses[me], now)
            };
            if setup.fast()[me] {
                endpoint.open_fast();
            }
            if choices[me].iosl {
                endpoint.attach_iosl(IoslRules::default());
            }
            let mut ledger = Ledger::new(side, &config, agreed, isses[me], isses[peer]);
            ledger.is_fast = setup.fast()[me];
            End {
                config,
                endpoint,
                ledger,
                connected: false,
                died: None,
                reading: true,
                progress: now,
                longest: Duration::ZERO,
                heard: now,
                fates: VecDeque::new(),
                layered: choices[me].iosl,
                spent: 0,
            }
        });
        let limits = Limits::of(&configs, delay);
        let trace = std::env::var_os("HANDFAST_FUZZ_TRACE").is_some();
        Self {
            now,
            limits,
            ends,
            outages: Vec::new(),
            delay,
            wire: BTreeMap::new(),
            segments: 0,
            told: 0,
            trace,
            is_fast: setup.fast() != [false; 2],
        }
    }

    pub fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }

    /// Lets both ends send what they have, then does one operation after the other.
    pub fn perform(&mut self, ops: &[Op]) {
        // What a SYN carries was written before it left.
        let is_early =
            |op: &&Op| self.is_fast && matches!(op, Op::Write { .. } | Op::Lose { .. } | Op::Close { .. });
        let early = ops.iter().take_while(is_early).count();
        for &op in &ops[..early] {
            self.apply(op);
        }
        self.tell(Side::Client);
        self.flush_all();
        for &op in &ops[early..] {
            self.apply(op);
        }
    }

    pub fn apply(&mut self, op: Op) {
        self.say(Side::Client, "#", &op);
        let ms = Duration::from_millis;
        match op {
            Op::Write { side, len, real } => self.write(side, len, real),
            Op::Close { side } => self.close(side),
            Op::StopReading { side } => self.end(side).reading = false,
            Op::ReadSome { side, len } => {
                self.end(side).reading = false;
                self.read(side, usize::from(len));
            }
            Op::Read { side } => {
                self.end(side).reading = true;
                self.read(side, usize::MAX);
            }
            Op::Advance { ms: span } => self.run_until(self.now + ms(u64::from(span))),
            Op::Lose { from, skip, n } => {
                self.fate(from, Fate::Pass, skip % 32);
                self.fate(from, Fate::Drop, n % 64);
            }
            Op::Corrupt { from, n } => self.fate(from, Fate::Corrupt, n % 8),
            Op::Duplicate { from, n, ms: later } => {
                self.fate(from, Fate::Twice(ms(u64::from(later))), n % 16);
            }
            Op::Reorder { from, n, ms: later } => self.fate(from, Fate::Late(ms(u64::from(later))), n % 8),
            Op::Delay { from, n, ms: later } => {
                let later = ms(u64::from(later)).min(self.limits.grace);
                self.fate(from, Fate::Late(later), n % 64);
            }
            Op::Outage { cs, hold, direction } => self.outage(ms(10 * u64::from(cs)), hold, direction),
            Op::HandOver { side } => {
                self.end(side).endpoint.on_handover();
                self.tell(side.other());
            }
            Op::Suspend { side, ms: span, cut } => {
                self.suspend(side, ms(u64::from(span) % MOST_SUSPENDED), cut);
            }
            Op::Radio { side, mbps, weak } => {
                let rate = BitRate::from_bps(u64::from(mbps) * 1_000_000);
                self.end(side).endpoint.on_radio(Radio { rate, is_weak: weak });
            }
            Op::Inject { to, what } => self.inject(to, what),
        }
        self.flush_all();
    }

    /// It makes no progress meanwhile, for which nobody is to blame. During the handshake its peer would run out of patience.
    fn suspend(&mut self, side: Side, span: Duration, cut: bool) {
        self.note_progress();
        let connected = self.ends.iter().all(|end| end.connected);
        if !connected || !self.may_harm() || self.outages.last().is_some_and(|o| o.to > self.now) {
            return;
        }
        if cut {
            self.outage(span, false, Direction::Both);
        }
        let layered = self.end(side).layered;
        self.end(side).ledger.suspended = layered;
        let now = self.now;
        self.end(side).endpoint.suspend(now);
        self.flush_all();
        self.run_until(self.now + span);
        let why = if cut { Resumption::Back } else { Resumption::FalseAlarm };
        let now = self.now;
        self.end(side).endpoint.resume(now, why);
        self.end(side).ledger.suspended = false;
        if layered {
            self.end(side).progress = now;
        }
    }

    /// A sender hears of its peer's access link.
    fn tell(&mut self, side: Side) {
        self.told += 1;
        let kinds = [Kind::MakeBeforeBreak, Kind::BreakBeforeMake, Kind::Resumed, Kind::Start];
        let link = |number: u32| AccessLink {
            rate: BitRate::from_bps(10_000_000 >> (number % 5)),
            delay: DELAYS[number as usize % DELAYS.len()],
        };
        let (kind, flows) = (kinds[self.told as usize % 4], self.told as u16 % 3);
        let old = (!self.told.is_multiple_of(7)).then(|| link(self.told - 1));
        let told = Notification { kind, number: self.told, flows, new: link(self.told), old };
        let now = self.now;
        self.end(side).endpoint.on_notification(now, &told);
    }

    fn write(&mut self, side: Side, len: u16, real: bool) {
        let end = self.end(side);
        let at = end.ledger.written;
        let len = u64::from(len).min(MAX_WRITTEN - at) as u32;
        let mut payload = Payload::Synthetic { stream: stream(side), offset: at, len };
        if real {
            payload = Payload::Bytes(payload.to_bytes());
        }
        let taken = end.endpoint.write(payload) as u64;
        let open = !end.ledger.closed && end.endpoint.state() != State::Closed;
        assert_eq!(taken, if open { u64::from(len) } else { 0 }, "{side:?}: octets taken");
        end.ledger.written += taken;
    }

    fn close(&mut self, side: Side) {
        let now = self.now;
        let end = self.end(side);
        if !end.connected && end.ledger.written == 0 {
            // The connection would be forgotten (RFC 9293 §3.10.4), and there were nothing to test.
            return;
        }
        end.ledger.closed = true;
        end.endpoint.close(now);
    }

    fn fate(&mut self, from: Side, fate: Fate, n: u8) {
        self.end(from).fates.extend(std::iter::repeat_n(fate, usize::from(n)));
    }

    /// Whether both ends have heard from each other lately. Only then the wire does harm, so that what kills a connection is
    /// one outage and no series of mishaps.
    fn may_harm(&self) -> bool {
        self.ends.iter().all(|e| {
            // An end at rest needs no answer until keep-alive probes the peer.
            let idle = e.config.keepalive_idle.unwrap_or(Duration::MAX);
            let heard = self.now.since(e.heard).saturating_sub(idle);
            self.now.since(e.progress).max(heard) <= self.limits.grace
        })
    }

    fn outage(&mut self, span: Duration, hold: bool, direction: Direction) {
        self.note_progress();
        if self.may_harm() && self.outages.last().is_none_or(|o| o.to <= self.now) {
            self.outages.push(Gone { from: self.now, to: self.now + span, hold, direction });
        }
    }

    pub fn note_progress(&mut self) {
        for side in Side::BOTH {
            let end = &mut self.ends[side as usize];
            let (una, _, max) = end.endpoint.send_positions();
            let idle = una == max && end.endpoint.unsent() == 0;
            if idle || matches!(end.endpoint.state(), State::Listen | State::TimeWait | State::Closed) {
                end.progress = self.now;
            }
        }
    }

    pub fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.next_moment().filter(|&at| at <= until) {
            assert!(at >= self.now, "time runs backwards");
            self.now = at;
            self.step();
        }
        self.now = until;
        self.note_progress();
    }

    pub fn next_moment(&self) -> Option<Instant> {
        let arrival = self.wire.keys().next().map(|&(at, _)| at);
        self.ends.iter().map(|e| e.endpoint.deadline()).chain([arrival]).flatten().min()
    }

    /// One arrival or one timer.
    fn step(&mut self) {
        let now = self.now;
        if let Some(entry) = self.wire.first_entry().filter(|e| e.key().0 <= now) {
            let flight = entry.remove();
            self.deliver(&flight);
            return;
        }
        for side in Side::BOTH {
            let endpoint = &mut self.end(side).endpoint;
            if endpoint.deadline().is_some_and(|at| at <= now) {
                endpoint.on_timer(now);
                let next = endpoint.deadline();
                assert!(next.is_none_or(|at| at > now), "{side:?}: the deadline {next:?} is not after {now}");
                self.settle(side, None);
            }
        }
    }

    fn deliver(&mut self, flight: &Flight) {
        if hop::is_refused(&flight.segment, flight.corrupted) {
            return;
        }
        let now = self.now;
        let segment = &flight.segment;
        self.say(flight.to, "<", segment);
        let end = self.end(flight.to);
        let next = end.ledger.next_expected(&end.endpoint);
        let was_open = is_open(end.endpoint.state());
        let edge_before = end.ledger.window_edge();
        // No router on the way, and so none that refuses a Quick-Start request.
        let ip = IpFacts::new(flight.ecn, IpFacts::PLAIN.ttl).with_quick_start(flight.option);
        end.endpoint.on_segment(now, &Received { segment, ip });
        let taken = end.ledger.received(segment, &end.endpoint, next, was_open);
        if taken && segment.window == 0 {
            // RFC 9293 §3.8.6.1: a peer that answers probes with a closed window lives.
            end.progress = now;
        }
        if taken {
            end.heard = now;
        }
        let moved = end.ledger.window_edge() > edge_before;
        self.settle(flight.to, (is_bare(segment) && !moved).then_some(flight.echo));
    }

    fn flush_all(&mut self) {
        for side in Side::BOTH {
            self.settle(side, None);
        }
    }

    /// After anything that happened to `side`: its events, its reads, what it sends, and what must hold then. `echo`: it
    /// has been handed a bare acknowledgement that says nothing new about the window.
    fn settle(&mut self, side: Side, echo: Option<u32>) {
        let mut echo = echo;
        self.collect(side);
        if self.observe(side) {
            echo = None;
        }
        if self.end(side).reading {
            self.read(side, usize::MAX);
        }
        let now = self.now;
        while let Some(transmit) = self.end(side).endpoint.poll_transmit(now, Bytes(u64::MAX)) {
            self.check_spent(side);
            self.send(side, &transmit, echo);
        }
        self.collect(side);
        self.observe(side);
        self.check_alive(side);
    }

    /// Who says after a segment that no other follows gives none if it is asked all the same, and asking changes nothing: also with
    /// more written, where something waits.
    fn check_spent(&mut self, side: Side) {
        let now = self.now;
        let end = self.end(side);
        if !end.endpoint.is_spent() {
            return;
        }
        end.spent += 1;
        let endpoint = &end.endpoint;
        let mut asked = endpoint.clone();
        asked.write(Payload::Synthetic { stream: 0, offset: 0, len: u32::from(endpoint.unsent() > 0) });
        assert_eq!(asked.poll_transmit(now, Bytes(u64::MAX)), None, "{side:?} was spent");
        let seen = |end: &Endpoint| (end.deadline(), end.send_positions(), end.snapshot(now));
        assert_eq!(seen(&asked), seen(endpoint), "{side:?}: asking changes nothing");
    }

    fn send(&mut self, from: Side, transmit: &Transmit, echo: Option<u32>) {
        let Transmit { segment, ip } = transmit;
        self.segments += 1;
        assert!(self.segments < MAX_SEGMENTS, "{from:?}: segments without end, now {segment:?}");
        let echo = if is_bare(segment) { echo.map_or(0, |n| n + 1) } else { 0 };
        assert!(
            echo < MAX_ECHO,
            "{from:?}: acknowledgements answer acknowledgements without end: {segment:?}"
        );
        // RFC 3168 §6.1: only data is capable, of who does ECN; by Linux's accurate ECN all but SYNs. A queue on the way marks one
        // packet in seven.
        let (is_capable, end) = (ip.ecn != Ecn::NotCapable, self.end(from));
        let may = !segment.payload.is_empty() || end.endpoint.ecn_mode() == EcnMode::Accurate;
        assert!(
            !is_capable || end.config.ecn && may && !segment.flags.contains(Flags::SYN),
            "{from:?}: {ip:?}"
        );
        let ecn = if is_capable && self.segments.is_multiple_of(7) { Ecn::Congested } else { ip.ecn };
        let end = self.end(from);
        let option = ip.quick_start();
        end.ledger.sent(segment, &end.endpoint);
        hop::check(segment);
        let fate = end.fates.pop_front().unwrap_or(Fate::Pass);
        let fate = if self.may_harm() { fate } else { Fate::Pass };
        self.say(from, ">", &(fate, segment));
        let mut at = self.now + self.delay;
        if let Some(gone) = self.outages.last().filter(|o| self.now < o.to && o.cuts(from)) {
            if !gone.hold {
                return;
            }
            at = gone.to + self.delay;
        }
        // The wire itself prolongs a chain where it copies or delays its links.
        let echo = if matches!(fate, Fate::Pass) { echo } else { 0 };
        let flight =
            |corrupted| Flight { to: from.other(), segment: segment.clone(), corrupted, echo, option, ecn };
        match fate {
            Fate::Pass => self.put(at, flight(false)),
            Fate::Drop => {}
            Fate::Corrupt => self.put(at, flight(true)),
            Fate::Late(by) => self.put(at + by, flight(false)),
            Fate::Twice(by) => {
                self.put(at, flight(false));
                self.put(at + by, flight(false));
            }
        }
    }

    fn put(&mut self, at: Instant, flight: Flight) {
        let number = self.segments * 2 + u64::from(self.wire.contains_key(&(at, self.segments * 2)));
        self.wire.insert((at, number), flight);
    }

    fn read(&mut self, side: Side, most: usize) {
        let mut left = most;
        let end = &mut self.ends[side as usize];
        while left > 0
            && let Some(payload) = end.endpoint.read(left)
        {
            assert!(payload.len() <= left && !payload.is_empty(), "{side:?}: read {}", payload.len());
            assert!(holds(&payload, side.other(), end.ledger.read), "{side:?}: reads the wrong octets");
            end.ledger.read += payload.len() as u64;
            left -= payload.len();
        }
    }

    fn collect(&mut self, side: Side) {
        while let Some(event) = self.end(side).endpoint.poll_event() {
            self.say(side, "!", &event);
            match event {
                Event::Connected => self.end(side).connected = true,
                Event::PeerClosed => self.end(side).ledger.peer_closed = true,
                // This peer never takes anything back, so the report alone is a mistake.
                Event::Reneged => panic!("{side:?}: reports reneging that did not happen"),
                Event::Died(death) => self.judge_death(side, death),
                _ => {}
            }
        }
    }

    fn say(&self, side: Side, what: &str, detail: &impl std::fmt::Debug) {
        if self.trace {
            eprintln!("{} {side:?} {what} {detail:?}", self.now);
        }
    }
}

impl Gone {
    fn cuts(&self, from: Side) -> bool {
        self.direction == Direction::Both || self.direction == Direction::From(from)
    }
}

fn is_open(state: State) -> bool {
    !matches!(state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
}

/// An acknowledgement and nothing else.
fn is_bare(segment: &Segment) -> bool {
    segment.seq_len() == 0 && !segment.flags.contains(Flags::RST)
}
