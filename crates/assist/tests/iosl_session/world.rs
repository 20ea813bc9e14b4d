//! Two ends, and the connections between them as a driver has them.
//!
//! A connection delivers what it is given, in order, until it is cut: below is TCP. What flies then is lost, and each end learns
//! of it when the case says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use handfast_assist::iosl::end::{Action, Config, End, Identity, MOST_SAVED, PathId, Saved};
use handfast_assist::iosl::frame::{Reason, Target};
use handfast_assist::iosl::ids::{Connection, Id, Socket};
use handfast_assist::iosl::secure::{Allowed, Keys};
use handfast_core::{Duration, Instant};

use crate::beside::Beside;
use crate::programs::Program;

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// One way.
pub(crate) const DELAY: Duration = Duration::from_millis(10);

/// How much a connection takes before the other end has got it.
pub(crate) const ROOM: usize = 40_000;

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn keys(end: usize) -> Keys {
    Keys::new([end as u8 + 1; 32])
}

/// From where an end connects.
pub(crate) fn address(end: usize) -> IpAddr {
    [198, 51, 100, end as u8 + 1].into()
}

/// A connection below.
#[derive(Debug)]
pub(crate) struct Wire {
    /// At each end; [`None`]: closed there.
    pub(crate) paths: [Option<PathId>; 2],
    /// To each end: when what comes.
    flying: [VecDeque<(Instant, Vec<u8>)>; 2],
    /// When an end learns that it is gone.
    closes: [Option<Instant>; 2],
    /// What flies arrives nowhere.
    pub(crate) is_cut: bool,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) ends: [End; 2],
    application: Id,
    configs: [Config; 2],
    generation: u8,
    pub(crate) wires: Vec<Wire>,
    pub(crate) by_path: BTreeMap<(usize, PathId), usize>,
    /// Which end dials with which path, and when it is known how that ends.
    dials: Vec<(Instant, usize, PathId)>,
    /// Whether a connection can come about.
    /// Octets a second; [`None`]: all arrive at once.
    pub(crate) rate: Option<u64>,
    pub(crate) is_up: bool,
    /// How long a dial takes: where a connection can come about, and where none can.
    pub(crate) dial_takes: [Duration; 2],
    /// Pairs of programs, by session in the order of opening.
    pub(crate) programs: Vec<[Program; 2]>,
    pub(crate) by_socket: BTreeMap<(usize, Socket), usize>,
    /// What carries datagrams beside connections, where something does.
    pub(crate) beside: Option<Beside>,
    /// Datagrams that were sent, so that each is another one.
    numbered: u64,
    /// Records that an end has sent, where an attacker listens.
    pub(crate) heard: Option<Vec<(usize, usize, Vec<u8>)>>,
    /// Paths that had something to send, and no room.
    stuck: BTreeSet<(usize, PathId)>,
    /// What each end has written down of its sessions.
    saved: [BTreeMap<Socket, Vec<u8>>; 2],
    /// The most memory that each end took.
    pub(crate) most_memory: [u64; 2],
}

pub(crate) fn identity(end: usize, generation: u8) -> Identity {
    let allowed = Allowed { keys: [keys(CLIENT).public()].into(), pins: 0 };
    Identity { keys: keys(end), allowed, seed: [100 + 2 * generation + end as u8; 32] }
}

impl World {
    pub(crate) fn new(configs: &[Config; 2]) -> Self {
        let mut ends = [CLIENT, SERVER].map(|end| End::new(identity(end, 0), configs[end]));
        Self {
            now: Instant::from_millis(1_000),
            application: ends[CLIENT].open_application().unwrap(),
            ends,
            configs: *configs,
            generation: 0,
            wires: Vec::new(),
            by_path: BTreeMap::new(),
            dials: Vec::new(),
            rate: None,
            is_up: true,
            dial_takes: [DELAY + DELAY, ms(700)],
            programs: Vec::new(),
            by_socket: BTreeMap::new(),
            beside: None,
            numbered: 0,
            heard: None,
            stuck: BTreeSet::new(),
            saved: Default::default(),
            most_memory: [0; 2],
        }
    }

    /// The client opens a session for a pair of programs. `knows`: it has the server's key.
    pub(crate) fn open(&mut self, programs: [Program; 2], knows: bool) -> usize {
        let number = self.programs.len();
        self.open_to(programs, knows, Target::new("server.example", 1_000 + number as u16).unwrap())
    }

