//! Two hosts with proxies between them, in virtual time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use handfast_assist::proxy::{Bounds, Config, Proxy};
use handfast_assist::{Agent, Verdict, View};
use handfast_core::{Bytes, Duration, Instant, SeqNum, Stream};
use handfast_net::{Forward, Outbox, Port};
use handfast_tcp::{Endpoint, Event, Received, Transmit, profile};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet, Payload};

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;
/// Of each link, one way.
pub(crate) const DELAY: Duration = Duration::from_millis(10);
/// Ports of client and server.
pub(crate) const PORTS: [u16; 2] = [40_000, 80];
/// The first numbers of what hosts send, shortly before the wrap.
pub(crate) const ISS: [SeqNum; 2] = [SeqNum(u32::MAX - 5_000), SeqNum(u32::MAX - 99)];

pub(crate) fn ip(host: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, host as u8 + 1])
}

pub(crate) fn linux() -> handfast_tcp::Config {
    profile("linux").unwrap().config()
}

/// What a proxy is made of.
pub(crate) fn config(bounds: Bounds) -> Config {
    Config::new([linux(), linux()], bounds)
}

pub(crate) fn proxy(bounds: Bounds) -> Proxy {
    Proxy::new(config(bounds), Stream::new(1, "proxy"))
}

/// A host: its endpoint, and what its application has got and heard.
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    pub(crate) got: Vec<u8>,
    pub(crate) events: Vec<Event>,
    /// Whether its application reads.
    pub(crate) reads: bool,
}

impl Host {
    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, got: Vec::new(), events: Vec::new(), reads: true }
    }

    fn take_stock(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
        }
        while let Some(payload) = self.reads.then(|| self.endpoint.read(usize::MAX)).flatten() {
            self.got.extend(payload.to_bytes());
        }
    }
}

/// A packet that has left a place: from which link on, and whether to the server.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    /// The link at the client is 0.
    pub(crate) link: usize,
    pub(crate) to_server: bool,
    pub(crate) packet: Packet,
}

impl Sent {
    pub(crate) fn segment(&self) -> &Segment {
        segment(&self.packet)
    }
}

pub(crate) fn segment(packet: &Packet) -> &Segment {
    let Body::Tcp(segment) = &packet.body else { panic!("{packet:?}") };
    segment
}

/// The client, proxies in the order of the way to the server, and the server.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) hosts: [Host; 2],
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) log: Vec<Sent>,
    /// By the time of arrival and the place in the log.
    under_way: BTreeMap<(Instant, usize), Sent>,
}

impl World {
    /// The client is about to open a connection.
    pub(crate) fn new(proxies: Vec<Proxy>) -> Self {
        Self::with([linux(), linux()], proxies)
    }

    pub(crate) fn with([client, server]: [handfast_tcp::Config; 2], proxies: Vec<Proxy>) -> Self {
        let now = Instant::from_millis(1_000);
        let client = Endpoint::connect(Arc::new(client), PORTS[0], PORTS[1], ISS[0], now);
        let server = Endpoint::listen(Arc::new(server), PORTS[1], ISS[1]);
        let (log, under_way) = (Vec::new(), BTreeMap::new());
        Self { now, hosts: [client, server].map(Host::new), proxies, log, under_way }
    }

    /// The handshakes are over, and the log is empty.
    pub(crate) fn connected(proxies: Vec<Proxy>) -> Self {
        let mut world = Self::new(proxies);
        world.run(Duration::from_secs(1));
        assert_eq!(world.hosts.each_ref().map(|host| host.events.as_slice()), [&[Event::Connected]; 2]);
        world.log.clear();
        world
    }

    /// An application writes these bytes.
    pub(crate) fn write(&mut self, host: usize, bytes: Vec<u8>) {
        let len = bytes.len();
        assert_eq!(self.hosts[host].endpoint.write(Payload::Bytes(bytes.into())), len);
    }

    /// Runs for a while on links that lose nothing.
    pub(crate) fn run(&mut self, span: Duration) {
        self.run_with(span, |_| false);
    }

    /// The same on links that lose what `lost` says.
    pub(crate) fn run_with(&mut self, span: Duration, mut lost: impl FnMut(&Sent) -> bool) {
        let until = self.now + span;
        self.pump(&mut lost);
        while let Some(next) = self.next_moment().filter(|&next| next <= until) {
            self.now = next;
            self.step(&mut lost);
        }
        self.now = until;
    }

