//! A peer that knows both tags and obeys no rule; shared by the property test and the fuzz target.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::{Bytes as Size, Duration, Instant, SeqNum, Stream};
use handfast_sctp::{
    Answer, Association, Config, CookieKey, Endpoints, Listener, MAX_PATHS, Message, PathState, Received,
    State,
};
use handfast_wire::Checksums;
use handfast_wire::sctp::{Cause, Chunk, Data, Gap, Init, Packet, Parameter, Sack};

const PORTS: (u16, u16) = (5000, 6000);
const CAPACITY: u64 = 4_000;
/// The attacker's tag, and its first TSN.
const TAG: u32 = 0x0bad_cafe;
const TSN: SeqNum = SeqNum(u32::MAX - 20);

fn victim_address() -> IpAddr {
    [10, 0, 0, 1].into()
}

fn attacker_address(n: u8) -> IpAddr {
    [10, 0, n % 3, 2].into()
}

fn config() -> Config {
    Config { receive_buffer: Size(CAPACITY), send_buffer: Size(20_000), ..Config::default() }
}

/// Reads what to do; zeros where nothing is left.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn word(&mut self) -> u32 {
        u32::from(self.short()) << 16 | u32::from(self.short())
    }

    fn bytes(&mut self) -> Bytes {
        let len = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        Bytes::copy_from_slice(taken)
    }

    /// Something near `base`, or anything.
    fn near(&mut self, base: SeqNum) -> SeqNum {
        match self.byte() {
            255 => SeqNum(self.word()),
            n => base + u32::from(n / 2) - 20,
        }
    }
}

struct Attack<'a> {
    now: Instant,
    victim: Association,
    /// The victim's tag, and the last cookie that it made.
    tag: u32,
    cookie: Bytes,
    script: Script<'a>,
}

/// Runs what `data` says.
pub(crate) fn run(data: &[u8]) {
    let mut script = Script(data);
    let now = Instant::ZERO;
    let random = Stream::new(1, "victim");
    let key = CookieKey::new([3; 32]);
    let victim = if script.byte() & 1 == 0 {
        let remote = [attacker_address(0)];
        let endpoints = Endpoints {
            local_port: PORTS.0,
            remote_port: PORTS.1,
            local: &[victim_address()],
            remote: &remote,
        };
        Association::connect(now, config(), key, random, &endpoints)
    } else {
        accepted(now, key, random)
    };
    let mut attack = Attack { now, victim, tag: 0, cookie: Bytes::new(), script };
    attack.poll();
    for _ in 0..400 {
        if attack.script.0.is_empty() {
            break;
        }
        attack.step();
        attack.check();
    }
    attack.wind_down();
}

/// A victim that is a server: the attacker's INIT and the cookie that answers it are in order.
fn accepted(now: Instant, key: CookieKey, random: Stream) -> Association {
    let mut listener = Listener::new(config(), PORTS.0, &[victim_address()], key, random);
    let init = Init {
        tag: TAG,
        a_rwnd: 100_000,
        outbound_streams: 3,
        inbound_streams: 3,
        initial_tsn: TSN,
        parameters: vec![Parameter::Address(attacker_address(1))],
    };
    let packet = |tag, chunk| Packet { src_port: PORTS.1, dst_port: PORTS.0, tag, chunks: vec![chunk] };
    let (from, to) = (attacker_address(0), victim_address());
    let first = packet(0, Chunk::Init(init));
    let Answer::Reply(reply) = listener.on_packet(now, &Received { packet: &first, from, to }) else {
        panic!("an INIT is answered")
    };
    let Chunk::InitAck(ack) = &reply.packet.chunks[0] else { panic!("by an INIT ACK") };
    let echo = packet(ack.tag, Chunk::CookieEcho(ack.cookie().expect("with a cookie").clone()));
    match listener.on_packet(now, &Received { packet: &echo, from, to }) {
        Answer::Open(association) => *association,
        other => panic!("a valid cookie opens an association: {other:?}"),
    }
}

fn message() -> Message {
    Message { stream: 0, ppid: 0, unordered: false, data: Bytes::from(vec![1; 2_000]) }
}

