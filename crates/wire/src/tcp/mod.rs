//! TCP (RFC 9293 §3.1) with the options this project speaks; the others are kept as they came.

mod accecn;
mod emit;
pub mod in_udp;
mod options;
mod parse;
mod rate_option;

use std::fmt;
use std::ops::BitOr;

use handfast_core::SeqNum;

use crate::Payload;

pub use accecn::{AccEcnOption, AccEcnOrder};
pub(crate) use emit::{CHECKSUM_AT, check, emit, emit_header, emit_options};
pub use options::mptcp;
pub(crate) use options::{MAX_LEN as MAX_OPTIONS_LEN, parse as parse_options};
pub(crate) use parse::{flags_of, header_len_of, parse};
pub use rate_option::{Estimate, Probe, RateOption, TrainKind};

/// Bytes of a TCP header without options.
pub const HEADER_LEN: usize = 20;

/// The control bits (RFC 9293 §3.1) and, from bit 8 up to bit 11, the reserved bits beside the data offset: twelve in all.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgement field is significant.
    pub const ACK: Self = Self(0x010);
    /// The urgent field is significant.
    pub const URG: Self = Self(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN (RFC 9768), formerly the nonce sum.
    pub const AE: Self = Self(0x100);
    /// The ELN flag of [eln] §3.1: this acknowledgement tells of a loss or of a handoff. The paper names no position; of the
    /// reserved bits (RFC 9293 §3.1) it is the middle one.
    pub const ELN: Self = Self(0x400);
    /// The ELN bit of [eln] §3.1, with [`Flags::ELN`]: the radio has lost what is asked for; without it a handoff is complete.
    pub const ELN_LOSS: Self = Self(0x200);
    /// No bit set.
    pub const NONE: Self = Self(0);

    /// All bits but those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    /// As `tcpdump` writes them: `S`, `S.`, `F.`, `R`, `P.`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [char; 8] = ['F', 'S', 'R', 'P', '.', 'U', 'E', 'W'];
        for (bit, name) in NAMES.iter().enumerate() {
            if self.0 & (1 << bit) != 0 {
                write!(f, "{name}")?;
            }
        }
        if self.0 >> 8 != 0 { write!(f, "+{:x}", self.0 >> 8) } else { Ok(()) }
    }
}

/// The timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// `TSval`: the sender's clock.
    pub val: u32,
    /// `TSecr`: the peer's clock, echoed.
    pub ecr: u32,
}

/// One SACK block (RFC 2018 §3): `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlock {
    /// Left edge.
    pub start: SeqNum,
    /// Right edge.
    pub end: SeqNum,
}

/// Up to four SACK blocks, most recent first: all that fit into 40 bytes of options.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    len: u8,
    blocks: [SackBlock; 4],
}

impl SackBlocks {
    /// No block: the option is absent.
    pub const NONE: Self = Self { len: 0, blocks: [SackBlock { start: SeqNum(0), end: SeqNum(0) }; 4] };

    /// Adds a block at the end; false where four stand there already.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = block;
        self.len += 1;
        true
    }

    /// Leaves out all blocks after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        while usize::from(self.len) > len {
            self.len -= 1;
            // What is left out counts as never there, for who compares.
            self.blocks[usize::from(self.len)] = SackBlock::default();
        }
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice().iter().map(|b| (b.start.0, b.end.0))).finish()
    }
}

/// Options that hardly any segment has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RareOptions {
    /// Accurate ECN feedback. NOPs follow it wherever the header is filled up, as in Linux.
    pub accecn: Option<AccEcnOption>,
    /// One about the rate to send at.
    pub rate: Option<RateOption>,
    /// Options without a field, kind and length included, in order, without padding. At most 40 bytes. Those of [`mptcp`] are here.
    pub unknown: Box<[u8]>,
    /// Whether NOPs fill the header behind them, and not zeros.
    pub filled: bool,
}

