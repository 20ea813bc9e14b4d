//! Datagrams that go straight to their targets, since there is no peer, or it does not lead there.
//!
//! They go by a socket of this end, as the program's own is connected here. What they go by is opened anew in another network.

use std::io;

use handfast_assist::iosl::frame::Target;
use handfast_core::Duration;
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use tracing::info;

use super::super::Local;
use super::port::Port;
use super::route::{Early, Route};
use super::{AT_ONCE, address};

/// A target to which none goes straight either is tried again after so long.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Local {
    /// A program's datagrams go straight from now on, these first.
    pub(super) fn lead_straight(&mut self, io: &mut EventLoop, number: u64, target: &Target, early: &Early) {
        info!(%target, "datagrams go straight: they do not outlive a change of address");
        if let Some(oldest) = self.associations.straight_in_the_way() {
            self.associations.end_straight(oldest);
        }
        let opened = match address(target) {
            Some(to) => Port::open(io, to),
            None => Err(io::ErrorKind::InvalidInput.into()),
        };
        match opened {
            Ok(port) => self.associations.insert_straight(Self::now(), (number, target.clone()), port),
            Err(error) => return self.not_straight(number, target, &error),
        }
        for datagram in early.iter() {
            self.send_straight(io, number, target, datagram);
        }
    }

    fn not_straight(&mut self, number: u64, target: &Target, error: &io::Error) {
        self.associations.refuse(number, target, Self::now() + AGAIN_AFTER);
        self.tell_of(number, target, &format!("nor do they go straight: {error}"));
    }

    /// Sends one, by another socket where the network is another one.
    pub(super) fn send_straight(
        &mut self,
        io: &mut EventLoop,
        number: u64,
        target: &Target,
        datagram: &[u8],
    ) {
        let Some(Route::Straight(port)) = self.associations.route_mut(number, target) else { return };
        let (id, to, is_old) = (port.id, port.to, port.is_old);
        if is_old {
            match Port::open(io, to) {
                Ok(port) => {
                    self.associations.end_straight(id);
                    self.associations.insert_straight(Self::now(), (number, target.clone()), port);
                }
                Err(error) => return self.not_straight(number, target, &error),
            }
        }
        let Some(Route::Straight(port)) = self.associations.route_mut(number, target) else { return };
        let (id, is_sent) = (port.id, port.send(datagram).is_ok());
        self.associations.dropped += u64::from(!is_sent);
        self.associations.touch_straight(Self::now(), id);
    }

    /// Something has come straight from a target.
    pub(super) fn read_straight(&mut self, id: SourceId) -> ReadOutcome {
        let Some((number, target)) = self.associations.straight_at(id) else { return ReadOutcome::Nothing };
        for _ in 0..AT_ONCE {
            let Some(datagram) = self.associations.receive_straight(number, &target) else {
                return ReadOutcome::Nothing;
            };
            self.associations.touch_straight(Self::now(), id);
            self.give(number, &target, &datagram);
        }
        ReadOutcome::Some
    }
}
