//! The largest packet that the path carries, where it meets the connection ([`crate::help::PathMtu`] has the rules).

use std::ops::ControlFlow;

use handfast_core::Instant;

use super::Endpoint;
use super::help::HEADERS;
use crate::MtuProbing;
use crate::cc::Request;
use crate::help::{Decision, Help, PathMtu, PathRoom};
use crate::phase::Phase;
use crate::send::piece::{Piece, Why};

impl Endpoint {
    /// The path carries segments of so many octets, options included: the packet less 40 octets with IPv4, 60 with IPv6 (RFC 1191 §3,
    /// RFC 8201 §4). The driver has seen that who says so knows a sequence number that is outstanding (RFC 5927 §4.1). `resend`: what
    /// does not fit is lost, and goes again in smaller segments; that is no congestion (RFC 1191 §6.5).
    pub fn set_path_mss(&mut self, octets: u16, resend: bool) {
        self.path_mtu().set_path(octets);
        self.resize(resend);
    }

    /// Finds out by itself what the path carries (RFC 4821). `now`: its search is as old as that.
    pub fn set_mtu_probing(&mut self, now: Instant, how: MtuProbing) {
        self.path_mtu().probe(now, how);
        self.resize(false);
    }

    fn path_mtu(&mut self) -> &mut PathMtu {
        let options = self.option_octets();
        let most = u16::try_from(self.tx.window.smss).unwrap_or(u16::MAX).saturating_add(options);
        let help = self.help.get_or_insert_with(|| Help::with(&self.config));
        help.path.get_or_insert_with(|| PathMtu::new(most, options))
    }

    /// It listens again: what the driver has told before the SYN still holds. What came later is of the path to that peer.
    pub(super) fn keep_path(&mut self, before: Option<Box<Help>>) {
        if let Some(mut path) = before.and_then(|help| help.path) {
            path.forget_peer();
            self.help.get_or_insert_with(|| Help::with(&self.config)).path = Some(path);
        }
    }

    /// Octets of each segment that options take (RFC 6691 §2).
    pub(super) fn option_octets(&self) -> u16 {
        u16::from(self.config.reserved) + if self.timestamps { 12 } else { 0 }
    }

    /// The handshake has settled that the peer takes segments of `most` octets; the payload of a full one.
    #[cold]
    pub(super) fn settle_path(&mut self, now: Instant, most: u16) -> Option<u64> {
        let (options, passive) = (self.option_octets(), self.passive);
        let path = known(&mut self.help)?;
        path.settle(now, most, options, passive);
        Some(path.smss())
    }

    /// Full segments are as large as the path's rules say. `resend`: what is larger goes again.
    #[cold]
    fn resize(&mut self, resend: bool) {
        let Some(smss) = self.searched_smss().filter(|_| self.is_synchronised()) else { return };
        self.tx.window.resize(smss);
        if resend && let Some(upto) = self.tx.longest_end() {
            self.resend_smaller(upto);
        }
    }

    /// Payload of a full segment, by all that is known from now on.
    fn searched_smss(&mut self) -> Option<u64> {
        let path = known(&mut self.help)?;
        path.heed_search();
        Some(path.smss())
    }

    /// Linux's `tcp_simple_retransmit`: what is longer than a full segment goes again, up to `upto`. cwnd stays: "we do not increase amount of _data_ in
    /// network, but units changed and effective cwnd/ssthresh really reduced now".
    fn resend_smaller(&mut self, upto: u64) {
        if self.tx.progress.phase == Phase::Open {
            let cwnd = self.tx.window.cwnd();
            self.tx.request(Request::AtLeast { cwnd, ssthresh: cwnd / 4 * 3 });
        }
        self.recovery.lose_longer(&mut self.tx, upto);
        self.spurious.give_up_frto();
    }

