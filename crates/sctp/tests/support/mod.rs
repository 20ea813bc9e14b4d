//! Two ends and the links between them, in virtual time. Every packet is emitted and parsed on its way.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::{Bytes as Size, Duration, Instant, Stream};
use handfast_sctp::{
    Answer, Association, Config, CookieKey, Endpoints, Event, Listener, Message, Received, Transmit,
    WriteError,
};
use handfast_wire::Checksums;
use handfast_wire::sctp::{Chunk, Packet};

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) const fn at(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// The client's address on a link, and the server's.
pub(crate) fn client(link: u8) -> IpAddr {
    [10, 0, link, 1].into()
}

pub(crate) fn server(link: u8) -> IpAddr {
    [10, 0, link, 2].into()
}

pub(crate) fn message(stream: u16, len: usize, fill: u8) -> Message {
    Message { stream, ppid: 9, unordered: false, data: Bytes::from(vec![fill; len]) }
}

/// Says of a packet to the server (`true`) or the client whether it is lost.
pub(crate) type Loses = Box<dyn FnMut(&Packet, bool) -> bool>;

/// What lies between an address of the client and the server: both directions alike.
pub(crate) struct Link {
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    pub(crate) loss: f64,
    pub(crate) duplicates: f64,
    pub(crate) down: bool,
    /// Of one packet; no queue is longer than `queue` packets.
    pub(crate) serialisation: Duration,
    pub(crate) queue: u64,
    pub(crate) loses: Option<Loses>,
    pub(crate) busy: [Instant; 2],
}

impl Default for Link {
    fn default() -> Self {
        Self {
            delay: ms(20),
            jitter: Duration::ZERO,
            loss: 0.0,
            duplicates: 0.0,
            down: false,
            serialisation: Duration::ZERO,
            queue: 100,
            loses: None,
            busy: [Instant::ZERO; 2],
        }
    }
}

/// One end: an association, or a listener until it has one.
#[derive(Default)]
pub(crate) struct End {
    pub(crate) listener: Option<Listener>,
    pub(crate) association: Option<Association>,
    pub(crate) to_write: VecDeque<Message>,
    /// Whether its application shuts down once all is written.
    pub(crate) then_shuts: bool,
    /// Messages that the association took.
    pub(crate) wrote: Vec<Message>,
    /// Whether its application does not read.
    pub(crate) deaf: bool,
    pub(crate) read: Vec<Message>,
    /// How much of that was read when each of its associations began. A listener keeps nothing of those that are over, so a COOKIE
    /// ECHO that comes again opens another one, with the messages that come with it (RFC 9260 §5.1.3: a cookie has a lifetime).
    pub(crate) begins: Vec<usize>,
    pub(crate) events: Vec<(Instant, Event)>,
    /// Every packet sent, and when.
    pub(crate) sent: Vec<(Instant, Transmit)>,
}

impl End {
    pub(crate) fn association(&mut self) -> &mut Association {
        self.association.as_mut().expect("there is an association")
    }

    pub(crate) fn has(&self, event: Event) -> bool {
        self.events.iter().any(|&(_, e)| e == event)
    }

    /// The times at which a kind of chunk left, and by which link.
    pub(crate) fn times(&self, is: impl Fn(&Chunk) -> bool) -> Vec<(Instant, u8)> {
        let link = |transmit: &Transmit| link_of(transmit.from, transmit.to) as u8;
        let all = self.sent.iter().filter(|(_, transmit)| transmit.packet.chunks.iter().any(&is));
        all.map(|(when, transmit)| (*when, link(transmit))).collect()
    }
}

pub(crate) struct World {
    pub(crate) now: Instant,
    /// The client, the server.
    pub(crate) ends: [End; 2],
    pub(crate) links: Vec<Link>,
    under_way: BTreeMap<(Instant, u64), (usize, IpAddr, IpAddr, Bytes)>,
    count: u64,
    random: Stream,
    /// Whether nothing leaves the client before all that has arrived at one time is seen.
    pub(crate) batches: bool,
}

/// Where a packet goes: by the link of the client's address.
fn link_of(a: IpAddr, b: IpAddr) -> usize {
    let IpAddr::V4(client) = (if is_client(a) { a } else { b }) else { panic!("IPv4 here") };
    usize::from(client.octets()[2])
}

fn is_client(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.octets()[3] == 1)
}

