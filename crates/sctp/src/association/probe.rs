//! Probes of a window that the peer has closed (§6.1 A).

use handfast_core::Instant;

use super::Association;
use crate::tsn::Tsn;

/// Where the probes of a closed window are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// When the first leaves.
    pub(super) at: Option<Instant>,
    /// It may leave.
    pub(super) due: bool,
    /// The chunk that left last into a closed window, with nothing else in flight.
    tsn: Option<Tsn>,
}

impl Association {
    /// Nothing leaves. "The sender SHOULD send the first zero window probe after 1 RTO when it detects that the receiver has closed its
    /// window."
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let Some(path) = self.path_of_probe() else {
            (self.probe.at, self.probe.due) = (None, false);
            return;
        };
        if !self.probe.due {
            let rto = self.paths.get(path).rtt.rto();
            self.probe.at.get_or_insert(now + rto);
        }
    }

    /// Where a probe would leave, if nothing is outstanding and the window has no room for the next chunk.
    fn path_of_probe(&self) -> Option<usize> {
        if !self.state.sends_data() || !self.sent.is_empty() {
            return None;
        }
        let len = self.queue.next_len(self.pmdcs as usize)?;
        if self.a_rwnd < len as u64 { self.paths.for_data() } else { None }
    }

    pub(super) fn on_probe_timer(&mut self, now: Instant) {
        if self.probe.at.is_some_and(|at| at <= now) {
            (self.probe.at, self.probe.due) = (None, true);
        }
    }

    /// A chunk with so much user data is about to leave.
    pub(super) fn notice_probe(&mut self, tsn: Tsn, len: usize) {
        if self.sent.payload_in_flight() == 0 && self.a_rwnd < len as u64 {
            self.probe.tsn = Some(tsn);
        }
        self.probe.due = false;
    }

    /// The path of the probe that is outstanding, if there is one and the window has not opened since.
    pub(super) fn probed_path(&self) -> Option<usize> {
        let earliest = self.sent.earliest()?;
        let closed = self.a_rwnd < earliest.data.payload.len() as u64;
        (closed && self.probe.tsn == Some(self.sent.first())).then_some(earliest.path)
    }
}
