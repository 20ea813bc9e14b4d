//! Against another implementation, `sctp-proto` (of WebRTC stacks; one path, no kernel): handshake, data both ways, losses, shutdown.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use bytes::Bytes;
use handfast_core::{Bytes as Size, Duration, Instant, Stream};
use handfast_sctp::{
    Answer, Association, Config, CookieKey, Endpoints, Event, Listener, Message, Received, State,
};
use handfast_wire::Checksums;
use handfast_wire::sctp::{Chunk, Init, Packet, Parameter};
use sctp_proto::{
    Association as TheirAssociation, AssociationHandle, ClientConfig, DatagramEvent, Endpoint,
    EndpointConfig, Payload, PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent,
    TransportConfig,
};

/// Both have the port of WebRTC.
const PORT: u16 = 5000;
const DELAY: Duration = Duration::from_millis(10);
const BINARY: u32 = PayloadProtocolIdentifier::Binary as u32;

fn our_address() -> IpAddr {
    [10, 0, 0, 1].into()
}

fn their_address() -> IpAddr {
    [10, 0, 0, 2].into()
}

/// The other implementation, with its clock at our zero.
struct Peer {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, TheirAssociation)>,
    zero: StdInstant,
    to_write: VecDeque<(u16, Bytes)>,
    read: BTreeMap<u16, Vec<Bytes>>,
    connected: bool,
    lost: bool,
}

impl Peer {
    #[expect(
        clippy::disallowed_methods,
        reason = "its instants are opaque: there is no other way to get one"
    )]
    fn new() -> Self {
        let mut server = ServerConfig::new();
        server.transport = Arc::new(transport());
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::new()), Some(Arc::new(server)));
        let (to_write, read) = (VecDeque::new(), BTreeMap::new());
        let zero = StdInstant::now();
        Self { endpoint, association: None, zero, to_write, read, connected: false, lost: false }
    }

    fn connect(&mut self) {
        let mut client = ClientConfig::new();
        client.transport = Arc::new(transport());
        let remote = SocketAddr::new(our_address(), 9899);
        self.association = Some(self.endpoint.connect(client, remote).expect("a right configuration"));
    }

    fn at(&self, now: Instant) -> StdInstant {
        self.zero + StdDuration::from_nanos(now.as_nanos())
    }

    fn deadline(&self) -> Option<Instant> {
        let at = self.association.as_ref()?.1.poll_timeout()?;
        Some(Instant::from_nanos(u64::try_from(at.saturating_duration_since(self.zero).as_nanos()).unwrap()))
    }

    fn handle(&mut self, now: Instant, data: Bytes) {
        let from = SocketAddr::new(our_address(), 9899);
        match self.endpoint.handle(self.at(now), from, None, None, data) {
            Some((handle, DatagramEvent::NewAssociation(new))) => self.association = Some((handle, new)),
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                self.association.as_mut().expect("one there is").1.handle_event(event);
            }
            None => {}
        }
    }

    fn on_timer(&mut self, now: Instant) {
        let now = self.at(now);
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
    }

    /// Its application; what it sends.
    fn drain(&mut self, now: Instant) -> Vec<Bytes> {
        let now = self.at(now);
        let Some((_, association)) = &mut self.association else { return Vec::new() };
        while let Some(event) = association.poll() {
            match event {
                sctp_proto::Event::Connected => self.connected = true,
                sctp_proto::Event::AssociationLost { .. } => self.lost = true,
                sctp_proto::Event::Stream(StreamEvent::Readable { id }) => {
                    let mut stream = association.stream(id).expect("it is readable");
                    while let Some(chunks) = stream.read().expect("a stream that is open") {
                        let mut whole = vec![0; chunks.len()];
                        chunks.read(&mut whole).expect("there is room");
                        self.read.entry(id).or_default().push(whole.into());
                    }
                }
                _ => {}
            }
        }
        while self.connected
            && let Some((id, data)) = self.to_write.pop_front()
        {
            if association.stream(id).is_err() {
                association.open_stream(id, PayloadProtocolIdentifier::Binary).expect("a new stream");
            }
            let mut stream = association.stream(id).expect("it is open");
            stream.set_reliability_params(false, ReliabilityType::Reliable, 0).expect("it is open");
            stream.write_sctp(&data, PayloadProtocolIdentifier::Binary).expect("its buffer has no bound");
        }
        let sent = std::iter::from_fn(|| association.poll_transmit(now));
        sent.flat_map(|transmit| match transmit.payload {
            Payload::RawEncode(packets) => packets,
            Payload::PartialDecode(_) => Vec::new(),
        })
        .collect()
    }
}

