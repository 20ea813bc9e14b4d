//! TCP options (RFC 9293 §3.2): those this project speaks become fields, the others are kept as they came.

pub mod mptcp;

use bytes::BufMut;
use handfast_core::SeqNum;

use super::{AccEcnOption, RareOptions, RateOption, SackBlock, SackBlocks, Segment, Timestamps};
use crate::error::{EmitError, ParseError};

/// Bytes of options that the data offset leaves room for.
pub(crate) const MAX_LEN: usize = 40;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// With the two NOPs of RFC 7323 appendix A.
const TIMESTAMPS_LEN: usize = 12;

/// How a segment's options lie in its header.
///
/// RFC 7323 appendix A and RFC 2018 §3 recommend NOPs before timestamps and SACK, so that their words lie on four-byte
/// boundaries. Where that takes more than 40 bytes the options are packed without NOPs, as whatever a peer packed into
/// 40 bytes fits that way. Where even that is too much, SACK blocks give way, the last first: the first ones are the most
/// recent (RFC 2018 §4), and no other option can be sent in part.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    aligned: bool,
    /// SACK blocks that are sent.
    pub(crate) sack_blocks: usize,
    /// Bytes, padding included: a multiple of four. Above [`MAX_LEN`] only where it does not fit without SACK.
    pub(crate) len: usize,
    is_padded: bool,
}

/// The options that a segment has, SACK apart.
///
/// By value: with a reference passed to a call, the compiler would load each plain segment's fields again.
#[derive(Clone, Copy)]
struct Present<'a> {
    mss: bool,
    window_scale: bool,
    sack_permitted: bool,
    timestamps: bool,
    rare: Option<&'a RareOptions>,
}

impl Present<'_> {
    /// Out of line: most segments have timestamps at most.
    #[inline(never)]
    fn layout(self, sack_blocks: usize) -> Layout {
        let mut layout = self.placed(true, sack_blocks);
        while layout.len > MAX_LEN {
            // Packed with all blocks comes before aligned with one block less.
            layout = match (layout.aligned, layout.sack_blocks) {
                (true, blocks) => self.placed(false, blocks),
                (false, 0) => break,
                (false, blocks) => self.placed(true, blocks - 1),
            };
        }
        layout
    }

    fn placed(self, aligned: bool, sack_blocks: usize) -> Layout {
        let mut len = if self.mss { 4 } else { 0 };
        // The NOPs before an option that begins its word's byte `place`.
        let nops = |len: usize, place: usize| if aligned { (place + 4 - len % 4) % 4 } else { 0 };
        // SACK-permitted takes the place of the two NOPs before timestamps.
        let permits_first = self.sack_permitted && self.timestamps;
        if self.timestamps {
            len += if permits_first { 2 } else { nops(len, 2) } + 10;
        }
        len += self.rare.and_then(|rare| rare.accecn).map_or(0, |option| option.len());
        if self.sack_permitted && !permits_first {
            len += nops(len, 2) + 2;
        }
        if self.window_scale {
            len += nops(len, 1) + 3;
        }
        if sack_blocks > 0 {
            len += nops(len, 2) + 2 + 8 * sack_blocks;
        }
        len += self.rare.map_or(0, RareOptions::len);
        Layout { aligned, sack_blocks, len: len.next_multiple_of(4), is_padded: !len.is_multiple_of(4) }
    }
}

impl Layout {
    /// The layout of `segment`'s options with up to `sack_blocks` blocks.
    #[inline]
    pub(crate) fn of(segment: &Segment, sack_blocks: usize) -> Self {
        if sack_blocks == 0 && segment.has_timestamps_at_most() {
            let len = if segment.timestamps.is_some() { TIMESTAMPS_LEN } else { 0 };
            return Self { aligned: true, sack_blocks, len, is_padded: false };
        }
        let Segment { mss, window_scale, sack_permitted, timestamps, ref rare, .. } = *segment;
        Present {
            mss: mss.is_some(),
            window_scale: window_scale.is_some(),
            sack_permitted,
            timestamps: timestamps.is_some(),
            rare: rare.as_deref(),
        }
        .layout(sack_blocks)
    }