    fn next_moment(&self) -> Option<Instant> {
        let arrival = self.under_way.keys().next().map(|&(at, _)| at);
        let hosts = self.hosts.iter().filter_map(|host| host.endpoint.deadline());
        let proxies = self.proxies.iter().filter_map(Agent::deadline);
        hosts.chain(proxies).chain(arrival).min()
    }

    fn step(&mut self, lost: &mut impl FnMut(&Sent) -> bool) {
        let now = self.now;
        while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= now) {
            let Sent { link, to_server, packet, .. } = entry.remove();
            match if to_server { link + 1 } else { link } {
                0 => self.arrive(CLIENT, &packet),
                place if place > self.proxies.len() => self.arrive(SERVER, &packet),
                place => self.pass(place, to_server, packet, lost),
            }
            self.pump(lost);
        }
        for host in &mut self.hosts {
            if host.endpoint.deadline().is_some_and(|due| due <= now) {
                host.endpoint.on_timer(now);
            }
        }
        for place in 1..=self.proxies.len() {
            let mut out = Outbox::default();
            if self.proxies[place - 1].deadline().is_some_and(|due| due <= now) {
                self.proxies[place - 1].on_timer(now, &mut out);
            }
            let deadline = self.proxies[place - 1].deadline();
            assert!(deadline.is_none_or(|due| due > now), "the deadline is in the future");
            self.emit(place, out, lost);
        }
        self.pump(lost);
    }

    fn arrive(&mut self, host: usize, packet: &Packet) {
        let segment = segment(packet);
        assert_eq!((packet.src, packet.dst), (ip(1 - host), ip(host)));
        assert_eq!((segment.src_port, segment.dst_port), (PORTS[1 - host], PORTS[host]));
        self.hosts[host].endpoint.on_segment(self.now, &Received { segment, ip: packet.ip_facts() });
    }

    fn pass(&mut self, place: usize, to_server: bool, packet: Packet, lost: &mut impl FnMut(&Sent) -> bool) {
        let (proxy, mut out) = (&mut self.proxies[place - 1], Outbox::default());
        let port = Port(u32::from(!to_server));
        let verdict = proxy.look(self.now, port, &View::of(&packet), &mut out);
        match verdict {
            Verdict::Take => proxy.on_packet(self.now, port, packet, &mut out),
            Verdict::Pass => out.forward(packet),
            Verdict::Drop => {}
        }
        self.emit(place, out, lost);
    }

    fn emit(&mut self, place: usize, mut out: Outbox, lost: &mut impl FnMut(&Sent) -> bool) {
        for forward in out.drain() {
            let Forward::Routed(packet) = forward else { panic!("{forward:?}") };
            self.send(place, packet, lost);
        }
    }

    fn send(&mut self, place: usize, packet: Packet, lost: &mut impl FnMut(&Sent) -> bool) {
        let to_server = packet.dst == ip(SERVER);
        let sent = Sent { at: self.now, link: if to_server { place } else { place - 1 }, to_server, packet };
        if !lost(&sent) {
            self.under_way.insert((self.now + DELAY, self.log.len()), sent.clone());
        }
        self.log.push(sent);
    }

    /// Hosts send what they have to send.
    fn pump(&mut self, lost: &mut impl FnMut(&Sent) -> bool) {
        for host in [CLIENT, SERVER] {
            self.hosts[host].take_stock();
            while let Some(Transmit { segment, ip: facts }) =
                self.hosts[host].endpoint.poll_transmit(self.now, Bytes(u64::MAX))
            {
                let place = if host == CLIENT { 0 } else { self.proxies.len() + 1 };
                self.send(place, Packet::tcp_with(ip(host), ip(1 - host), segment, facts), lost);
            }
            self.hosts[host].take_stock();
        }
    }

    /// What a host has sent has been acknowledged up to here.
    pub(crate) fn acknowledged(&self, host: usize) -> u64 {
        self.hosts[host].endpoint.snapshot(self.now).acknowledged
    }

    /// What a proxy has counted.
    pub(crate) fn counted(&self, proxy: usize, name: &str) -> u64 {
        self.proxies[proxy].counters().into_iter().find(|(found, _)| *found == name).unwrap().1
    }
}

/// Bytes that differ by their place.
pub(crate) fn text(stream: u32, len: usize) -> Vec<u8> {
    Payload::Synthetic { stream, offset: 0, len: len as u32 }.to_bytes().to_vec()
}