    /// The same to a target whose port says which pair of programs it is.
    pub(crate) fn open_to(&mut self, programs: [Program; 2], knows: bool, target: Target) -> usize {
        let number = self.programs.len();
        let ends = [([127, 0, 0, 1], 2_000 + number as u16).into(), ([10, 0, 0, 2], target.port()).into()];
        let peer = knows.then(|| keys(SERVER).public());
        let connection = Connection::Tcp(ends);
        let opened = self.ends[CLIENT].open(self.now, self.application, connection, target, peer);
        self.programs.push(programs);
        let socket = opened.unwrap();
        self.know(CLIENT, socket, number);
        number
    }

    pub(crate) fn know(&mut self, end: usize, socket: Socket, number: usize) {
        self.by_socket.insert((end, socket), number);
        self.programs[number][end].socket = Some(socket);
        self.write(end, number);
    }

    /// The end begins anew, and with it the programs behind it: they know that their connections are gone.
    pub(crate) fn restart(&mut self, end: usize) {
        self.renew(end);
        for pair in &mut self.programs {
            let program = &mut pair[end];
            if program.socket.take().is_some() && !program.is_over() {
                program.failed = Some((Reason::Aborted, self.now));
            }
        }
        self.by_socket.retain(|&(owner, _), _| owner != end);
        self.saved[end].clear();
    }

    /// The end begins anew, and finds what it had written down, and the programs behind it, whose kernel has kept what it has to.
    pub(crate) fn reborn(&mut self, end: usize) {
        if !self.configs[end].session.keeps {
            return self.restart(end);
        }
        self.act();
        self.renew(end);
        let application = match end {
            CLIENT => self.application,
            _ => self.ends[end].open_application().unwrap(),
        };
        let known: BTreeMap<_, _> = self
            .by_socket
            .iter()
            .filter(|((owner, _), _)| *owner == end)
            .map(|(&(_, of), &n)| (of, n))
            .collect();
        self.by_socket.retain(|&(owner, _), _| owner != end);
        for pair in &mut self.programs {
            pair[end].socket = None;
        }
        for (before, octets) in std::mem::take(&mut self.saved[end]) {
            let saved = Saved::parse(&octets).unwrap();
            let number = known.get(&before).copied();
            let kept = number.map(|number| self.programs[number][end].kept(self.generation));
            let socket = self.ends[end].restore(self.now, application, &saved, kept).unwrap();
            let Some(number) = number else { continue };
            let program = &mut self.programs[number][end];
            (program.socket, program.has_finished) = (Some(socket), false);
            program.is_done |= self.ends[end].session(socket).unwrap().is_done();
            self.know(end, socket, number);
        }
        for &number in known.values() {
            let program = &mut self.programs[number][end];
            if program.socket.is_none() && !program.is_over() {
                program.failed = Some((Reason::Aborted, self.now));
            }
        }
    }

    /// Another process, and what the kernel does of itself.
    fn renew(&mut self, end: usize) {
        self.generation += 1;
        self.ends[end] = End::new(identity(end, self.generation), self.configs[end]);
        if end == CLIENT {
            self.application = self.ends[CLIENT].open_application().unwrap();
        }
        self.dials.retain(|&(_, owner, _)| owner != end);
        self.stuck.retain(|&(owner, _)| owner != end);
        self.by_path.retain(|&(owner, _), _| owner != end);
        for wire in &mut self.wires {
            // The kernel closes what the process had.
            if wire.paths[end].take().is_some() {
                wire.closes[1 - end].get_or_insert(self.now + DELAY);
            }
        }
    }

    /// All connections are gone, at once; the ends learn of it after so long.
    pub(crate) fn cut(&mut self, learn: [Duration; 2]) {
        for wire in &mut self.wires {
            if wire.paths.iter().all(Option::is_some) && !wire.is_cut {
                wire.is_cut = true;
                wire.flying = Default::default();
                wire.closes = learn.map(|after| Some(self.now + after));
            }
        }
    }

    /// All connections are gone, and nobody is told.
    pub(crate) fn cut_silently(&mut self) {
        for wire in self.wires.iter_mut().filter(|wire| wire.paths.iter().all(Option::is_some)) {
            wire.is_cut = true;
            wire.flying = Default::default();
        }
    }