/// A TCP segment: header, options and payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// SEG.SEQ.
    pub seq: SeqNum,
    /// SEG.ACK as on the wire: it means something only where the ACK bit is set.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: Flags,
    /// SEG.WND as on the wire: not scaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Maximum segment size (SYN only), in bytes.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2, SYN only).
    pub window_scale: Option<u8>,
    /// SACK-permitted (RFC 2018 §2, SYN only).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3), a DSACK block first (RFC 2883).
    pub sack: SackBlocks,
    /// The others; [`None`] rather than empty.
    pub rare: Option<Box<RareOptions>>,
    /// What it carries.
    pub payload: Payload,
}

impl Segment {
    /// An empty segment: no flag, no option, no payload.
    pub const EMPTY: Self = Self {
        src_port: 0,
        dst_port: 0,
        seq: SeqNum(0),
        ack: SeqNum(0),
        flags: Flags::NONE,
        window: 0,
        urgent: 0,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks::NONE,
        rare: None,
        payload: Payload::EMPTY,
    };

    /// SEG.LEN (RFC 9293 §3.3.1): payload bytes, plus one each for SYN and FIN.
    pub fn seq_len(&self) -> u32 {
        self.payload.len() as u32
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }

    /// Whether it has no option that only some segments have, SACK apart.
    fn has_timestamps_at_most(&self) -> bool {
        self.rare.is_none() && self.mss.is_none() && self.window_scale.is_none() && !self.sack_permitted
    }

    /// Bytes of options as emitted, padded to a multiple of four. Above 40 only where `emit` refuses the segment: its
    /// options other than SACK do not fit.
    pub fn options_len(&self) -> usize {
        options::Layout::of(self, self.sack.as_slice().len()).len
    }

    /// What its receiver has got twice, if it says so. RFC 2883 §4: the first block lies below the cumulative acknowledgment, or
    /// within the second block.
    pub fn duplicate(&self) -> Option<SackBlock> {
        let (&first, rest) = self.sack.as_slice().split_first()?;
        let within = |run: &SackBlock| !first.start.before(run.start) && !first.end.after(run.end);
        (first.start.before(self.ack) || rest.first().is_some_and(within)).then_some(first)
    }

    /// How many SACK blocks fit beside this segment's other options, 0 to 4. Those of [`Segment::sack`] beyond that give
    /// way when the segment is emitted, the last first: an endpoint does not push them.
    pub fn sack_room(&self) -> usize {
        options::Layout::of(self, 4).sack_blocks
    }

    /// The option about the rate to send at.
    pub fn rate_option(&self) -> Option<&RateOption> {
        self.rare.as_ref()?.rate.as_ref()
    }

    /// Accurate ECN feedback.
    pub fn accecn(&self) -> Option<AccEcnOption> {
        let rare = self.rare.as_ref()?;
        rare.accecn.or_else(|| rare.odd_accecn())
    }

    /// Whether it has an option that this project does not speak.
    pub fn has_unknown_option(&self, kind: u8) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.kinds().any(|found| found == kind))
    }

    /// Whether it has an MD5 signature (RFC 2385 §2) or authentication (RFC 5925 §2.2): nobody but the hosts can make such a segment.
    pub fn is_signed(&self) -> bool {
        [19, 29].into_iter().any(|kind| self.has_unknown_option(kind))
    }

    /// Bytes of header: 20 and the options.
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options_len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_block_below_the_acknowledgment_or_within_the_second_is_a_duplicates() {
        for (blocks, duplicate) in [
            (&[][..], false),
            (&[(2000, 3000)], false),
            (&[(1000, 1500)], false),
            (&[(999, 1000)], true),
            (&[(0, 500), (2000, 3000)], true),
            (&[(2000, 3000), (2000, 4000)], true),
            (&[(2500, 3000), (2000, 3000)], true),
            (&[(2000, 3000), (2000, 3000)], true),
            (&[(2000, 3000), (2001, 4000)], false),
            (&[(2000, 4000), (2000, 3999)], false),
            (&[(5000, 6000), (2000, 3000)], false),
        ] {
            let mut sack = SackBlocks::NONE;
            for &(start, end) in blocks {
                sack.push(SackBlock { start: SeqNum(start), end: SeqNum(end) });
            }
            let segment = Segment { ack: SeqNum(1000), sack, ..Segment::EMPTY };
            assert_eq!(segment.duplicate().is_some(), duplicate, "{blocks:?}");
        }
    }
}