/// A second where ours has one: its own RTO.Initial is RFC 4960's three.
fn transport() -> TransportConfig {
    TransportConfig::default().with_rto_initial_ms(1000).with_max_receive_buffer_size(200_000)
}

/// Ours and theirs, and the way between them.
struct Pair {
    now: Instant,
    ours: Option<Association>,
    listener: Listener,
    events: Vec<Event>,
    wrote: Vec<Message>,
    to_write: VecDeque<Message>,
    read: Vec<Message>,
    theirs: Peer,
    /// What is under way to us, and to them.
    under_way: BTreeMap<(Instant, u64), (bool, Bytes)>,
    count: u64,
    loss: f64,
    random: Stream,
    /// What we have sent, and received.
    sent: Vec<Packet>,
    received: Vec<Packet>,
}

impl Pair {
    fn new(seed: u64, loss: f64) -> Self {
        let (key, random) = (CookieKey::new([7; 32]), Stream::new(seed, "ours"));
        Self {
            now: Instant::ZERO,
            ours: None,
            listener: Listener::new(config(), PORT, &[our_address()], key, random),
            events: Vec::new(),
            wrote: Vec::new(),
            to_write: VecDeque::new(),
            read: Vec::new(),
            theirs: Peer::new(),
            under_way: BTreeMap::new(),
            count: 0,
            loss,
            random: Stream::new(seed, "way"),
            sent: Vec::new(),
            received: Vec::new(),
        }
    }

    fn we_connect(&mut self) {
        let endpoints = Endpoints {
            local_port: PORT,
            remote_port: PORT,
            local: &[our_address()],
            remote: &[their_address()],
        };
        let (key, random) = (CookieKey::new([7; 32]), Stream::new(1, "client"));
        self.ours = Some(Association::connect(self.now, config(), key, random, &endpoints));
    }

    fn carry(&mut self, to_us: bool, bytes: Bytes) {
        if !self.random.chance(self.loss) {
            self.count += 1;
            self.under_way.insert((self.now + DELAY, self.count), (to_us, bytes));
        }
    }

    /// Lets time pass until this holds: whether it does, within ten minutes.
    fn run_until(&mut self, done: impl Fn(&Self) -> bool) -> bool {
        self.pump();
        while !done(self) {
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
            let ours = self.ours.as_ref().and_then(Association::deadline);
            let Some(next) = [arrival, ours, self.theirs.deadline()].into_iter().flatten().min() else {
                return false;
            };
            self.now = next.max(self.now);
            if self.now > Instant::from_millis(600_000) {
                return false;
            }
            while let Some(entry) = self.under_way.first_entry()
                && entry.key().0 <= self.now
            {
                let (to_us, bytes) = entry.remove();
                if to_us { self.receive(&bytes) } else { self.theirs.handle(self.now, bytes) }
            }
            if let Some(ours) = &mut self.ours
                && ours.deadline().is_some_and(|at| at <= self.now)
            {
                ours.on_timer(self.now);
            }
            if self.theirs.deadline().is_some_and(|at| at <= self.now) {
                self.theirs.on_timer(self.now);
            }
            self.pump();
        }
        true
    }

    fn receive(&mut self, bytes: &Bytes) {
        let packet = Packet::parse(bytes, Checksums::Verify).expect("what they send is right");
        self.received.push(packet.clone());
        let received = Received { packet: &packet, from: their_address(), to: our_address() };
        if let Some(ours) = self.ours.as_mut().filter(|ours| ours.state() != State::Closed) {
            ours.on_packet(self.now, &received);
            return;
        }
        match self.listener.on_packet(self.now, &received) {
            Answer::Open(association) => self.ours = Some(*association),
            Answer::Reply(transmit) => {
                self.carry(false, transmit.packet.emit().unwrap());
                self.sent.push(transmit.packet);
            }
            Answer::Nothing => {}
        }
    }

    fn pump(&mut self) {
        for bytes in self.theirs.drain(self.now) {
            self.carry(true, bytes);
        }
        let Some(mut ours) = self.ours.take() else { return };
        self.events.extend(std::iter::from_fn(|| ours.poll_event()));
        self.read.extend(std::iter::from_fn(|| ours.read()));
        while let Some(message) = self.to_write.front()
            && ours.write(message.clone()).is_ok()
        {
            self.wrote.extend(self.to_write.pop_front());
        }
        while let Some(transmit) = ours.poll_transmit(self.now, Size(1500)) {
            self.sent.push(transmit.packet.clone());
            self.carry(false, transmit.packet.emit().unwrap());
        }
        self.ours = Some(ours);
    }
}