    /// All connections but the one that came last, which may be the new one of a session.
    pub(crate) fn cut_all_but_newest(&mut self, learn: [Duration; 2]) {
        let newest = self.wires.pop();
        self.cut(learn);
        self.wires.extend(newest);
    }

    /// The programs at an end abort.
    pub(crate) fn abort(&mut self, end: usize) {
        for pair in &mut self.programs {
            let program = &mut pair[end];
            if let Some(socket) = program.socket.filter(|_| !program.is_over()) {
                self.ends[end].reset(self.now, socket, Reason::Aborted);
            }
        }
    }

    /// Each program at an end sends a datagram with a number.
    pub(crate) fn datagram(&mut self, end: usize) {
        for number in 0..self.programs.len() {
            if let Some(socket) = self.programs[number][end].socket {
                self.numbered += 1;
                let mut datagram = vec![7; 500];
                datagram[..8].copy_from_slice(&self.numbered.to_be_bytes());
                // It may be refused: there is no path, or nobody takes it.
                let _ = self.ends[end].send_datagram(self.now, socket, &datagram);
            }
        }
    }

    pub(crate) fn each(&mut self, end: usize, act: impl Fn(&mut End, Instant, Socket)) {
        for number in 0..self.programs.len() {
            if let Some(socket) = self.programs[number][end].socket {
                act(&mut self.ends[end], self.now, socket);
            }
        }
    }