    /// Writes the options in the order in which Linux writes them, then the other rare ones, then padding.
    pub(crate) fn emit(self, segment: &Segment, out: &mut [u8]) {
        let mut at = &mut out[..self.len];
        if let Some(mss) = segment.mss {
            at.put_slice(&[MSS, 4]);
            at.put_u16(mss);
        }
        self.emit_timestamps(segment, &mut at);
        let accecn = segment.rare.as_ref().and_then(|rare| rare.accecn);
        if let Some(option) = accecn {
            option.emit(&mut at);
        }
        if segment.sack_permitted && segment.timestamps.is_none() {
            self.nops(2, &mut at);
            at.put_slice(&[SACK_PERMITTED, 2]);
        }
        if let Some(shift) = segment.window_scale {
            self.nops(1, &mut at);
            at.put_slice(&[WINDOW_SCALE, 3, shift]);
        }
        self.emit_sack(segment.sack.as_slice(), &mut at);
        if let Some(rare) = &segment.rare {
            rare.emit(&mut at);
        }
        // RFC 9293 §3.1: the padding is composed of zeros. Linux fills up with NOPs behind the options of MPTCP and of accurate ECN.
        let filled = accecn.is_some() || segment.rare.as_ref().is_some_and(|rare| rare.filled);
        at.fill(if filled { NOP } else { END });
    }

    fn emit_timestamps(self, segment: &Segment, at: &mut impl BufMut) {
        let Some(timestamps) = segment.timestamps else { return };
        if segment.sack_permitted {
            at.put_slice(&[SACK_PERMITTED, 2]);
        } else {
            self.nops(2, at);
        }
        at.put_slice(&[TIMESTAMPS, 10]);
        at.put_u32(timestamps.val);
        at.put_u32(timestamps.ecr);
    }

    fn emit_sack(self, blocks: &[SackBlock], at: &mut impl BufMut) {
        if self.sack_blocks == 0 {
            return;
        }
        self.nops(2, at);
        at.put_slice(&[SACK, 2 + 8 * self.sack_blocks as u8]);
        for block in &blocks[..self.sack_blocks] {
            at.put_u32(block.start.0);
            at.put_u32(block.end.0);
        }
    }

    /// So many NOPs that the next option begins at byte `place` of a word.
    fn nops(self, place: usize, at: &mut impl BufMut) {
        if self.aligned {
            // What is left ends with a whole word.
            at.put_bytes(NOP, (place + at.remaining_mut()) % 4);
        }
    }
}

/// Reads a header's options into `segment`. Of an option that comes twice the last counts, as in Linux.
pub(crate) fn parse(segment: &mut Segment, mut options: &[u8]) -> Result<(), ParseError> {
    if let &[NOP, NOP, TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3] = options {
        // What nearly all segments have.
        let [val, ecr] = [[v0, v1, v2, v3], [e0, e1, e2, e3]].map(u32::from_be_bytes);
        segment.timestamps = Some(Timestamps { val, ecr });
        return Ok(());
    }
    let (mut accecn, mut rate, mut unknown) = (None, None, Vec::new());
    let mut is_filled = false;
    while let Some((&kind, rest)) = options.split_first() {
        match kind {
            END => break,
            NOP => {
                is_filled |= options.iter().all(|&byte| byte == NOP);
                options = rest;
            }
            _ => {
                let (option, after) = split_option(kind, options)?;
                if let Some(option) = AccEcnOption::parse(option) {
                    accecn = Some(option);
                } else if let Some(option) = RateOption::parse(option) {
                    rate = Some(option);
                } else if !parse_known(segment, option) {
                    unknown.extend_from_slice(option);
                }
                options = after;
            }
        }
    }
    let rare = RareOptions { accecn, rate, unknown: unknown.into_boxed_slice(), filled: false };
    segment.rare = (!rare.is_empty()).then(|| Box::new(rare));
    if is_filled {
        let is_padded = Layout::of(segment, segment.sack.as_slice().len()).is_padded;
        if let Some(rare) = &mut segment.rare {
            rare.filled = is_padded && rare.accecn.is_none();
        }
    }
    Ok(())
}

