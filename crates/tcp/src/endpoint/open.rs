//! The handshake: SYN, SYN-ACK, and the options they settle (RFC 9293 §3.10.7.2 and §3.10.7.3).

use handfast_core::{Instant, SeqNum};
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use super::timers::Timer;
use super::{Endpoint, Timers};
use crate::cc::Request;
use crate::recovery::LossRecovery;
use crate::spurious::Spurious;
use crate::{DEFAULT_MSS, Death, Event, Frto, MAX_SHIFT, MIN_MSS, State, Transmit, Undo};

impl Endpoint {
    /// No such connection: an answer that makes the peer forget it (RFC 9293 §3.10.7.1).
    pub(super) fn refuse(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.remote_port = segment.src_port;
        self.reset_due = Some(if segment.flags.contains(Flags::ACK) {
            (segment.ack, None)
        } else {
            (SeqNum(0), Some(segment.seq + segment.seq_len()))
        });
    }

    pub(super) fn on_segment_listening(&mut self, now: Instant, segment: &Segment) {
        // RFC 9293 §3.10.7.2: RST is ignored, an ACK is refused, a SYN opens.
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.refuse(segment);
        } else if segment.flags.contains(Flags::SYN) {
            self.remote_port = segment.src_port;
            self.accept_syn(now, segment);
            self.state = State::SynReceived;
            self.take_early(now, segment);
        }
    }

    pub(super) fn on_segment_syn_sent(&mut self, now: Instant, segment: &Segment) {
        let has_ack = segment.flags.contains(Flags::ACK);
        // RFC 9293 §3.10.7.3, first: our SYN is the only thing there is to acknowledge.
        let acceptable = has_ack && self.acknowledges_syn(segment);
        if has_ack && !acceptable {
            self.refuse(segment);
            return;
        }
        // Second: a reset counts only if it acknowledges our SYN.
        if segment.flags.contains(Flags::RST) {
            if acceptable {
                self.end(Event::Died(Death::Reset));
            }
            return;
        }
        // Fourth: SYN.
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.accept_syn(now, segment);
        if acceptable {
            self.on_syn_acknowledged(now, segment);
            self.rx.ack_now = true;
        } else {
            // Simultaneous open (RFC 9293 §3.5): our SYN goes out again, now with an acknowledgement.
            self.state = State::SynReceived;
            self.tx.nxt = 0;
        }
    }

    /// Takes the peer's sequence number and options. What was written stays queued; payload on a SYN is not taken
    /// ([`Endpoint::open_fast`] apart), the peer sends it again (RFC 9293 §3.4 permits that).
    fn accept_syn(&mut self, now: Instant, segment: &Segment) {
        self.rx.synchronise(segment.seq);
        self.timestamps = self.config.timestamps && segment.timestamps.is_some();
        self.sack = self.config.sack && segment.sack_permitted;
        if self.ecn.is_some() {
            self.settle_ecn(segment);
        }
        self.scaling = self.config.window_scaling && segment.window_scale.is_some();
        if self.scaling {
            self.send_shift = segment.window_scale.unwrap_or(0).min(MAX_SHIFT);
        } else {
            self.rx.without_scaling();
        }
        if let Some(ts) = segment.timestamps {
            self.rx.ts_recent = ts.val;
            self.rx.ts_recent_at = now;
        }
        let mss = segment.mss.unwrap_or(DEFAULT_MSS).clamp(MIN_MSS, self.config.mss.max(MIN_MSS));
        // RFC 6691 §2: every data segment carries timestamps, and gives up 12 octets for them.
        let smss = u64::from(mss.saturating_sub(self.option_octets()).max(1));
        let smss = self.settle_path(now, mss).unwrap_or(smss);
        self.tx.established(&self.config, smss);
        self.choose_recovery();
        // The window of a SYN is not scaled (RFC 7323 §2.2).
        self.tx.wnd = u64::from(segment.window);
        self.tx.max_wnd = self.tx.wnd;
        self.tx.wl1 = segment.seq;
    }

    /// The handshake has settled what both sides speak.
    fn choose_recovery(&mut self) {
        let (config, sack) = (&self.config, self.sack);
        self.recovery = LossRecovery::new(config.recovery, sack);
        // The SACK-enhanced rule needs SACK; without it the basic one serves.
        let frto = if config.frto == Frto::Sack && !sack { Frto::Basic } else { config.frto };
        self.spurious = Spurious::new(config.eifel && self.timestamps, frto);
        if !self.recovery.counts_duplicates() {
            // [eln] goes by the scoreboard's holes, RACK by times.
            self.eln = None;
            if config.undo == Undo::Linux {
                // The kernel's rules judge instead.
                self.spurious = Spurious::new(false, Frto::Off);
            }
        }
    }

    /// Our SYN is acknowledged: the connection is established.
    pub(super) fn on_syn_acknowledged(&mut self, now: Instant, segment: &Segment) {
        let was_early = self.is_early();
        self.settle_early(segment);
        self.tx.wl2 = self.tx.una;
        self.end_counters_handshake(segment);
        // RFC 9293 §3.10.4: a FIN may have left before.
        let has_closed = self.tx.closing && self.tx.max == self.tx.stream_end();
        self.state = if has_closed { State::FinWait1 } else { State::Established };
        self.timers = Timers::default();
        if self.tx.retries == 0 || self.timestamps {
            // RFC 7323 §4.1: the echo tells which SYN it answers, so Karn's rule need not discard it.
            let sample = self.sample_rtt(now, segment, 1);
            if let Some(delay) = sample {
                self.tx.measured(now, delay);
            }
        }
        if self.tx.retries > 0 {
            self.tx.rtt.after_lost_syn(&self.config);
            // RFC 5681 §3.1: after a lost SYN or SYN-ACK the initial window is one segment.
            self.tx.request(Request::OneSegment);
            self.tx.timed = None;
        }
        self.tx.retries = 0;
        self.help_established(now);
        self.tx.validation.begin(now);
        self.heard(now);
        self.note_answer(now);
        self.startup_established(now, segment);
        if self.tx.una < self.tx.max {
            self.timers.set(Timer::Retransmit, self.expiry(now, self.rto()));
        }
        if !was_early {
            self.emit(Event::Connected);
        }
    }

    /// SYN or SYN-ACK.
    pub(super) fn build_syn(&mut self, now: Instant) -> Transmit {
        let answering = self.state == State::SynReceived;
        let mut segment = Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: self.tx.iss,
            flags: Flags::SYN,
            window: self.rx.offer_on_syn(),
            mss: Some(self.config.mss),
            ..Segment::EMPTY
        };
        // A SYN-ACK offers only what the SYN offered (RFC 7323 §1.3, RFC 2018 §2).
        let scaling = if answering { self.scaling } else { self.config.window_scaling };
        segment.window_scale = scaling.then_some(self.rx.shift);
        segment.sack_permitted = if answering { self.sack } else { self.config.sack };
        if if answering { self.timestamps } else { self.config.timestamps } {
            let ecr = if answering { self.rx.ts_recent } else { 0 };
            segment.timestamps = Some(Timestamps { val: self.tsval(now), ecr });
        }
        if answering {
            segment.flags = Flags::SYN | Flags::ACK;
            segment.ack = self.rx.rcv_nxt();
            self.acknowledged();
        }
        if self.ecn.is_some() {
            self.add_syn_counters(&mut segment);
            segment.flags = segment.flags | self.ecn_setup();
        }
        // RFC 6298 §3 (Karn): only the first one gives a sample.
        self.tx.timed = (self.tx.max == 0).then_some((1, now));
        segment.payload = self.early_payload();
        self.tx.max = self.tx.max.max(1 + segment.payload.len() as u64);
        self.tx.nxt = self.tx.max;
        self.timers.set(Timer::Retransmit, self.expiry(now, self.rto()));
        self.begin_waiting(now, || true);
        let mut transmit = Transmit::plain(segment);
        if self.startup.is_some() {
            self.startup_syn(now, &mut transmit);
        }
        transmit
    }
}
