//! The segment that carries what was chosen, or an acknowledgement.

use handfast_core::{Instant, SeqNum};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{IpFacts, Payload};

use super::Endpoint;
use crate::Transmit;

impl Endpoint {
    /// Whether a segment that leaves now may have options beside timestamps.
    #[inline]
    pub(super) fn adds_options(&self) -> bool {
        self.startup.is_some() || self.has_sack_blocks() || self.counts_marks()
    }

    #[inline]
    pub(super) fn build(&mut self, now: Instant, position: u64, payload: Payload, flags: Flags) -> Transmit {
        if self.adds_options() {
            return self.build_with_options(now, position, payload, flags);
        }
        self.build_plain(now, position, payload, flags)
    }

    #[cold]
    fn build_with_options(
        &mut self,
        now: Instant,
        position: u64,
        payload: Payload,
        flags: Flags,
    ) -> Transmit {
        let sack = self.sack_blocks();
        let repeated = self.rx.dsack.map(|(start, _)| start);
        let mut transmit = self.build_plain(now, position, payload, flags);
        transmit.segment.sack = sack;
        if self.counts_marks() {
            self.add_counters(now, &mut transmit.segment, repeated);
        }
        if self.startup.is_some() {
            self.startup_built(&mut transmit);
        }
        transmit
    }

    /// Without SACK blocks, and without what start-up adds.
    fn build_plain(&mut self, now: Instant, position: u64, payload: Payload, mut flags: Flags) -> Transmit {
        let window = self.rx.offer(u64::from(self.config.mss));
        let mut ip = IpFacts::PLAIN;
        if self.marks {
            (flags, ip) = self.marked(flags, payload.is_empty());
        }
        self.acknowledged();
        // Made where it is returned: a copy of it would cost every segment.
        Transmit {
            ip,
            segment: Segment {
                src_port: self.local_port,
                dst_port: self.remote_port,
                seq: self.tx.seq(position),
                ack: self.rx.rcv_nxt(),
                flags,
                window,
                timestamps: self
                    .timestamps
                    .then(|| Timestamps { val: self.tsval(now), ecr: self.rx.ts_recent }),
                payload,
                ..Segment::EMPTY
            },
        }
    }

    /// What notification of losses and of congestion adds to these flags, and to the packet.
    #[cold]
    fn marked(&mut self, mut flags: Flags, is_bare: bool) -> (Flags, IpFacts) {
        let mut ip = IpFacts::PLAIN;
        if self.config.eln {
            flags = flags | self.notices();
        }
        if let Some(ecn) = &mut self.ecn {
            if let Some(counting) = ecn.counting_mut().filter(|_| !is_bare) {
                counting.carries_payload();
            }
            let (more, mark) = ecn.on_build(&mut self.tx.answers);
            (flags, ip.ecn) = (flags | more, mark);
        }
        (flags, ip)
    }

    /// [eln] §3.4: what a mobile adds to an acknowledgement.
    fn notices(&mut self) -> Flags {
        if std::mem::take(&mut self.rx.handed_over) {
            // "Else if MH completes handover": the mobile's word comes first, the losses that it brought follow from it.
            Flags::ELN
        } else if self.rx.buffer.has_holes() {
            Flags::ELN | Flags::ELN_LOSS
        } else {
            Flags::NONE
        }
    }

    pub(super) fn build_reset(&mut self, seq: SeqNum, ack: Option<SeqNum>) -> Transmit {
        self.counters.segments_sent += 1;
        Transmit::plain(Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq,
            ack: ack.unwrap_or_default(),
            flags: if ack.is_some() { Flags::RST | Flags::ACK } else { Flags::RST },
            ..Segment::EMPTY
        })
    }
}