fn config() -> Config {
    Config { receive_buffer: Size(200_000), ..Config::default() }
}

/// Message `n`, of one byte to forty thousand.
fn body(n: u64) -> Bytes {
    let len = 1 + (n * 7919) % 40_000;
    (0..len).map(|at| (at + n) as u8).collect()
}

/// Both write 40 messages on three streams; both get them in order.
fn exchange(pair: &mut Pair) {
    assert!(
        pair.run_until(|pair| pair.theirs.connected && pair.events.contains(&Event::Connected)),
        "no handshake"
    );
    for n in 0..40 {
        let stream = (n % 3) as u16;
        pair.to_write.push_back(Message { stream, ppid: BINARY, unordered: false, data: body(n) });
        pair.theirs.to_write.push_back((stream, body(n)));
    }
    let done =
        |pair: &Pair| pair.read.len() == 40 && pair.theirs.read.values().map(Vec::len).sum::<usize>() == 40;
    assert!(pair.run_until(done), "read {} and {:?}", pair.read.len(), pair.theirs.read.keys());
    for stream in 0..3u16 {
        let expected: Vec<_> = (0..40).filter(|n| n % 3 == u64::from(stream)).map(body).collect();
        let ours: Vec<_> = pair.read.iter().filter(|m| m.stream == stream).map(|m| m.data.clone()).collect();
        assert!(ours == expected, "stream {stream} to us");
        assert!(pair.theirs.read[&stream] == expected, "stream {stream} to them");
    }
}

#[test]
fn we_open_and_close() {
    for (seed, loss) in [(1, 0.0), (2, 0.02), (3, 0.05), (4, 0.1)] {
        let mut pair = Pair::new(seed, loss);
        pair.we_connect();
        exchange(&mut pair);
        let now = pair.now;
        pair.ours.as_mut().unwrap().shutdown(now);
        assert!(
            pair.run_until(|pair| pair.events.contains(&Event::Closed)),
            "loss {loss}: {:?}",
            pair.events
        );
        assert!(!pair.events.iter().any(|event| matches!(event, Event::Failed(_))));
        if loss == 0.0 {
            assert!(pair.run_until(|pair| pair.theirs.lost), "they do not know that it is over");
            let counters = pair.ours.as_ref().unwrap().counters();
            assert_eq!((counters.timeouts, counters.retransmitted_chunks), (0, 0));
        }
    }
}

#[test]
fn they_open_and_close() {
    for (seed, loss) in [(1, 0.0), (2, 0.02), (3, 0.05), (4, 0.1)] {
        let mut pair = Pair::new(seed, loss);
        pair.theirs.connect();
        exchange(&mut pair);
        pair.theirs.association.as_mut().unwrap().1.shutdown().unwrap();
        assert!(
            pair.run_until(|pair| pair.events.contains(&Event::Closed)),
            "loss {loss}: {:?}",
            pair.events
        );
        assert!(pair.events.contains(&Event::PeerClosed));
    }
}

/// Their Supported Extensions parameter (0x8008) is one that we do not know: §3.2.1, to be skipped in silence.
#[test]
fn their_parameters_that_we_do_not_know_are_skipped() {
    let mut pair = Pair::new(1, 0.0);
    pair.theirs.connect();
    assert!(pair.run_until(|pair| pair.theirs.connected));
    let unknown = |packet: &&Packet| matches!(&packet.chunks[0], Chunk::Init(init) if has_unknown(init));
    assert_eq!(pair.received.iter().filter(unknown).count(), 1, "their INIT has one");
    let reports = |chunk: &Chunk| matches!(chunk, Chunk::InitAck(init) if has_report(init));
    assert!(!pair.sent.iter().flat_map(|packet| &packet.chunks).any(reports));
}

fn has_unknown(init: &Init) -> bool {
    init.parameters.iter().any(|parameter| matches!(parameter, Parameter::Unknown { kind: 0x8008, .. }))
}

fn has_report(init: &Init) -> bool {
    init.parameters.iter().any(|parameter| matches!(parameter, Parameter::Unrecognized(_)))
}

#[test]
fn an_abort_reaches_the_other() {
    let mut pair = Pair::new(1, 0.0);
    pair.we_connect();
    assert!(pair.run_until(|pair| pair.theirs.connected && pair.events.contains(&Event::Connected)));
    pair.ours.as_mut().unwrap().abort();
    assert!(pair.run_until(|pair| pair.theirs.lost));
}
