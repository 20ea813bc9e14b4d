//! Where accurate ECN feedback meets the connection ([`crate::help::accecn`] has the rules).

use std::sync::Arc;

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::tcp::{Flags, SackBlocks, Segment};

use super::Endpoint;
use crate::help::accecn::{self, AccEcn, AckWord, Room, fit};
use crate::phase::Phase;
use crate::recovery::AckFacts;
use crate::{EcnMode, EcnOption, EcnReport, State, Transmit};

/// Octets of timestamps, with the NOPs before them.
const TIMESTAMPS: usize = 12;

impl Endpoint {
    /// Both ends have agreed on it.
    #[inline]
    pub(super) fn counts_marks(&self) -> bool {
        self.marks && self.has_counters()
    }

    // Out of line: few connections have any.
    #[cold]
    fn has_counters(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.counting().is_some())
    }

    fn counting_mut(&mut self) -> Option<&mut AccEcn> {
        self.ecn.as_mut()?.counting_mut()
    }

    /// This end's SYN asks for it.
    pub(super) fn asks_for_counters(&self) -> bool {
        self.config.accurate_ecn && self.state == State::SynSent
    }

    /// The flags of a SYN or SYN-ACK.
    #[cold]
    pub(super) fn accecn_setup(&mut self) -> Flags {
        let (timeouts, answers) = (self.tx.retries, self.state == State::SynReceived);
        let falls_back = self.config.ecn_fallback;
        match self.counting_mut().filter(|_| answers) {
            Some(counting) => counting.on_syn_ack(timeouts),
            // RFC 9768 §3.1.4.1: the first retransmission asks again, those that follow do without ECN.
            None if timeouts > 1 && falls_back => {
                // A late answer that is classic agrees to nothing any more; one that is accurate does, as in Linux.
                if let Some(ecn) = &mut self.ecn {
                    ecn.decline();
                }
                Flags::NONE
            }
            None => accecn::SYN,
        }
    }

    /// The option of the first SYN-ACK (RFC 9768 §3.2.3.3).
    #[cold]
    pub(super) fn add_syn_counters(&self, segment: &mut Segment) {
        let is_sent = self.state == State::SynReceived && self.config.accurate_ecn_option.is_sent();
        let counting = self.ecn.as_ref().and_then(|ecn| ecn.counting()).filter(|_| is_sent);
        if let Some(option) = counting.and_then(AccEcn::syn_ack_option) {
            segment.rare.get_or_insert_default().accecn = Some(option);
        }
    }

    /// The peer's SYN or SYN-ACK: whether feedback will be of this kind.
    #[cold]
    pub(super) fn settle_accecn(&mut self, segment: &Segment) -> bool {
        let flags = segment.flags;
        let scalable = self.config.congestion_control.is_scalable();
        let validates = self.config.ecn_fallback;
        let (asks, linux) = (self.config.accurate_ecn, self.config.linux_details);
        let Some(ecn) = self.ecn.as_mut() else { return false };
        let mark = ecn.arrived();
        if !flags.contains(Flags::ACK) && asks && accecn::is_asked(flags) {
            ecn.count(AccEcn::granted(mark, validates), scalable);
        } else if flags.contains(Flags::ACK) && (asks || linux) && accecn::agrees(flags, asks) {
            // Linux takes it even where its SYN asked for classic ECN.
            ecn.count(AccEcn::asked(mark, segment, validates), scalable);
        } else {
            return false;
        }
        true
    }

    /// The handshake is over: who was asked reads what the last segment of it says.
    #[cold]
    pub(super) fn end_counters_handshake(&mut self, segment: &Segment) {
        let was_asked = !segment.flags.contains(Flags::SYN);
        if let Some(counting) = self.counting_mut().filter(|_| was_asked) {
            counting.on_third(segment);
        }
    }

    /// A segment has come that is acceptable; Linux counts on open connections.
    #[cold]
    pub(super) fn count_packet(&mut self, segment: &Segment) {
        if self.state != State::Established {
            return;
        }
        let Some(ecn) = &mut self.ecn else { return };
        let mark = ecn.arrived();
        if let Some(counting) = ecn.counting_mut() {
            counting.on_packet(mark, segment.payload.len() as u64);
        }
    }

    /// A SYN on a synchronised connection: the answer tells of its mark, as that to a SYN-ACK does (RFC 9768 §3.2.2.1).
    #[cold]
    pub(super) fn reflect_late_syn(&mut self, segment: &Segment) {
        let answers = self.rx.ack_now;
        let Some(ecn) = &mut self.ecn else { return };
        let mark = ecn.arrived();
        if let Some(counting) = ecn.counting_mut().filter(|_| answers) {
            counting.on_late_syn(mark, segment);
        }
    }

    /// Payload has come again, from this octet on.
    pub(super) fn note_repetition(&mut self, start: u64) {
        if let Some(counting) = self.counting_mut() {
            counting.on_old_payload(start);
        }
    }

    /// An acknowledgement has come, whose timestamp has not been noted.
    #[cold]
    pub(super) fn note_stamp_progress(&mut self, segment: &Segment) {
        let (recent, acked) = (SeqNum(self.rx.ts_recent), self.rx.last_ack_sent);
        let stamps = segment.timestamps.filter(|_| self.timestamps && !segment.seq.after(acked));
        let advances = stamps.is_some_and(|stamps| SeqNum(stamps.val).after(recent));
        if let Some(counting) = self.counting_mut() {
            counting.note_progress(advances);
        }
    }

    /// An acknowledgement: whether the congestion control that does not count marks has to react.
    #[cold]
    pub(super) fn reads_counters(&mut self, segment: &Segment, facts: &AckFacts) -> bool {
        // The feedback of an acknowledgement that others have overtaken is older than what they told (RFC 9768 §3.2.2.5).
        if segment.ack != self.tx.seq(self.tx.una) {
            return false;
        }
        let smss = self.tx.window.smss;
        let octets = facts.octets + facts.sacks.fresh;
        let word = AckWord {
            packets: self.delivered_packets(facts),
            octets,
            smss,
            is_sure: self.sack || self.tx.progress.phase == Phase::Open,
            sent: self.tx.max,
        };
        let Some(ecn) = &mut self.ecn else { return false };
        let marked = ecn.counting_mut().map_or(0, |counting| counting.newly_marked(segment, &word));
        ecn.heed(marked) && (octets > 0 || self.tx.una < self.tx.max)
    }

    /// Packets that an acknowledgement has delivered, those that were SACKed before not again.
    fn delivered_packets(&mut self, facts: &AckFacts) -> u64 {
        let smss = self.tx.window.smss;
        let Some(ecn) = &mut self.ecn else { return 0 };
        if facts.octets > 0 && facts.sacks.fresh == 0 && !ecn.has_sacked() {
            return self.tx.in_full_segments(facts.octets).div_ceil(smss);
        }
        ecn.packets(facts.octets, facts.sacks.fresh, smss)
    }

    /// How the counters fit beside so many SACK blocks into the next segment; [`None`]: it has none.
    pub(super) fn counters_room(&self, now: Instant, blocks: usize) -> Option<Room> {
        if !self.counts_marks() {
            return None;
        }
        let counting = self.ecn.as_ref()?.counting()?;
        if !counting.wants_option(self.config.accurate_ecn_option, now, self.beacon()) {
            return None;
        }
        fit(if self.timestamps { TIMESTAMPS } else { 0 }, blocks, counting.least_fields())
    }

    /// The time after which the option is due in any case; [`None`]: never. RFC 9768 §3.2.3.3: "at least three times per RTT".
    fn beacon(&self) -> Option<Duration> {
        let times = u64::from(self.config.accurate_ecn_beacon);
        let interval = self.tx.rtt.srtt() / times.max(1);
        (times > 0).then_some(interval)
    }

    /// Adds the option to a segment that leaves, and takes the SACK blocks out that give way. `repeated`: the octet where what it
    /// reports as repeated begins.
    #[cold]
    pub(super) fn add_counters(&mut self, now: Instant, segment: &mut Segment, repeated: Option<u64>) {
        let room = self.counters_room(now, segment.sack.as_slice().len());
        let Some(counting) = self.counting_mut() else { return };
        let Some(room) = room else { return counting.leave_option_out() };
        let option = counting.take_option(now, room.fields, repeated);
        let mut sack: SackBlocks = segment.sack;
        sack.truncate(room.blocks);
        segment.sack = sack;
        segment.rare.get_or_insert_default().accecn = Some(option);
    }

    /// A reset of this end's own: it counts too, as in Linux.
    #[cold]
    pub(super) fn count_in_reset(&mut self, now: Instant, reset: &mut Transmit) {
        let (more, mark) = match &mut self.ecn {
            Some(ecn) if ecn.counting().is_some() => ecn.on_build(&mut self.tx.answers),
            _ => return,
        };
        reset.segment.flags = reset.segment.flags | more;
        reset.ip.ecn = mark;
        self.add_counters(now, &mut reset.segment, None);
    }

    /// What follows tells of no counters: Linux forgets them where all that is left is to wait for the peer's FIN, or for 2 MSL.
    pub fn forget_counters(&mut self) {
        if let Some(counting) = self.counting_mut() {
            counting.fall_silent();
        }
    }

    /// From now on the option of accurate ECN is sent like that.
    pub fn set_accurate_ecn_option(&mut self, option: EcnOption, beacon: u8) {
        let differs = (self.config.accurate_ecn_option, self.config.accurate_ecn_beacon) != (option, beacon);
        if differs {
            let config = Arc::make_mut(&mut self.config);
            (config.accurate_ecn_option, config.accurate_ecn_beacon) = (option, beacon);
        }
    }

    /// How the ends tell each other of marks.
    pub fn ecn_mode(&self) -> EcnMode {
        match &self.ecn {
            None => EcnMode::Disabled,
            Some(_) if self.asks_for_counters() => EcnMode::Pending,
            Some(ecn) if ecn.echoes_by_flag() => EcnMode::Classic,
            Some(_) => EcnMode::Accurate,
        }
    }

    /// What was counted of marks. Without counters at the peer: packets that acknowledgements with an echo have delivered.
    pub fn ecn_report(&self) -> Option<EcnReport> {
        let ecn = self.ecn.as_ref()?;
        let (echoed, saw_capable) = ecn.facts();
        let classic = EcnReport { delivered_packets: echoed, saw_capable, ..EcnReport::default() };
        let counted = |counting: &AccEcn| EcnReport { saw_capable, ..counting.report() };
        Some(ecn.counting().map_or(classic, counted))
    }
}
