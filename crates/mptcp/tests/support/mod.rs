//! Two ends over links that delay, lose, reorder and fail. The client has an address on each link, the server one.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_core::{Bytes as Size, Duration, Instant, Stream};
use handfast_mptcp::{Config, Connection, Event, Flow, Received, State, SubflowId, Transmit, token_of_join};
use handfast_wire::tcp::Segment;
use handfast_wire::tcp::mptcp::Mptcp;
use handfast_wire::{Checksums, LinkType, Packet, Payload};

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Looks at a segment to the server (`true`) or to the client, and may change it; false: it is lost.
pub(crate) type Middlebox = Box<dyn FnMut(&mut Segment, bool) -> bool>;

pub(crate) struct Link {
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    pub(crate) loss: f64,
    /// Time that a segment takes, and how many wait for it at most.
    pub(crate) serialisation: Duration,
    pub(crate) queue: u64,
    pub(crate) down: bool,
    pub(crate) middlebox: Option<Middlebox>,
    pub(crate) busy: [Instant; 2],
}

impl Default for Link {
    fn default() -> Self {
        Self {
            delay: ms(10),
            jitter: Duration::ZERO,
            loss: 0.0,
            serialisation: Duration::from_micros(600),
            queue: 100,
            down: false,
            middlebox: None,
            busy: [Instant::ZERO; 2],
        }
    }
}

/// One end with its application.
#[derive(Default)]
pub(crate) struct End {
    pub(crate) connection: Option<Connection>,
    pub(crate) events: Vec<(Instant, Event)>,
    pub(crate) to_write: VecDeque<Payload>,
    pub(crate) then_closes: bool,
    /// Octets written and read, both in order.
    pub(crate) wrote: Vec<u8>,
    pub(crate) read: Vec<u8>,
    /// It reads nothing.
    pub(crate) deaf: bool,
    pub(crate) sent: Vec<(Instant, Transmit)>,
}

impl End {
    pub(crate) fn has(&self, event: Event) -> bool {
        self.events.iter().any(|&(_, e)| e == event)
    }

    pub(crate) fn get(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("it is there")
    }

    /// Options of all that it sent.
    pub(crate) fn options(&self) -> impl Iterator<Item = (Instant, Flow, Mptcp)> + '_ {
        self.sent.iter().flat_map(|(at, t)| t.tcp.segment.mptcp().map(|option| (*at, t.flow, option)))
    }
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) links: Vec<Link>,
    /// The client, the server.
    pub(crate) ends: [End; 2],
    config: Config,
    random: Stream,
    seed: u64,
    under_way: BTreeMap<(Instant, u64), (usize, Flow, Segment)>,
    count: u64,
    /// The client joins by every other link as soon as it may.
    pub(crate) joins: bool,
}

pub(crate) fn server() -> SocketAddr {
    SocketAddr::new(IpAddr::from([10, 0, 0, 1]), 80)
}

pub(crate) fn client(link: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::from([10, 0, 1, link]), 4000 + u16::from(link))
}

pub(crate) fn flow(link: u8) -> Flow {
    Flow { local: client(link), remote: server() }
}

fn link_of(flow: Flow) -> usize {
    let address = if flow.local == server() { flow.remote } else { flow.local };
    usize::from(address.port() - 4000)
}

impl World {
    pub(crate) fn new(seed: u64, config: Config, links: Vec<Link>) -> Self {
        let mut world = Self {
            now: Instant::ZERO,
            links,
            ends: [End::default(), End::default()],
            random: Stream::new(seed, "links"),
            seed,
            under_way: BTreeMap::new(),
            count: 0,
            config,
            joins: true,
        };
        world.connect();
        world
    }

    pub(crate) fn two(config: Config) -> Self {
        Self::new(1, config, vec![Link::default(), Link::default()])
    }

    pub(crate) fn connect(&mut self) {
        let random = Stream::new(self.seed, "client");
        let connection = Connection::connect(self.config.clone(), flow(0), random, self.now);
        self.ends[0].connection = Some(connection);
    }

    pub(crate) fn client(&mut self) -> &mut Connection {
        self.ends[0].get()
    }

    pub(crate) fn server(&mut self) -> &mut Connection {
        self.ends[1].get()
    }

    /// What an end is to write: octets that tell their place.
    pub(crate) fn write(&mut self, end: usize, octets: usize) {
        let from =
            self.ends[end].wrote.len() + self.ends[end].to_write.iter().map(Payload::len).sum::<usize>();
        let bytes: Vec<u8> =
            (from..from + octets).map(|at| (at as u64 * 7 / 3 + at as u64 / 251) as u8).collect();
        self.ends[end].to_write.push_back(Payload::Bytes(Bytes::from(bytes)));
    }

    pub(crate) fn close_both(&mut self) {
        for end in &mut self.ends {
            end.then_closes = true;
        }
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_to(self.now + time);
    }

    pub(crate) fn run_to(&mut self, until: Instant) {
        self.pump();
        while let Some(next) = self.next().filter(|&at| at <= until) {
            self.now = self.now.max(next);
            self.deliver();
            self.expire();
            self.pump();
        }
        self.now = until;
    }

