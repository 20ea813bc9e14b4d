//! Our end: an association, its clock, and two links of Ethernet frames in UDP datagrams.

use std::collections::VecDeque;
use std::net::{IpAddr, UdpSocket};
use std::time::Instant as Clock;

use bytes::Bytes;
use handfast_core::{Bytes as Size, Duration, Instant, Stream};
use handfast_sctp::{
    Answer, Association, Config, CookieKey, Counters, Endpoints, Event, Listener, Message, Received, State,
    Transmit,
};
use handfast_wire::sctp::{PROTOCOL, Packet as Sctp};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Checksums, Ethernet, LinkType, Packet, Payload};

pub(crate) fn ours(link: u8) -> IpAddr {
    [10, 0, link, 1].into()
}

fn theirs(link: u8) -> IpAddr {
    [10, 0, link, 2].into()
}

const fn mac(link: usize, host: u8) -> [u8; 6] {
    [0x52, 0x54, 0, 0, link as u8, host]
}

pub(crate) struct Host {
    zero: Clock,
    sockets: [UdpSocket; 2],
    random: Stream,
    association: Option<Association>,
    pub(crate) listener: Option<Listener>,
    pub(crate) loss: f64,
    pub(crate) down: [bool; 2],
    pub(crate) events: Vec<Event>,
    pub(crate) read: Vec<Message>,
    pub(crate) to_write: VecDeque<Message>,
}

fn socket(link: u16) -> UdpSocket {
    let socket = UdpSocket::bind(("127.0.0.1", 47_000 + 10 * link)).expect("the port is free");
    socket.connect(("127.0.0.1", 47_001 + 10 * link)).expect("an address of this machine");
    socket.set_nonblocking(true).expect("a socket can be so");
    socket
}

impl Host {
    pub(crate) fn new() -> Self {
        Self {
            zero: Clock::now(),
            sockets: [socket(0), socket(1)],
            random: Stream::new(1, "loss"),
            association: None,
            listener: None,
            loss: 0.0,
            down: [false; 2],
            events: Vec::new(),
            read: Vec::new(),
            to_write: VecDeque::new(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.zero.elapsed().as_nanos()).expect("584 years"))
    }

    pub(crate) fn connect(&mut self, port: u16, config: Config) {
        self.forget();
        let endpoints = Endpoints {
            local_port: port,
            remote_port: 6000,
            local: &[ours(0), ours(1)],
            remote: &[theirs(0)],
        };
        // Tags differ from run to run: the kernel remembers.
        let seed = u64::from(std::process::id()) << 32 | self.now().as_nanos() & 0xffff_ffff;
        let (key, random) = (CookieKey::new([1; 32]), Stream::new(seed, "host"));
        self.association = Some(Association::connect(self.now(), config, key, random, &endpoints));
    }

    pub(crate) fn forget(&mut self) {
        self.association = None;
        self.events.clear();
        self.read.clear();
    }

    pub(crate) fn has(&self, event: Event) -> bool {
        self.events.contains(&event)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.association.as_ref().map(Association::counters).unwrap_or_default()
    }

    pub(crate) fn shutdown(&mut self) {
        let now = self.now();
        self.association.as_mut().expect("there is one").shutdown(now);
    }

    pub(crate) fn abort(&mut self) {
        self.association.as_mut().expect("there is one").abort();
    }

    /// Lets time pass until this holds: whether it does, within so many seconds.
    pub(crate) fn run(&mut self, seconds: u64, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now() + Duration::from_secs(seconds);
        while self.now() < end {
            if done(self) {
                return true;
            }
            let busy = (0..2).map(|link| self.receive(link)).fold(false, |a, b| a | b);
            self.pump();
            if !busy {
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        }
        false
    }

    /// All frames that wait at a link; whether there were any.
    fn receive(&mut self, link: usize) -> bool {
        let mut buffer = [0; 2048];
        let mut any = false;
        while let Ok(len) = self.sockets[link].recv(&mut buffer) {
            any = true;
            self.on_frame(link, &Bytes::copy_from_slice(&buffer[..len]));
            self.pump();
        }
        any
    }

    fn on_frame(&mut self, link: usize, frame: &Bytes) {
        // RFC 826: a request in ARP, which has no address of ours yet.
        if frame.len() >= 42 && frame[12..14] == [8, 6] && frame[20..22] == [0, 1] {
            let (us, asks) = (mac(link, 1), &frame[22..32]);
            let parts = [&frame[6..12], &us, &frame[12..20], &[0, 2], &us, &frame[38..42], asks];
            let _ = self.sockets[link].send(&parts.concat());
            return;
        }
        let Ok(packet) = Packet::parse(LinkType::Ethernet, frame, Checksums::Verify) else { return };
        let Body::Other { protocol: PROTOCOL, payload } = &packet.body else { return };
        if self.is_lost(link) {
            return;
        }
        let sctp =
            Sctp::parse(&payload.to_bytes(), Checksums::Verify).expect("the kernel's packets are right");
        self.on_packet(&Received { packet: &sctp, from: packet.src, to: packet.dst });
    }

    fn on_packet(&mut self, received: &Received<'_>) {
        let now = self.now();
        if let Some(association) = self.association.as_mut().filter(|a| a.state() != State::Closed) {
            association.on_packet(now, received);
            return;
        }
        match self.listener.as_mut().map(|listener| listener.on_packet(now, received)) {
            Some(Answer::Open(association)) => self.association = Some(*association),
            Some(Answer::Reply(transmit)) => self.send(&transmit),
            Some(Answer::Nothing) | None => {}
        }
    }

    fn pump(&mut self) {
        let now = self.now();
        let Some(mut association) = self.association.take() else { return };
        if association.deadline().is_some_and(|at| at <= now) {
            association.on_timer(now);
        }
        while let Some(event) = association.poll_event() {
            println!("{now} {event:?}");
            self.events.push(event);
        }
        self.read.extend(std::iter::from_fn(|| association.read()));
        while let Some(message) = self.to_write.front()
            && association.write(message.clone()).is_ok()
        {
            self.to_write.pop_front();
        }
        while let Some(transmit) = association.poll_transmit(now, Size(1500)) {
            self.send(&transmit);
        }
        self.association = Some(association);
    }

    fn send(&mut self, transmit: &Transmit) {
        let link = usize::from(transmit.from == ours(1));
        if self.is_lost(link) {
            return;
        }
        let payload = Payload::Bytes(transmit.packet.emit().expect("it has a form on the wire"));
        let packet = Packet {
            ethernet: Some(Ethernet { src: mac(link, 1), dst: mac(link, 2), vlan: None }),
            body: Body::Other { protocol: PROTOCOL, payload },
            ..Packet::tcp(transmit.from, transmit.to, Segment::EMPTY)
        };
        let mut frame = Vec::new();
        packet.emit(&mut frame).expect("it has a form on the wire");
        let _ = self.sockets[link].send(&frame);
    }

    fn is_lost(&mut self, link: usize) -> bool {
        self.down[link] || self.random.chance(self.loss)
    }
}