/// RFC 9293 §3.1 MUST-7: be prepared for an illegal option length.
fn split_option(kind: u8, options: &[u8]) -> Result<(&[u8], &[u8]), ParseError> {
    let stated = options.get(1).copied().unwrap_or(0);
    match options.split_at_checked(usize::from(stated)) {
        Some(split) if stated >= 2 => Ok(split),
        // The options of a header have at most 40 bytes.
        _ => Err(ParseError::TcpOption { kind, stated, room: options.len() as u8 }),
    }
}

/// Sets the field that `option` is about; false where there is none, or its length is not that option's: such an option
/// is kept among the unknown.
fn parse_known(segment: &mut Segment, option: &[u8]) -> bool {
    match *option {
        [MSS, _, m0, m1] => segment.mss = Some(u16::from_be_bytes([m0, m1])),
        [WINDOW_SCALE, _, shift] => segment.window_scale = Some(shift),
        [SACK_PERMITTED, _] => segment.sack_permitted = true,
        [TIMESTAMPS, _, v0, v1, v2, v3, e0, e1, e2, e3] => {
            let (val, ecr) = (u32::from_be_bytes([v0, v1, v2, v3]), u32::from_be_bytes([e0, e1, e2, e3]));
            segment.timestamps = Some(Timestamps { val, ecr });
        }
        [SACK, _, ref blocks @ ..] => match parse_sack(blocks) {
            Some(sack) => segment.sack = sack,
            None => return false,
        },
        _ => return false,
    }
    true
}

/// One to four blocks; [`None`] where the bytes are not that.
fn parse_sack(bytes: &[u8]) -> Option<SackBlocks> {
    let (blocks, []) = bytes.as_chunks::<8>() else { return None };
    let mut sack = SackBlocks::NONE;
    for &[s0, s1, s2, s3, e0, e1, e2, e3] in blocks {
        let start = SeqNum(u32::from_be_bytes([s0, s1, s2, s3]));
        let end = SeqNum(u32::from_be_bytes([e0, e1, e2, e3]));
        if !sack.push(SackBlock { start, end }) {
            return None;
        }
    }
    (!sack.is_empty()).then_some(sack)
}

impl RareOptions {
    fn is_empty(&self) -> bool {
        self.accecn.is_none() && self.rate.is_none() && self.unknown.is_empty()
    }

    /// One of accurate ECN whose length is none of its four.
    #[cold]
    pub(super) fn odd_accecn(&self) -> Option<AccEcnOption> {
        let mut rest = &*self.unknown;
        while let Some(&kind) = rest.first() {
            let (option, after) = split_option(kind, rest).ok()?;
            if let Some(found) = AccEcnOption::read(option) {
                return Some(found);
            }
            rest = after;
        }
        None
    }

    /// The kinds of those that this project does not speak.
    pub(super) fn kinds(&self) -> impl Iterator<Item = u8> + '_ {
        let mut rest = &*self.unknown;
        std::iter::from_fn(move || {
            let &kind = rest.first()?;
            rest = split_option(kind, rest).map_or(&[], |(_, after)| after);
            Some(kind)
        })
    }

    /// Bytes of those that are written last.
    fn len(&self) -> usize {
        self.unknown.len() + self.rate.as_ref().map_or(0, RateOption::len)
    }

    fn emit(&self, at: &mut impl BufMut) {
        if let Some(option) = &self.rate {
            option.emit(at);
        }
        at.put_slice(&self.unknown);
    }

    /// Whether there is something, and a parse of the unknown options gives exactly these and nothing else.
    pub(super) fn check(&self) -> Result<(), EmitError> {
        let mut scratch = Segment::EMPTY;
        let parsed = parse(&mut scratch, &self.unknown).is_ok();
        let back = scratch.rare.map_or_else(Self::default, |rare| *rare);
        let same = parsed && back.accecn.is_none() && back.rate.is_none() && back.unknown == self.unknown;
        if same && !self.is_empty() { Ok(()) } else { Err(EmitError::UnknownOptions) }
    }
}