    /// Runs until both ends are closed, or for so long. Whether they are.
    pub(crate) fn finish(&mut self, most: Duration) -> bool {
        let until = self.now + most;
        while self.now < until {
            self.run_for(ms(50));
            let closed = |end: &End| end.connection.as_ref().is_some_and(|c| c.state() == State::Closed);
            if self.ends.iter().all(closed) {
                return true;
            }
        }
        false
    }

    fn next(&self) -> Option<Instant> {
        let arrival = self.under_way.keys().next().map(|&(at, _)| at);
        let deadlines = self.ends.iter().filter_map(|end| end.connection.as_ref()?.deadline());
        deadlines.chain(arrival).min()
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (end, flow, segment) = entry.remove();
            let received = Received { flow, tcp: handfast_tcp::Received::plain(&segment) };
            let now = self.now;
            match &mut self.ends[end].connection {
                Some(connection) => {
                    let joins = !connection.on_segment(now, &received) && token_of_join(&segment).is_some();
                    if joins {
                        connection.accept_join(now, &received);
                    }
                }
                None if end == 1 && token_of_join(&segment).is_none() => {
                    let random = Stream::new(self.seed, "server");
                    let accepted = Connection::accept(self.config.clone(), random, now, &received);
                    self.ends[end].connection = Some(accepted);
                }
                None => {}
            }
            self.pump();
        }
    }

    fn expire(&mut self) {
        for end in &mut self.ends {
            let Some(connection) = &mut end.connection else { continue };
            if connection.deadline().is_some_and(|at| at <= self.now) {
                connection.on_timer(self.now);
                assert!(connection.deadline().is_none_or(|at| at > self.now), "a deadline in the past");
            }
        }
    }

    pub(crate) fn pump(&mut self) {
        for end in 0..2 {
            for sent in 0.. {
                assert!(sent < 100_000, "an end does not stop sending");
                self.use_application(end);
                let now = self.now;
                let Some(connection) = &mut self.ends[end].connection else { break };
                if end == 0 && self.joins && connection.is_confirmed() {
                    for link in 0..self.links.len() as u8 {
                        connection.join(now, flow(link), link, false);
                    }
                }
                let Some(transmit) = connection.poll_transmit(now, Size(1 << 16)) else { break };
                self.ends[end].sent.push((now, transmit.clone()));
                self.carry(end, transmit);
            }
        }
    }

    fn use_application(&mut self, end: usize) {
        let now = self.now;
        let end = &mut self.ends[end];
        let Some(connection) = &mut end.connection else { return };
        end.events.extend(std::iter::from_fn(|| connection.poll_event()).map(|event| (now, event)));
        while !end.deaf
            && let Some(payload) = connection.read(usize::MAX)
        {
            end.read.extend_from_slice(&payload.to_bytes());
        }
        while let Some(next) = end.to_write.front_mut() {
            let taken = connection.write(next.clone());
            end.wrote.extend_from_slice(&next.slice(0, taken).to_bytes());
            if taken < next.len() {
                *next = next.slice(taken, usize::MAX);
                return;
            }
            end.to_write.pop_front();
        }
        if end.then_closes && connection.state() != State::Opening {
            end.then_closes = false;
            connection.close(now);
        }
    }

    fn carry(&mut self, end: usize, transmit: Transmit) {
        let Transmit { flow, tcp } = transmit;
        let mut segment = through_wire(flow, &tcp.segment);
        let link = &mut self.links[link_of(flow)];
        let mut is_lost = link.down || self.random.chance(link.loss);
        if let Some(middlebox) = &mut link.middlebox {
            is_lost |= !middlebox(&mut segment, end == 0);
        }
        let start = link.busy[end].max(self.now);
        if is_lost || start.since(self.now) > link.serialisation * link.queue {
            return;
        }
        link.busy[end] = start + link.serialisation;
        let jitter = Duration::from_nanos(self.random.below(link.jitter.as_nanos() + 1));
        let arrives = link.busy[end] + link.delay + jitter;
        self.count += 1;
        let flow = Flow { local: flow.remote, remote: flow.local };
        self.under_way.insert((arrives, self.count), (1 - end, flow, segment));
    }
}

/// As it arrives: what is emitted parses, and no packet is longer than 1,500 octets.
fn through_wire(flow: Flow, segment: &Segment) -> Segment {
    let packet = Packet::tcp(flow.local.ip(), flow.remote.ip(), segment.clone());
    let mut frame = Vec::new();
    packet.emit(&mut frame).expect("it has a form on the wire");
    assert!(frame.len() <= 1500, "a packet of {} octets: {segment:?}", frame.len());
    match Packet::parse(LinkType::RawIp, &Bytes::from(frame), Checksums::Verify).expect("it parses").body {
        handfast_wire::Body::Tcp(segment) => segment,
        _ => panic!("it was TCP"),
    }
}

pub(crate) fn config() -> Config {
    Config::new(&tcp())
}

pub(crate) fn tcp() -> handfast_tcp::Config {
    handfast_tcp::Config { send_buffer: Size(100_000), receive_buffer: Size(200_000), ..Default::default() }
}

pub(crate) const FIRST: SubflowId = SubflowId(0);
pub(crate) const SECOND: SubflowId = SubflowId(1);