impl World {
    /// A client with an address on each link, whose INIT is about to leave, and a server with these addresses.
    pub(crate) fn new(seed: u64, config: Config, links: Vec<Link>, servers: &[IpAddr]) -> Self {
        Self::with(seed, [config, config], links, servers)
    }

    pub(crate) fn with(seed: u64, configs: [Config; 2], links: Vec<Link>, servers: &[IpAddr]) -> Self {
        let locals: Vec<_> = (0..links.len() as u8).map(client).collect();
        let endpoints =
            Endpoints { local_port: 5000, remote_port: 6000, local: &locals, remote: &servers[..1] };
        let [to_connect, to_listen] = configs;
        let stream = |label| Stream::new(seed, label);
        let association = Association::connect(
            Instant::ZERO,
            to_connect,
            CookieKey::new([1; 32]),
            stream("client"),
            &endpoints,
        );
        let listener = Listener::new(to_listen, 6000, servers, CookieKey::new([2; 32]), stream("server"));
        let ends = [
            End { association: Some(association), ..End::default() },
            End { listener: Some(listener), ..End::default() },
        ];
        let (under_way, random) = (BTreeMap::new(), stream("links"));
        Self { now: Instant::ZERO, ends, links, under_way, count: 0, random, batches: false }
    }

    /// One link of 20 ms each way, the handshake done.
    pub(crate) fn connected(config: Config) -> Self {
        Self::connected_over(config, vec![Link::default()], &[server(0)])
    }

    pub(crate) fn connected_over(config: Config, links: Vec<Link>, servers: &[IpAddr]) -> Self {
        let mut world = Self::new(1, config, links, servers);
        world.run_to(at(200));
        assert!(world.ends.iter().all(|end| end.has(Event::Connected)));
        world
    }

    /// Connected over two paths of a link each.
    pub(crate) fn with_two_paths(config: Config) -> Self {
        Self::connected_over(config, vec![Link::default(), Link::default()], &[server(0), server(1)])
    }

    /// The same, whose first path was down for so long that the client knows; the time is 20 s.
    pub(crate) fn with_its_first_path_down() -> Self {
        let config = Config { path_max_retrans: 1, heartbeat_interval: Some(ms(5_000)), ..Config::default() };
        let mut world = Self::with_two_paths(config);
        world.links[0].down = true;
        world.ends[0].to_write = (0..10).map(|n| message(0, 1452, n)).collect();
        world.run_to(at(20_000));
        assert!(!world.client().path(0).unwrap().active);
        world
    }

    pub(crate) fn client(&mut self) -> &mut Association {
        self.ends[0].association()
    }

    pub(crate) fn server(&mut self) -> &mut Association {
        self.ends[1].association()
    }

    /// Lets time pass.
    pub(crate) fn run_to(&mut self, until: Instant) {
        self.run_while(until, |_| true);
    }

    /// Lets time pass while this holds: whether it ended before `until`.
    pub(crate) fn run_while(&mut self, until: Instant, goes_on: impl Fn(&Self) -> bool) -> bool {
        self.pump();
        while goes_on(self) {
            let Some(next) = self.next_event().filter(|&next| next <= until) else {
                self.now = until;
                return false;
            };
            self.now = next.max(self.now);
            self.deliver();
            self.expire();
            self.pump();
        }
        true
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.under_way.keys().next().map(|&(at, _)| at);
        let deadlines = self.ends.iter().filter_map(|end| end.association.as_ref()?.deadline());
        arrival.into_iter().chain(deadlines).min()
    }

    /// Packets that arrive at one time are seen one after the other, as those of a wire are.
    fn deliver(&mut self) {
        while let Some(entry) = self.under_way.first_entry()
            && entry.key().0 <= self.now
        {
            let (end, from, to, bytes) = entry.remove();
            let packet = Packet::parse(&bytes, Checksums::Verify).expect("what was emitted parses");
            self.hand_in(end, &Received { packet: &packet, from, to });
            if end == 1 || !self.batches {
                self.pump();
            }
        }
    }

