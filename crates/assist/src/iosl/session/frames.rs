//! What the peer says on a path.

use handfast_core::Instant;

use super::{Event, Pool, Session, Violation};
use crate::iosl::frame::{Frame, Reason};

/// So much that has come is acknowledged at once.
const MANY: u64 = 32 << 10;

impl Session {
    /// The frames of a record that has come by a path of this session. By one that is none of its paths any more they change nothing.
    pub fn on_record(&mut self, now: Instant, epoch: u64, frames: Vec<Frame>, pool: &mut Pool) {
        self.confirm(now, epoch, pool);
        self.on_heard(now, epoch);
        for frame in frames {
            if self.failed.is_some() || self.paths.get_mut(epoch).is_none() {
                return;
            }
            if self.on_frame(now, epoch, frame, pool).is_err() {
                self.farewell = Some(Frame::Reset(Reason::Protocol));
                self.fail(now, Reason::Protocol, pool);
            }
        }
        self.changed(now, pool);
    }

    fn on_frame(&mut self, now: Instant, epoch: u64, frame: Frame, pool: &mut Pool) -> Result<(), Violation> {
        match frame {
            Frame::Data { offset, bytes } => {
                let is_new = self.incoming.on_data(offset, &bytes)?;
                self.arrived(now, is_new);
            }
            Frame::Fin { offset } => {
                let is_new = self.incoming.on_end(offset)?;
                self.arrived(now, is_new);
            }
            Frame::Ack { offset, credit } => {
                self.on_ack(offset, pool)?;
                self.outgoing.on_credit(credit);
            }
            Frame::Suspend => self.set_suspended_by_peer(now, epoch, true),
            Frame::Continue => self.set_suspended_by_peer(now, epoch, false),
            // As RFC 9221 §3: a peer sends what it was told that this end takes, and nothing else.
            Frame::Windows(_) if !self.config.capabilities.windows => return Err(Violation),
            Frame::Windows(windows) => {
                if let Some(path) = self.paths.get_mut(epoch) {
                    path.hints = Some(windows);
                }
            }
            Frame::Datagram(_) if !self.config.capabilities.datagrams => return Err(Violation),
            Frame::Datagram(datagram) => {
                self.datagrams_in.push(&datagram);
                self.events.push(Event::Datagram);
            }
            // To one that has got and given all a program's abort means nothing.
            Frame::Reset(_) if self.is_done() => self.leave(),
            Frame::Reset(reason) => self.fail(now, reason, pool),
            Frame::Ping => {
                if let Some(path) = self.paths.get_mut(epoch) {
                    path.is_asked = true;
                }
            }
            Frame::Expire => {
                self.is_left = true;
                // A peer that is done acknowledges first; what was not acknowledged will not be.
                self.changed(now, pool);
                if self.is_done() {
                    self.leave_when_told();
                } else {
                    self.fail(now, Reason::Expired, pool);
                }
            }
            // These have their place at the beginning of a path.
            Frame::Hello { .. } | Frame::Open { .. } | Frame::Resume { .. } | Frame::Migrated(_) => {
                return Err(Violation);
            }
        }
        Ok(())
    }

    pub(super) fn on_ack(&mut self, offset: u64, pool: &mut Pool) -> Result<(), Violation> {
        if self.outgoing.on_ack(offset, pool)? && self.outgoing.take_writable() {
            self.events.push(Event::Writable);
        }
        Ok(())
    }

    fn arrived(&mut self, now: Instant, is_new: bool) {
        if is_new {
            self.acknowledge_at.get_or_insert(now + self.config.acknowledge);
            self.events.push(Event::Readable);
        }
    }

    fn set_suspended_by_peer(&mut self, now: Instant, epoch: u64, is_suspended: bool) {
        if let Some(path) = self.paths.get_mut(epoch) {
            path.is_suspended_by_peer = is_suspended;
            self.on_sent(now, epoch);
        }
    }

    /// Whether what has come is acknowledged now: much, the end, or credit for a peer that waits for it.
    pub(super) fn acknowledges(&self, told: (u64, u64)) -> bool {
        let (offset, credit) = (self.received(), self.incoming.credit());
        if told == (offset, credit) {
            return false;
        }
        let part = (self.incoming.room() / 4).max(1);
        let is_much = offset - told.0 >= MANY.min(part) || credit - told.1 >= part;
        let is_waited_for = self.incoming.is_shut(told.1) && credit > told.1;
        self.is_acknowledging || is_much || is_waited_for || self.incoming.has_end()
    }
}
