//! What a station's controller does with datagrams: it holds them for a short while, beside TCP and within bounds of their
//! own.

use std::net::IpAddr;

use handfast_core::Instant;

use super::super::classify::Class;
use super::super::datagrams::{DatagramCounts, Datagrams};
use super::super::frame::Frame;
use super::super::release::Returning;
use super::{Shared, State, Station};
use crate::sdn::{Config, NotTcp, Outbox, Steering, Treatment};

impl Station {
    /// A datagram for it has come from a switch.
    pub(crate) fn on_datagram(
        &mut self,
        now: Instant,
        (class, address): (Class, IpAddr),
        frame: &Frame,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        self.hold.lead_to(address);
        self.treat(now, class, frame, shared, out);
    }

    /// What is not TCP is held, passes or is dropped.
    pub(super) fn treat(
        &mut self,
        now: Instant,
        class: Class,
        frame: &Frame,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        let treatment = shared.treatment(class);
        self.expire_datagrams(now, shared, out);
        match self.state {
            State::Away { .. } => match treatment {
                Treatment::Hold if self.keep_datagram(now, frame, shared) => {}
                Treatment::Hold | Treatment::Drop => shared.counters.dropped_other[class as usize] += 1,
                Treatment::Pass => {
                    shared.counters.passed_other[class as usize] += 1;
                    shared.hand_back(frame, out);
                }
            },
            // Behind those that are held: none overtakes.
            State::Returning(_) if treatment == Treatment::Hold && !self.hold.datagrams.is_empty() => {
                if !self.keep_datagram(now, frame, shared) {
                    shared.counters.dropped_other[class as usize] += 1;
                }
                self.release(now, shared, out);
            }
            State::Present { ap, .. } | State::Returning(Returning { ap, .. }) => {
                self.pass(class, ap, frame, shared, out);
            }
        }
    }

    /// Whether there was room for it.
    fn keep_datagram(&mut self, now: Instant, frame: &Frame, shared: &mut Shared) -> bool {
        let (limits, others) = (shared.config.datagrams, shared.datagrams - self.hold.datagrams.cost());
        shared.datagrams(&mut self.hold.datagrams, |datagrams| datagrams.put(now, frame, &limits, others))
    }

    /// The datagrams that are too old are held no longer. As an overlay the controller lets them go on: if nobody is there they
    /// are lost, but if it was told wrongly the station hears something, and says something, by which it is found.
    pub(super) fn expire_datagrams(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) {
        let age = shared.config.datagrams.age;
        let passes = self.is_away() && Self::overlaid(shared);
        while let Some(frame) =
            shared.datagrams(&mut self.hold.datagrams, |datagrams| datagrams.expire(now, age))
        {
            if passes {
                shared.hand_back(&frame, out);
            }
        }
    }
}

impl Shared {
    /// What becomes of what is not TCP while a station is away.
    fn treatment(&self, class: Class) -> Treatment {
        let Config { policy, steering, not_tcp, .. } = &self.config;
        match steering {
            _ if !policy.holds() => Treatment::Drop,
            Steering::Overlay => not_tcp.of(class),
            // Its entries lead nowhere meanwhile: what is not held is lost, whatever it is.
            Steering::Entries => match NotTcp::DATAGRAMS.of(class) {
                Treatment::Hold => Treatment::Hold,
                Treatment::Pass | Treatment::Drop => Treatment::Drop,
            },
        }
    }

    /// Does something to a station's datagrams, and counts what that changes for all.
    pub(crate) fn datagrams<T>(&mut self, of: &mut Datagrams, act: impl FnOnce(&mut Datagrams) -> T) -> T {
        let (cost, before) = (of.cost(), of.counts());
        let done = act(of);
        self.datagrams = self.datagrams - cost + of.cost();
        let DatagramCounts { held, released, expired, evicted } = of.counts();
        self.counters.datagrams_held += held - before.held;
        self.counters.datagrams_released += released - before.released;
        self.counters.datagrams_expired += expired - before.expired;
        self.counters.datagrams_evicted += evicted - before.evicted;
        done
    }
}