    pub(crate) fn hand_in(&mut self, end: usize, received: &Received<'_>) {
        let (now, to) = (self.now, &mut self.ends[end]);
        let open = to.association.as_ref().is_some_and(|a| a.state() != handfast_sctp::State::Closed);
        if let Some(association) = to.association.as_mut().filter(|_| open) {
            association.on_packet(now, received);
            return;
        }
        let Some(listener) = &mut to.listener else { return };
        match listener.on_packet(now, received) {
            Answer::Open(association) => {
                to.begins.push(to.read.len());
                to.association = Some(*association);
            }
            Answer::Reply(transmit) => {
                to.sent.push((now, transmit.clone()));
                self.carry(end, transmit);
            }
            Answer::Nothing => {}
        }
    }

    fn expire(&mut self) {
        for end in &mut self.ends {
            let Some(association) = &mut end.association else { continue };
            if association.deadline().is_some_and(|at| at <= self.now) {
                association.on_timer(self.now);
                assert!(association.deadline().is_none_or(|at| at > self.now), "a deadline in the past");
            }
        }
    }

    /// Applications write and read, packets leave.
    pub(crate) fn pump(&mut self) {
        for end in 0..2 {
            for sent in 0.. {
                assert!(sent < 100_000, "an end does not stop sending");
                self.use_application(end);
                let now = self.now;
                let Some(association) = &mut self.ends[end].association else { break };
                let Some(transmit) = association.poll_transmit(now, Size(1 << 16)) else { break };
                self.ends[end].sent.push((now, transmit.clone()));
                self.carry(end, transmit);
            }
        }
    }

    fn use_application(&mut self, end: usize) {
        let now = self.now;
        let end = &mut self.ends[end];
        let Some(association) = &mut end.association else { return };
        end.events.extend(std::iter::from_fn(|| association.poll_event()).map(|event| (now, event)));
        if !end.deaf {
            end.read.extend(std::iter::from_fn(|| association.read()));
        }
        while let Some(next) = end.to_write.front() {
            match association.write(next.clone()) {
                Ok(()) => end.wrote.extend(end.to_write.pop_front()),
                Err(WriteError::Full) => return,
                Err(_) => end.to_write.clear(),
            }
        }
        if end.then_shuts && association.state() == handfast_sctp::State::Established {
            association.shutdown(now);
        }
    }

    fn carry(&mut self, from_end: usize, transmit: Transmit) {
        let Transmit { packet, from, to } = transmit;
        let bytes = packet.emit().expect("it has a form on the wire");
        assert!(bytes.len() <= 1480, "a packet of {} bytes", bytes.len());
        let link = &mut self.links[link_of(from, to)];
        let mut copies = 1 + u64::from(self.random.chance(link.duplicates));
        if link.down || self.random.chance(link.loss) {
            copies = 0;
        }
        if let Some(loses) = &mut link.loses
            && loses(&packet, from_end == 0)
        {
            copies = 0;
        }
        for _ in 0..copies {
            let start = link.busy[from_end].max(self.now);
            if start.since(self.now) > link.serialisation * link.queue {
                continue;
            }
            link.busy[from_end] = start + link.serialisation;
            let jitter = Duration::from_nanos(self.random.below(link.jitter.as_nanos() + 1));
            let arrives = link.busy[from_end] + link.delay + jitter;
            self.count += 1;
            self.under_way.insert((arrives, self.count), (1 - from_end, from, to, bytes.clone()));
        }
    }
}

pub(crate) fn is_data(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Data(_))
}

/// Drops the `n`th packet with DATA to the server, counted from zero, for every `n` named.
pub(crate) fn lose_data(named: &'static [usize]) -> Loses {
    let mut count = 0;
    Box::new(move |packet, to_server| {
        let has_data = to_server && packet.chunks.iter().any(is_data);
        count += usize::from(has_data);
        has_data && named.contains(&(count - 1))
    })
}