impl Attack<'_> {
    fn step(&mut self) {
        match self.script.byte() % 12 {
            0 => self.tick(),
            1 => self.poll(),
            2 => drop(self.victim.write(message())),
            3 => while self.victim.read().is_some() {},
            4 => match self.script.byte() % 16 {
                0 => self.victim.shutdown(self.now),
                1 => self.victim.abort(),
                n @ 2..=6 => self.victim.suspend(usize::from(n) - 2),
                n @ 7..=11 => self.victim.resume(self.now, usize::from(n) - 7),
                n @ 12..=13 => drop(self.victim.reroute(usize::from(n) - 12)),
                14 => drop(self.victim.set_primary(usize::from(self.script.byte() % 4))),
                _ => {
                    let state = PathState {
                        cwnd: u64::from(self.script.word()),
                        ssthresh: u64::from(self.script.word()),
                        srtt: Some((Duration::from_millis(u64::from(self.script.short())), Duration::ZERO)),
                    };
                    self.victim.restore(self.now, usize::from(self.script.byte() % 4), state);
                }
            },
            5 => self.raw(),
            _ => self.packet(),
        }
    }

    /// Time passes to the next deadline.
    fn tick(&mut self) {
        let Some(next) = self.victim.deadline() else { return };
        self.now = self.now.max(next);
        self.victim.on_timer(self.now);
        assert!(self.victim.deadline().is_none_or(|at| at > self.now), "a deadline in the past");
    }

    /// All that the victim has to send.
    fn poll(&mut self) {
        for count in 0.. {
            assert!(count < 2_000, "it does not stop sending");
            let Some(transmit) = self.victim.poll_transmit(self.now, Size(1 << 16)) else { break };
            let bytes = transmit.packet.emit().expect("it has a form on the wire");
            assert!(bytes.len() <= 1_480, "a packet of {} bytes", bytes.len());
            assert_eq!(Packet::parse(&bytes, Checksums::Verify), Ok(transmit.packet.clone()));
            for chunk in &transmit.packet.chunks {
                self.learn(chunk);
            }
        }
        while self.victim.poll_event().is_some() {}
    }

    fn learn(&mut self, chunk: &Chunk) {
        if let Chunk::Init(init) | Chunk::InitAck(init) = chunk {
            self.tag = init.tag;
            self.cookie = init.cookie().unwrap_or(&self.cookie).clone();
        }
    }

    fn hand_in(&mut self, packet: &Packet) {
        let from = attacker_address(self.script.byte());
        self.victim.on_packet(self.now, &Received { packet, from, to: victim_address() });
    }

    /// Whatever bytes.
    fn raw(&mut self) {
        let bytes = self.script.bytes();
        if let Ok(packet) = Packet::parse(&bytes, Checksums::Trust) {
            let packet = Packet { src_port: PORTS.1, dst_port: PORTS.0, tag: self.tag, ..packet };
            self.hand_in(&packet);
        }
    }

    fn packet(&mut self) {
        let count = 1 + usize::from(self.script.byte() % 4);
        let chunks: Vec<_> = (0..count).map(|_| self.chunk()).collect();
        let tag = match chunks[0] {
            Chunk::Init(_) => 0,
            Chunk::Abort { reflected: true, .. } => TAG,
            // The server's tag is not seen in `learn`: it was in the handshake.
            _ if self.tag == 0 => self.victim.tags().0,
            _ => self.tag,
        };
        self.hand_in(&Packet { src_port: PORTS.1, dst_port: PORTS.0, tag, chunks });
    }

    fn chunk(&mut self) -> Chunk {
        match self.script.byte() % 20 {
            0..=4 => Chunk::Data(self.data()),
            5..=8 => Chunk::Sack(self.sack()),
            9 => Chunk::Init(self.init()),
            10 => Chunk::InitAck(self.init()),
            11 => Chunk::CookieEcho(self.cookie.clone()),
            12 => Chunk::CookieAck,
            13 => Chunk::Heartbeat(self.script.bytes()),
            14 => Chunk::HeartbeatAck(self.script.bytes()),
            15 => Chunk::Shutdown { cumulative: self.script.near(self.victim.last_tsn()) },
            16 => Chunk::ShutdownAck,
            17 => Chunk::Error(vec![Cause::StaleCookie { microseconds: 1 }]),
            18 => match self.script.byte() % 8 {
                0 => Chunk::Abort { reflected: self.script.byte() & 1 == 0, causes: vec![] },
                _ => Chunk::ShutdownComplete { reflected: false },
            },
            _ => Chunk::Unknown { kind: 0x20 | self.script.byte(), flags: 0, value: self.script.bytes() },
        }
    }

    fn data(&mut self) -> Data {
        let tsn = self.script.near(TSN + 20);
        let flags = self.script.byte();
        let len = if flags & 16 == 0 { usize::from(self.script.byte()) } else { 1_400 };
        Data {
            tsn,
            stream: u16::from(self.script.byte() % 4),
            ssn: u16::from(self.script.byte() % 8),
            ppid: 0,
            unordered: flags & 4 != 0,
            begin: flags & 2 != 0,
            end: flags & 1 != 0,
            immediate: flags & 8 != 0,
            payload: Bytes::from(vec![7; len]),
        }
    }

    fn sack(&mut self) -> Sack {
        let last = self.victim.last_tsn();
        let gap = |script: &mut Script<'_>| {
            let start = 1 + u16::from(script.byte() % 32);
            Gap { start, end: start + u16::from(script.byte() % 16) }
        };
        Sack {
            cumulative: self.script.near(last),
            a_rwnd: self.script.word(),
            gaps: (0..self.script.byte() % 5).map(|_| gap(&mut self.script)).collect(),
            duplicates: vec![],
        }
    }

    fn init(&mut self) -> Init {
        let parameter = |script: &mut Script<'_>, cookie: &Bytes| match script.byte() % 6 {
            0 => Parameter::Address(attacker_address(script.byte())),
            1 => Parameter::Address([127, 0, 0, script.byte()].into()),
            2 => Parameter::Unknown { kind: script.short() | 0x20, value: script.bytes() },
            3 => Parameter::HostName("x".into()),
            4 => Parameter::Address(IpAddr::from([script.byte(); 16])),
            _ => Parameter::StateCookie(if cookie.is_empty() { "biscuit".into() } else { cookie.clone() }),
        };
        let cookie = self.cookie.clone();
        Init {
            tag: [TAG, TAG, TAG, 0][usize::from(self.script.byte() % 4)],
            a_rwnd: self.script.word(),
            outbound_streams: u16::from(self.script.byte() % 5),
            inbound_streams: u16::from(self.script.byte() % 5),
            initial_tsn: TSN,
            parameters: (0..self.script.byte() % 20).map(|_| parameter(&mut self.script, &cookie)).collect(),
        }
    }

    /// Memory is bounded, whatever has come.
    fn check(&self) {
        let held = self.victim.footprint();
        assert!(held.received_bytes <= CAPACITY, "{held:?}");
        assert!(held.received_items <= CAPACITY as usize / 16, "{held:?}");
        // Twice the bound: what gives way may leave a hole in a range.
        assert!(held.gaps <= CAPACITY as usize / 8, "{held:?}");
        assert!(held.control_chunks <= 32 && held.duplicates <= 32, "{held:?}");
        assert!(self.victim.path_count() <= MAX_PATHS);
        assert!(self.victim.buffered() <= 20_000);
        for path in 0..self.victim.path_count() {
            let status = self.victim.path(path).expect("it is counted");
            assert!(status.state.cwnd >= 576 - 32 && status.flight_size <= 30_000, "{status:?}");
        }
    }

    /// Left alone, an association that has something to say ends, or it is idle.
    fn wind_down(&mut self) {
        for path in 0..self.victim.path_count() {
            self.victim.resume(self.now, path);
        }
        let busy = |victim: &Association| victim.buffered() > 0 && victim.state() != State::Closed;
        for _ in 0..2_000 {
            self.poll();
            self.tick();
            self.check();
        }
        assert!(!busy(&self.victim), "it waits for ever: {:?}", self.victim.state());
    }
}
