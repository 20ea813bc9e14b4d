//! Packets of no association: what a server answers, and keeps nothing of (RFC 9260 §5.1, §8.4).

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::Bytes;
use handfast_core::{Duration, Instant, Stream};
use handfast_sctp::{Answer, Association, CookieKey, Listener, Received, Transmit};
use handfast_wire::sctp::{Chunk, Packet, Parameter, UDP_PORT};

use super::Config;
use crate::iosl::secure::Entropy;
use crate::iosl::validation::{self, Challenge, FACTOR, Validation};

/// So long a key makes cookies (RFC 9260 §5.1.3: it "SHOULD be changed reasonably frequently").
const KEY_LIFE: Duration = Duration::from_secs(600);

/// What takes associations of others.
pub(super) struct Strangers {
    /// For IPv4 and for IPv6.
    listeners: [Listener; 2],
    key_until: Instant,
    /// A cookie holds for an address; that its port is right too is shown by this (RFC 9000 §8.1.2).
    validation: Validation,
    used: Used,
}

/// What becomes of a packet.
pub(super) enum Becomes {
    Nothing,
    /// This goes back.
    Reply(Bytes),
    /// An association begins.
    Open(Box<Association>),
}

/// Our address, as associations of others have it: the driver knows better to which one a packet has come.
pub(super) fn any(of: IpAddr) -> IpAddr {
    if of.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// 64 random bits.
pub(super) fn bits(entropy: &mut Entropy) -> u64 {
    let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = entropy.bytes();
    u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7])
}

impl Strangers {
    pub(super) fn new(config: &Config, entropy: &mut Entropy) -> Self {
        let key = CookieKey::new(entropy.bytes());
        let mut listener = |any: IpAddr| {
            let random = Stream::new(bits(entropy), "listener");
            Listener::new(config.sctp, UDP_PORT, &[any], key.clone(), random)
        };
        let listeners = [listener(Ipv4Addr::UNSPECIFIED.into()), listener(Ipv6Addr::UNSPECIFIED.into())];
        let validation = Validation::new(&entropy.bytes(), validation::Config::default());
        let used = Used { life: config.sctp.cookie_life, most: config.most_used, ..Used::default() };
        Self { listeners, key_until: Instant::ZERO, validation, used }
    }

    /// A packet of no association has come in a datagram of so many octets.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        from: SocketAddr,
        mut packet: Packet,
        len: usize,
        entropy: &mut Entropy,
    ) -> Becomes {
        self.change_key(now, entropy);
        if let Some(Chunk::CookieEcho(sealed)) = packet.chunks.first_mut() {
            if self.used.has(now, packet.tag) {
                return Becomes::Nothing;
            }
            let Some(proof) = take_proof(sealed) else { return Becomes::Nothing };
            self.validation.on_received(now, from, len as u64);
            if !self.validation.on_answer(now, from, proof) {
                return Becomes::Nothing;
            }
        }
        let address = from.ip().to_canonical();
        let received = Received { packet: &packet, from: address, to: any(address) };
        match self.listeners[usize::from(address.is_ipv6())].on_packet(now, &received) {
            Answer::Nothing => Becomes::Nothing,
            Answer::Open(association) => Becomes::Open(association),
            Answer::Reply(reply) => {
                let answer = self.reply(now, from, reply);
                // Nobody makes this end send more than three times what he has sent himself.
                answer
                    .filter(|answer| answer.len() as u64 <= FACTOR * len as u64)
                    .map_or(Becomes::Nothing, Becomes::Reply)
            }
        }
    }

    fn reply(&self, now: Instant, to: SocketAddr, Transmit { mut packet, .. }: Transmit) -> Option<Bytes> {
        if let [Chunk::InitAck(init)] = packet.chunks.as_mut_slice() {
            let proof = self.validation.challenge(now, to);
            for parameter in &mut init.parameters {
                if let Parameter::StateCookie(cookie) = parameter {
                    *cookie = [&cookie[..], &proof].concat().into();
                }
            }
        }
        packet.emit().ok()
    }

    fn change_key(&mut self, now: Instant, entropy: &mut Entropy) {
        if now >= self.key_until {
            self.key_until = now + KEY_LIFE;
            let key = CookieKey::new(entropy.bytes());
            for listener in &mut self.listeners {
                listener.change_key(key.clone());
            }
        }
    }

    /// An association of this tag is over: a copy of its COOKIE ECHO opens none.
    pub(super) fn on_over(&mut self, now: Instant, tag: u32) {
        self.used.add(now, tag);
    }
}

/// What was added to a cookie: who receives the INIT ACK at its address and port, and nobody else, has it.
pub(super) fn take_proof(sealed: &mut Bytes) -> Option<Challenge> {
    let at = sealed.len().checked_sub(size_of::<Challenge>())?;
    let proof = sealed.split_off(at);
    Challenge::try_from(&proof[..]).ok()
}

/// Tags of associations that are over, as long as their cookies live.
#[derive(Debug, Default)]
struct Used {
    life: Duration,
    most: usize,
    tags: BTreeSet<u32>,
    until: VecDeque<(Instant, u32)>,
}

impl Used {
    fn add(&mut self, now: Instant, tag: u32) {
        self.forget(now);
        if self.tags.insert(tag) {
            self.until.push_back((now + self.life, tag));
        }
    }

    fn has(&mut self, now: Instant, tag: u32) -> bool {
        self.forget(now);
        self.tags.contains(&tag)
    }

    fn forget(&mut self, now: Instant) {
        while let Some(&(until, tag)) = self.until.front()
            && (until < now || self.until.len() >= self.most)
        {
            self.until.pop_front();
            self.tags.remove(&tag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(most: usize) -> Used {
        Used { life: Duration::from_secs(10), most, ..Used::default() }
    }

    #[test]
    fn a_tag_is_known_for_as_long_as_its_cookie_may_hold() {
        let (mut used, at) = (used(8), Instant::from_millis);
        used.add(at(0), 1);
        used.add(at(5_000), 2);
        used.add(at(5_000), 1);
        assert!(!used.has(at(10_000), 3));
        assert!(used.has(at(10_000), 1) && !used.has(at(10_001), 1));
        assert!(used.has(at(15_000), 2) && !used.has(at(15_001), 2));
        assert!(used.tags.is_empty() && used.until.is_empty());
    }

    #[test]
    fn the_oldest_tags_give_way() {
        let (mut used, at) = (used(8), Instant::from_millis(0));
        for tag in 0..100 {
            used.add(at, tag);
            assert!(used.tags.len() <= 8 && used.until.len() == used.tags.len(), "{tag}");
        }
        assert!(used.has(at, 99) && used.has(at, 94) && !used.has(at, 91));
    }

    /// RFC 9260 §5.1.3.
    #[test]
    fn a_key_is_changed_when_its_time_is_over_and_not_before() {
        let (mut entropy, at) = (Entropy::new([1; 32]), Instant::from_millis(5_000));
        let mut strangers = Strangers::new(&Config::default(), &mut entropy);
        let just_before = at + Duration::from_nanos(KEY_LIFE.as_nanos() - 1);
        for (now, until) in
            [(at, at + KEY_LIFE), (just_before, at + KEY_LIFE), (at + KEY_LIFE, at + KEY_LIFE + KEY_LIFE)]
        {
            strangers.change_key(now, &mut entropy);
            assert_eq!(strangers.key_until, until);
        }
    }
}
