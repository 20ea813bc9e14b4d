//! Addresses from which datagrams come, before anybody has shown to be there (RFC 9000 §8).
//!
//! Over the kernel's TCP the handshake shows it. Over UDP (`inside/`) a sender can write any address into a packet: until an address has
//! answered a challenge, or TCP's handshake, it gets three times what came from it at most.

use std::net::SocketAddr;

use handfast_core::{Duration, Instant};
use hmac::Mac;

use crate::code::{Code, code};
use crate::recent::Recent;

/// What an address has to answer with (RFC 9000 §8.2: enough that nobody guesses it).
pub type Challenge = [u8; 8];

/// RFC 9000 §8: "three times the amount of data received".
pub(super) const FACTOR: u64 = 3;

#[derive(Debug)]
struct Address {
    received: u64,
    sent: u64,
    is_valid: bool,
    /// Since when it is what it is.
    since: Instant,
}

impl Address {
    fn has_room(&self, octets: u64) -> bool {
        self.is_valid || self.sent + octets <= FACTOR * self.received
    }
}

/// Bounds and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Addresses that are remembered.
    pub most: usize,
    /// So long an address is valid.
    pub valid: Duration,
    /// So long a challenge can be answered.
    pub answer: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { most: 1_024, valid: Duration::from_secs(600), answer: Duration::from_secs(3) }
    }
}

/// What is known of addresses.
#[derive(Debug)]
pub struct Validation {
    code: Code,
    config: Config,
    addresses: Recent<Address, SocketAddr>,
}

impl Validation {
    /// Knows none. `secret`: 32 random bytes of this process.
    pub fn new(secret: &[u8; 32], config: Config) -> Self {
        let code = code(secret);
        Self { code, config, addresses: Recent::new(config.most) }
    }

    /// Octets have come that say they are from there.
    pub fn on_received(&mut self, now: Instant, from: SocketAddr, octets: u64) {
        if let Some(address) = self.get(now, from) {
            address.received += octets;
            return;
        }
        if let Some(other) = self.addresses.in_the_way() {
            self.addresses.remove(&other);
        }
        let address = Address { received: octets, sent: 0, is_valid: false, since: now };
        self.addresses.insert(now, from, address);
    }

    /// Whether so many octets might go there now.
    pub fn has_room(&mut self, now: Instant, to: SocketAddr, octets: u64) -> bool {
        self.get(now, to).is_some_and(|address| address.has_room(octets))
    }

    /// Whether so many octets may go there now. Who is told so has sent them.
    pub fn may_send(&mut self, now: Instant, to: SocketAddr, octets: u64) -> bool {
        let Some(address) = self.get(now, to).filter(|address| address.has_room(octets)) else {
            return false;
        };
        address.sent += octets;
        true
    }

    /// What an address has to answer with. It follows from the address and the time, so that nothing is kept for it.
    pub fn challenge(&self, now: Instant, address: SocketAddr) -> Challenge {
        self.challenge_of(self.period(now), address)
    }

    /// An address has answered: whether that shows that somebody is there.
    pub fn on_answer(&mut self, now: Instant, from: SocketAddr, answer: Challenge) -> bool {
        let period = self.period(now);
        let is_right = [period, period.wrapping_sub(1)].into_iter().any(|period| {
            // In constant time.
            self.code_of(period, from).verify_truncated_left(&answer).is_ok()
        });
        let Some(address) = self.get(now, from).filter(|_| is_right) else { return false };
        (address.is_valid, address.since) = (true, now);
        true
    }

    /// Whether an address has answered, not too long ago.
    pub fn is_valid(&mut self, now: Instant, address: SocketAddr) -> bool {
        self.get(now, address).is_some_and(|address| address.is_valid)
    }

    /// How many addresses are remembered.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn period(&self, now: Instant) -> u64 {
        now.as_nanos() / self.config.answer.as_nanos().max(1)
    }

    fn code_of(&self, period: u64, address: SocketAddr) -> Code {
        self.code.clone().chain_update(period.to_be_bytes()).chain_update(address.to_string())
    }

    fn challenge_of(&self, period: u64, address: SocketAddr) -> Challenge {
        self.code_of(period, address).finalize().into_bytes().first_chunk().copied().unwrap_or_default()
    }

    /// One that is not valid any more has to answer again, and begins with what it had sent and got.
    fn get(&mut self, now: Instant, address: SocketAddr) -> Option<&mut Address> {
        let place = self.addresses.find(&address)?;
        let valid = self.config.valid;
        let address = self.addresses.touch(now, place);
        if address.is_valid && address.since + valid <= now {
            *address = Address { received: 0, sent: 0, is_valid: false, since: now };
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(10_000 + ms)
    }

    fn address(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    fn validation() -> Validation {
        Validation::new(&[5; 32], Config { most: 4, ..Config::default() })
    }

    #[test]
    fn who_has_not_answered_gets_three_times_what_came() {
        let mut addresses = validation();
        assert!(!addresses.may_send(at(0), address(1), 1), "nothing has come");
        addresses.on_received(at(0), address(1), 100);
        assert!(addresses.may_send(at(0), address(1), 200) && !addresses.may_send(at(0), address(1), 101));
        assert!(addresses.may_send(at(0), address(1), 100) && !addresses.may_send(at(0), address(1), 1));
        let challenge = addresses.challenge(at(0), address(1));
        assert!(addresses.on_answer(at(2_000), address(1), challenge));
        assert!(addresses.may_send(at(2_000), address(1), 1 << 40));
        assert!(!addresses.may_send(at(700_000), address(1), 1), "it was too long ago");
    }

    #[test]
    fn an_answer_is_for_one_address_and_for_a_while() {
        let mut addresses = validation();
        let challenge = addresses.challenge(at(0), address(1));
        for port in [1, 2] {
            addresses.on_received(at(0), address(port), 100);
        }
        assert!(!addresses.on_answer(at(0), address(2), challenge), "another port");
        assert!(!addresses.on_answer(at(0), address(1), [0; 8]));
        assert!(!addresses.on_answer(at(6_000), address(1), challenge), "too late");
        assert!(!addresses.is_valid(at(6_000), address(1)));
        assert!(
            !addresses.on_answer(at(0), address(3), addresses.challenge(at(0), address(3))),
            "never heard of"
        );
    }

    proptest! {
        /// Whatever comes, nobody gets more than three times what came from there, and no more than four are remembered.
        #[test]
        fn nobody_is_flooded(steps in prop::collection::vec((0u16..8, any::<bool>(), 0u64..2_000), 0..300)) {
            let mut addresses = validation();
            let mut balance = std::collections::BTreeMap::<u16, (u64, u64)>::new();
            for (port, comes, octets) in steps {
                let (received, sent) = balance.entry(port).or_default();
                if comes {
                    addresses.on_received(at(0), address(port), octets);
                    *received += octets;
                } else if addresses.may_send(at(0), address(port), octets) {
                    *sent += octets;
                }
                prop_assert!(*sent <= 3 * *received);
                prop_assert!(addresses.len() <= 4);
            }
        }
    }
}
