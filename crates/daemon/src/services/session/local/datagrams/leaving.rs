//! The program has ended: so do its sessions of datagrams, but for what it has sent last.

use handfast_assist::iosl::ids::Socket;
use handfast_core::{Duration, Instant};
use handfast_io::EventLoop;

use super::super::{Gate, Local};
use super::Aliases;
use super::associations::Association;
use super::route::Route;
use super::ways::Way;

/// Sessions that are not open yet have so long.
const WITHIN: Duration = Duration::from_secs(3);

impl Local {
    /// Nobody waits for an answer any more.
    pub(in super::super) fn leave_datagrams(&mut self, io: &mut EventLoop) {
        let aliases = self.gate.as_ref().and_then(Gate::aliases).map(Aliases::ids);
        for id in aliases.unwrap_or_default() {
            self.read_alias(io, id);
        }
        for number in self.associations.led_or_paired() {
            self.read_program(io, number);
        }
        self.leaving_by = Some(Self::now() + WITHIN);
        for number in self.associations.led_or_paired() {
            if !self.associations.get(number).is_some_and(Association::is_opening) {
                self.end_association(number);
            }
        }
    }

    /// Whether something waits still that the program has sent last.
    pub(in super::super) fn has_datagrams_left(&self) -> bool {
        self.leaving_by.is_some() && !self.associations.led_or_paired().is_empty()
    }

    /// A session has opened whose program has ended: it has sent all.
    pub(super) fn end_if_leaving(&mut self, socket: Socket) {
        let Some((number, _)) = self.associations.of(socket).filter(|_| self.leaving_by.is_some()) else {
            return;
        };
        let one = self.associations.get(number);
        if one.is_some_and(|one| !matches!(one.way, Way::Relay(_)) && !one.is_opening()) {
            self.end_association(number);
        }
    }

    /// Nobody waits any longer for sessions to open.
    pub(super) fn end_left(&mut self, now: Instant) {
        if self.leaving_by.is_some_and(|by| by <= now) {
            for number in self.associations.led_or_paired() {
                self.end_association(number);
            }
        }
    }
}

impl Association {
    /// Whether it waits for a session.
    fn is_opening(&self) -> bool {
        self.routes.values().any(|route| matches!(route, Route::Opening { .. }))
    }
}