    /// Everything up to then.
    pub(crate) fn run_until(&mut self, until: Instant) {
        let mut steps = 0u32;
        loop {
            self.act();
            let Some(next) = self.next().filter(|&at| at <= until) else { break };
            assert!(next >= self.now, "a deadline in the past");
            self.now = next;
            self.happen();
            steps += 1;
            assert!(steps < 2_000_000, "it has no end");
        }
        self.now = until;
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    fn next(&self) -> Option<Instant> {
        let ends = self.ends.iter().filter_map(End::deadline).map(|at| at.max(self.now));
        let wires = self.wires.iter().flat_map(|wire| {
            let arrivals = wire.flying.iter().filter_map(|flying| flying.front().map(|(at, _)| *at));
            arrivals.chain(wire.closes.into_iter().flatten())
        });
        let programs = self.programs.iter().flatten().filter_map(|program| program.reads_at);
        let beside = self.beside.as_ref().and_then(Beside::next);
        ends.chain(wires).chain(beside).chain(self.dials.iter().map(|dial| dial.0)).chain(programs).min()
    }

    /// What is due now.
    fn happen(&mut self) {
        let now = self.now;
        for end in [CLIENT, SERVER] {
            if self.ends[end].deadline().is_some_and(|at| at <= now) {
                self.ends[end].on_timer(now);
                let again = self.ends[end].deadline();
                assert!(again.is_none_or(|at| at > now), "{again:?} is not after {now:?}");
            }
        }
        self.dialled();
        self.arrive_beside();
        for number in 0..self.wires.len() {
            self.arrive(number);
        }
        for number in 0..self.programs.len() {
            for end in [CLIENT, SERVER] {
                if self.programs[number][end].reads_at.is_some_and(|at| at <= now) {
                    self.programs[number][end].reads_at = None;
                    self.read(end, number);
                }
            }
        }
    }

    fn dialled(&mut self) {
        let now = self.now;
        let (due, later) = std::mem::take(&mut self.dials).into_iter().partition(|dial| dial.0 <= now);
        self.dials = later;
        let due: Vec<(Instant, usize, PathId)> = due;
        for (_, end, path) in due {
            if !self.is_up {
                self.ends[end].on_closed(now, path);
                continue;
            }
            let other = self.ends[1 - end].on_accepted(now, address(end));
            let number = self.wires.len();
            let mut paths = [Some(path); 2];
            paths[1 - end] = Some(other);
            self.wires.push(Wire { paths, flying: Default::default(), closes: [None; 2], is_cut: false });
            self.by_path.insert((end, path), number);
            self.by_path.insert((1 - end, other), number);
            self.ends[end].on_connected(now, path);
        }
    }

    fn arrive(&mut self, number: usize) {
        let now = self.now;
        for end in [CLIENT, SERVER] {
            while self.wires[number].flying[end].front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, octets)) = self.wires[number].flying[end].pop_front() else { break };
                if let Some(path) = self.wires[number].paths[end] {
                    // However TCP cuts it.
                    let (one, other) = octets.split_at(octets.len() / 3);
                    self.ends[end].on_octets(now, path, one);
                    self.ends[end].on_octets(now, path, other);
                }
                if let Some(path) = self.wires[number].paths[1 - end] {
                    self.stuck.remove(&(1 - end, path));
                    self.transmit(1 - end, path);
                }
            }
            let wire = &mut self.wires[number];
            if wire.closes[end].is_some_and(|at| at <= now) && wire.flying[end].is_empty() {
                wire.closes[end] = None;
                if let Some(path) = wire.paths[end].take() {
                    self.by_path.remove(&(end, path));
                    self.ends[end].on_closed(now, path);
                }
            }
        }
    }

    /// Writes down what has changed, as a process has to before it does anything else.
    fn save(&mut self, end: usize) {
        while let Some(socket) = self.ends[end].poll_changed() {
            match self.ends[end].saved(socket) {
                Some(saved) => {
                    let octets = saved.emit();
                    assert_eq!(Saved::parse(&octets), Some(saved));
                    assert!(octets.len() <= MOST_SAVED);
                    self.saved[end].insert(socket, octets);
                }
                None => drop(self.saved[end].remove(&socket)),
            }
        }
    }

    /// What ends want done, until nothing is left.
    pub(crate) fn act(&mut self) {
        loop {
            let mut is_idle = true;
            for end in [CLIENT, SERVER] {
                while let Some(path) = self.ends[end].poll_ready() {
                    self.transmit(end, path);
                    is_idle = false;
                }
                while let Some(action) = self.ends[end].poll_action() {
                    self.save(end);
                    self.perform(end, action);
                    is_idle = false;
                }
                while let Some((socket, event)) = self.ends[end].poll_event(self.now) {
                    self.on_event(end, socket, event);
                    is_idle = false;
                }
                self.most_memory[end] = self.most_memory[end].max(self.ends[end].memory());
            }
            if is_idle {
                self.save(CLIENT);
                self.save(SERVER);
                return;
            }
        }
    }

    fn perform(&mut self, end: usize, action: Action) {
        match action {
            Action::Dial { path, .. } => {
                let after = self.dial_takes[usize::from(!self.is_up)];
                self.dials.push((self.now + after, end, path));
            }
            Action::Close(path) => {
                self.dials.retain(|&(_, owner, dialled)| (owner, dialled) != (end, path));
                let Some(number) = self.by_path.remove(&(end, path)) else { return };
                let wire = &mut self.wires[number];
                wire.paths[end] = None;
                wire.flying[end].clear();
                wire.closes[end] = None;
                if !wire.is_cut {
                    let last = wire.flying[1 - end].back().map_or(self.now + DELAY, |(at, _)| *at);
                    wire.closes[1 - end].get_or_insert(last);
                }
            }
        }
    }

    fn transmit(&mut self, end: usize, path: PathId) {
        let Some(&number) = self.by_path.get(&(end, path)) else { return };
        self.transmit_beside(end, path, number);
        loop {
            let waiting: usize =
                self.wires[number].flying[1 - end].iter().map(|(_, octets)| octets.len()).sum();
            let room = ROOM.saturating_sub(waiting);
            // As a kernel, which tells of room when there is a good part.
            if room < 1_000 {
                self.stuck.insert((end, path));
                return;
            }
            let Some(octets) = self.ends[end].poll_transmit(self.now, path, room) else { return };
            self.save(end);
            assert!((1..=room).contains(&octets.len()));
            if let Some(heard) = &mut self.heard {
                heard.push((number, end, octets.clone()));
            }
            let wire = &mut self.wires[number];
            // Into a connection that is gone the kernel takes as much as into any other; nothing of it arrives.
            if wire.is_cut {
                return;
            }
            let before = wire.flying[1 - end].back().map_or(self.now, |&(at, _)| at - DELAY);
            let took = self.rate.map_or(0, |rate| octets.len() as u64 * 1_000_000_000 / rate);
            let sent = before.max(self.now) + Duration::from_nanos(took);
            wire.flying[1 - end].push_back((sent + DELAY, octets));
        }
    }
}
