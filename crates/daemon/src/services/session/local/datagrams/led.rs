//! Datagrams that the kernel leads here (`bpf/sockets`), and targets to which programs get none through.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::probe::Policy;
use handfast_core::{Duration, Instant};
use handfast_io::netlink::UdpSockets;
use handfast_io::{EventLoop, ReadOutcome, SourceId};

use super::super::{Gate, Local};
use super::AT_ONCE;
use super::aliases::Came;
use super::ways::Way;

/// A target to which the peer does not lead is refused for so long, or until the network changes: as of a server without a peer.
pub(super) const REFUSED_FOR: Duration = Duration::from_secs(600);

/// Targets that are refused at once.
const MOST: usize = 1_024;

/// A port may be another program's after so long: whose it is is looked at again.
const OWN_FOR: Duration = Duration::from_secs(1);

/// How often it is looked at what nobody uses any more.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Targets that are refused, until when.
#[derive(Debug, Default)]
pub(in super::super) struct Refusals(BTreeMap<Target, Instant>);

impl Refusals {
    pub(super) fn insert(&mut self, now: Instant, target: &Target, until: Instant) {
        if self.0.len() >= MOST {
            self.0.retain(|_, until| *until > now);
        }
        if self.0.len() < MOST {
            self.0.insert(target.clone(), until);
        }
    }

    pub(super) fn has(&self, now: Instant, target: &Target) -> bool {
        self.0.get(target).is_some_and(|until| *until > now)
    }
}

impl Local {
    /// Something has come to an alias.
    pub(in super::super) fn on_alias(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        let outcome = self.read_alias(io, id);
        self.hear(io);
        outcome
    }

    pub(super) fn read_alias(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        for _ in 0..AT_ONCE {
            let Some(aliases) = self.gate.as_mut().and_then(Gate::aliases_mut) else { break };
            match aliases.receive(id) {
                Came::Nothing => return ReadOutcome::Nothing,
                Came::Dropped => self.associations.dropped += 1,
                Came::Datagram(from, target, datagram) => match self.led_by(from) {
                    Some(number) => self.send_to(io, number, target, &datagram),
                    None => self.associations.dropped += 1,
                },
            }
        }
        ReadOutcome::Some
    }

    /// Whose a datagram is that has come from there; [`None`]: of no program in the cgroup, or there are too many.
    fn led_by(&mut self, from: SocketAddr) -> Option<u64> {
        if self.leaving_by.is_some() {
            return None;
        }
        let now = Self::now();
        let known = self.associations.led_from(from);
        if let Some((number, until)) = known
            && until > now
        {
            return Some(number);
        }
        if self.gate.as_ref().and_then(Gate::aliases).is_some_and(|aliases| aliases.is_sender(from)) {
            return self.associations.looked_at(from, now + OWN_FOR);
        }
        if let Some((number, _)) = known {
            self.end_association(number);
        }
        None
    }

    /// Where the policy is `require`, who sends there again gets an error, and may try TCP.
    pub(super) fn refuse_target(&mut self, number: u64, target: &Target, until: Instant) {
        let way = self.associations.get(number).map(|association| &association.way);
        if self.peers.policy() != Policy::Require || matches!(way, Some(Way::Relay(_)) | None) {
            return;
        }
        self.refusals.insert(Self::now(), target, until);
        let aliases = self.gate.as_ref().and_then(Gate::aliases);
        if let (Some(aliases), Some(address)) = (aliases, super::address(target)) {
            aliases.refuse(address, until);
        }
        for (_, pair) in self.associations.pairs().filter(|(_, pair)| pair.target == *target) {
            // It is this end's own socket and address.
            let _ = pair.refuse();
        }
    }

    /// This end is in another network, whose peer may lead there.
    pub(in super::super) fn refuse_none(&mut self) {
        self.refusals = Refusals::default();
        if let Some(aliases) = self.gate.as_ref().and_then(Gate::aliases) {
            aliases.refuse_none();
        }
    }

    /// Routes or addresses have changed: what goes straight may need another socket.
    pub(in super::super) fn look_at_straight(&mut self) {
        self.associations.ports_mut().for_each(super::port::Port::look_at_routes);
    }

    /// When there is something to do for datagrams.
    pub(in super::super) fn datagrams_deadline(&mut self) -> Option<Instant> {
        let has_aliases = self.gate.as_ref().is_some_and(|gate| gate.aliases().is_some());
        if has_aliases || self.associations.pairs().next().is_some() {
            self.look_at_led.get_or_insert(Self::now() + LOOK_EVERY);
        }
        let leaving = self.leaving_by.filter(|_| self.has_datagrams_left());
        [self.associations.deadline(), self.look_at_led, leaving].into_iter().flatten().min()
    }

    /// Takes back what nobody uses any more.
    pub(super) fn look_at_led(&mut self, now: Instant) {
        if self.look_at_led.is_some_and(|at| at <= now) {
            self.look_at_led = None;
            self.take_back(now);
        }
    }

    pub(super) fn take_back(&mut self, now: Instant) {
        // Where the kernel does not say it, everything is used.
        let Ok(sockets) = UdpSockets::new().and_then(|mut sockets| sockets.within()) else { return };
        let is_own = |socket: &handfast_io::netlink::UdpSocket| socket.local != socket.remote;
        let connected: BTreeSet<SocketAddr> =
            sockets.iter().filter(|one| is_own(one)).map(|one| one.remote).collect();
        self.associations.forget_unused();
        let used = self.associations.led_targets().into_iter().cloned().collect();
        if let Some(aliases) = self.gate.as_mut().and_then(Gate::aliases_mut) {
            aliases.take_back(now, &used, &connected);
        }
        let is_gone = |at: std::io::Result<SocketAddr>| at.is_ok_and(|at| !connected.contains(&at));
        let gone = self.associations.pairs().filter(|(_, pair)| is_gone(pair.socket.local_addr()));
        for number in gone.map(|(number, _)| number).collect::<Vec<_>>() {
            self.end_association(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_targets_are_refused_than_may_be_and_not_for_ever() {
        let (mut refusals, at) = (Refusals::default(), Instant::from_millis);
        let target = |n: usize| Target::of_datagrams("192.0.2.1", 1 + n as u16).unwrap();
        for n in 0..2 * MOST {
            refusals.insert(at(0), &target(n), at(10));
        }
        assert_eq!(refusals.0.len(), MOST);
        assert!(refusals.has(at(9), &target(0)) && !refusals.has(at(10), &target(0)));
        refusals.insert(at(10), &target(2 * MOST), at(20));
        assert!(refusals.has(at(11), &target(2 * MOST)) && refusals.0.len() == 1);
    }
}
