//! What answers packets that belong to no association: it remembers nothing of an INIT (§5.1), and of nothing else (§8.4).

use std::net::IpAddr;

use handfast_core::{Instant, SeqNum, Stream};
use handfast_wire::sctp::{Cause, Chunk, Init, Packet, code};

use crate::association::Association;
use crate::handshake::{Cookie, CookieKey, Terms, answer, is_unicast, tag};
use crate::{Config, Received, Transmit};

/// Bytes of reports of unknown parameters in an INIT ACK: an INIT is answered by little more than itself.
const REPORTS: usize = 256;

/// A server: addresses, a port, and a key for cookies.
#[derive(Clone, Debug)]
pub struct Listener {
    config: Config,
    port: u16,
    local: Vec<IpAddr>,
    keys: [CookieKey; 2],
    random: Stream,
}

/// What becomes of a packet.
#[derive(Debug)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// This goes back.
    Reply(Transmit),
    /// A peer has returned a valid cookie: an association begins.
    Open(Box<Association>),
}

impl Listener {
    /// A server with these addresses. `random` gives tags and TSNs that nobody may guess.
    pub fn new(config: Config, port: u16, local: &[IpAddr], key: CookieKey, random: Stream) -> Self {
        Self { config, port, local: local.to_vec(), keys: [key.clone(), key], random }
    }

    /// From now on cookies are made with this key; those of the key before stay valid (§5.1.3).
    pub fn change_key(&mut self, key: CookieKey) {
        self.keys.swap(0, 1);
        self.keys[0] = key;
    }

    /// A packet has come for our port, and no association has these addresses and ports.
    pub fn on_packet(&mut self, now: Instant, received: &Received<'_>) -> Answer {
        let packet = received.packet;
        // §3.1: no port is 0; §8.4 rule 1: nothing answers what has no sender.
        if packet.dst_port != self.port || packet.src_port == 0 || !is_unicast(received.from) {
            return Answer::Nothing;
        }
        match packet.chunks.as_slice() {
            // §8.5.1 A: an INIT is alone, its packet's tag is zero, its own is not.
            [Chunk::Init(init)] if packet.tag == 0 && init.tag != 0 => self.on_init(now, received, init),
            [Chunk::CookieEcho(sealed), ..] => self.on_cookie_echo(now, received, sealed),
            _ => out_of_the_blue(received),
        }
    }

    fn on_init(&mut self, now: Instant, received: &Received<'_>, init: &Init) -> Answer {
        let terms = match Terms::of(init, received.from, &self.config) {
            Ok(terms) => terms,
            Err(cause) => {
                let abort = Chunk::Abort { reflected: false, causes: vec![cause] };
                return reply(received, init.tag, abort);
            }
        };
        let cookie = Cookie {
            created: now,
            local_port: self.port,
            remote_port: received.packet.src_port,
            local_tag: tag(&mut self.random),
            remote_tag: init.tag,
            local_tsn: SeqNum(self.random.bits() as u32),
            remote_tsn: init.initial_tsn,
            outbound_streams: terms.outbound_streams,
            inbound_streams: terms.inbound_streams,
            remote_rwnd: init.a_rwnd,
            tie: [0; 2],
            local: received.to,
            remote: terms.remote,
        };
        let ack = answer(&self.config, &self.keys[0], &cookie, &self.local, terms.unrecognized, REPORTS);
        reply(received, init.tag, Chunk::InitAck(ack))
    }

    /// §5.1.5.
    fn on_cookie_echo(&mut self, now: Instant, received: &Received<'_>, sealed: &[u8]) -> Answer {
        let Some(cookie) = Cookie::open_with(sealed, &self.keys) else {
            return Answer::Nothing;
        };
        let packet = received.packet;
        let ports = [cookie.remote_port, cookie.local_port] == [packet.src_port, packet.dst_port];
        if !ports || packet.tag != cookie.local_tag || !cookie.remote.contains(&received.from) {
            return Answer::Nothing;
        }
        if let Some(late) = cookie.staleness(now, self.config.cookie_life) {
            let microseconds = u32::try_from(late.as_nanos() / 1000).unwrap_or(u32::MAX);
            return reply(
                received,
                cookie.remote_tag,
                Chunk::Error(vec![Cause::StaleCookie { microseconds }]),
            );
        }
        let random = Stream::new(self.random.bits(), "association");
        // Both: COOKIE ECHO may come again that was sealed with the one before.
        let keys = self.keys.clone();
        let association = Association::accept(now, self.config, keys, random, &cookie, &self.local, received);
        Answer::Open(Box::new(association))
    }
}

/// §8.4: a packet of an association that we do not have.
fn out_of_the_blue(received: &Received<'_>) -> Answer {
    let packet = received.packet;
    let stale = |cause: &Cause| cause.code() == code::STALE_COOKIE;
    let silent = |chunk: &Chunk| match chunk {
        Chunk::Abort { .. } | Chunk::ShutdownComplete { .. } | Chunk::CookieAck | Chunk::Init(_) => true,
        Chunk::Error(causes) => causes.iter().any(stale),
        _ => false,
    };
    if packet.chunks.iter().any(silent) {
        return Answer::Nothing;
    }
    // Both answers carry the packet's own tag: its sender, and nobody else, knows it.
    if matches!(packet.chunks.first(), Some(Chunk::ShutdownAck)) {
        return reply(received, packet.tag, Chunk::ShutdownComplete { reflected: true });
    }
    reply(received, packet.tag, Chunk::Abort { reflected: true, causes: Vec::new() })
}

fn reply(received: &Received<'_>, tag: u32, chunk: Chunk) -> Answer {
    let &Packet { src_port, dst_port, .. } = received.packet;
    let packet = Packet { src_port: dst_port, dst_port: src_port, tag, chunks: vec![chunk] };
    Answer::Reply(Transmit { packet, from: received.to, to: received.from })
}