    /// New data leaves as usual, or a probe in its place, or it waits until there is room for one.
    pub(super) fn probes_path(&mut self, now: Instant) -> ControlFlow<Option<Piece>> {
        match self.decide_probe(now) {
            Decision::GoOn => ControlFlow::Continue(()),
            Decision::Wait => ControlFlow::Break(None),
            Decision::Probe(size) => match self.probe_piece(size) {
                Some(piece) => ControlFlow::Break(Some(piece)),
                None => ControlFlow::Continue(()),
            },
        }
    }

    fn decide_probe(&mut self, now: Instant) -> Decision {
        let probing = self.help.as_ref().is_some_and(|help| help.path.is_some());
        let clean =
            self.tx.progress.phase == Phase::Open && self.tx.board.is_empty() && !self.has_sack_blocks();
        if !probing || !clean || self.tx.nxt != self.tx.max {
            return Decision::GoOn;
        }
        let tx = &self.tx;
        let room = PathRoom {
            now,
            smss: tx.window.smss,
            cwnd: tx.window.cwnd(),
            in_flight: self.in_flight(),
            reordering: self.recovery.path_facts().extent.div_ceil(tx.window.smss),
            unsent: tx.data_end().saturating_sub(tx.nxt),
            window: tx.wnd,
            window_left: tx.right_edge().saturating_sub(tx.nxt),
        };
        known(&mut self.help).map_or(Decision::GoOn, |path| path.decide(&room))
    }

    /// The probe, if what it takes may share a segment.
    fn probe_piece(&mut self, size: u64) -> Option<Piece> {
        let start = self.tx.nxt;
        if self.tx.buffer.slice(start - 1, size as usize).len() as u64 != size {
            return None;
        }
        let end = start + size;
        let path = known(&mut self.help)?;
        path.sent(start, end);
        path.small_before = Some(self.tx.small_end);
        self.tx.window.narrow(size);
        Some(Piece { start, end, why: Why::Next })
    }

    /// A segment leaves.
    pub(super) fn path_sent(&mut self) {
        if let Some(small) = known(&mut self.help).and_then(|path| path.small_before.take()) {
            self.tx.small_end = small;
        }
    }

    /// SND.UNA has advanced: a probe that has arrived makes segments larger, and as many octets of them make the window.
    #[cold]
    pub(super) fn path_acknowledged(&mut self) {
        let Self { help, tx, .. } = self;
        let Some(path) = known(help) else { return };
        if let Some(probe) = path.acknowledged(tx.una) {
            self.probe_arrived(probe);
        }
    }

    /// `tcp_mtup_probe_success`: cwnd in octets, headers included, stays what it was, rounded down to whole segments.
    fn probe_arrived(&mut self, probe: u64) {
        let Some(smss) = self.searched_smss() else { return };
        let headers = HEADERS + u64::from(self.option_octets());
        let before = self.tx.window.cwnd();
        self.tx.window.enlarge(smss, probe, headers);
        let ssthresh = before / 4 * 3;
        self.tx.request(Request::AtLeast { cwnd: 0, ssthresh });
    }

    /// Fast recovery would begin. Whether it is a probe that is lost: then nothing else is.
    pub(super) fn probe_failed(&mut self) -> bool {
        let Self { help, tx, .. } = self;
        let Some(path) = known(help) else { return false };
        let Some(end) = path.fails(tx.una).filter(|_| tx.progress.phase == Phase::Open) else {
            return false;
        };
        tx.window.widen(end - tx.una);
        self.resend_smaller(end);
        true
    }

    /// A timeout: a black hole makes segments smaller.
    pub(super) fn path_timed_out(&mut self, now: Instant, first: bool) {
        if known(&mut self.help).is_some_and(|path| path.on_timeout(now, first)) {
            self.resize(false);
        }
    }
}

/// What is known of the path, where anything is.
fn known(help: &mut Option<Box<Help>>) -> Option<&mut PathMtu> {
    help.as_mut().and_then(|help| help.path.as_mut())
}
