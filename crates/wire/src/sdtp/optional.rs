//! The optional field, 20 bytes: "The optional field contains different information for different types" (`[sdtp]` §III-B).

use bytes::{BufMut, Bytes};
use handfast_core::SeqNum;

use super::flag::Flag;
use super::{
    Congestion, Expected, Information, Notification, OPTIONAL_LEN, Outcome, Parity, Repeat, Request,
};
use crate::error::sdtp::Fault;
use crate::error::{Header, ParseError};

/// The bytes of an optional field.
pub(super) type Field = [u8; OPTIONAL_LEN];

/// The optional field that `bytes` begin with, and what follows it.
pub(super) fn split(bytes: &[u8]) -> Result<(&Field, &[u8]), ParseError> {
    bytes.split_first_chunk().ok_or(ParseError::Truncated {
        header: Header::SdtpOptional,
        needed: OPTIONAL_LEN,
        have: bytes.len(),
    })
}

/// What most of them say: which packets, a number, a time, and four bytes more.
struct Words {
    start: u32,
    /// `EndSeq`.
    second: u32,
    third: [u16; 2],
    fourth: u32,
    fifth: u32,
}

impl Words {
    fn parse(field: &Field) -> Self {
        let &[a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, e0, e1, e2, e3] = field;
        Self {
            start: u32::from_be_bytes([a0, a1, a2, a3]),
            second: u32::from_be_bytes([b0, b1, b2, b3]),
            third: [u16::from_be_bytes([c0, c1]), u16::from_be_bytes([c2, c3])],
            fourth: u32::from_be_bytes([d0, d1, d2, d3]),
            fifth: u32::from_be_bytes([e0, e1, e2, e3]),
        }
    }

    fn emit(&self, out: &mut impl BufMut) {
        out.put_u32(self.start);
        out.put_u32(self.second);
        for half in self.third {
            out.put_u16(half);
        }
        out.put_u32(self.fourth);
        out.put_u32(self.fifth);
    }

    fn of(expected: Expected, number: u16, timestamp: u32) -> Self {
        let second = expected.end.map_or(0, |end| end.0);
        let third = [expected.start_num, number];
        Self { start: expected.start.0, second, third, fourth: timestamp, fifth: 0 }
    }

    /// Which packets it names. An end that is not known is zero.
    fn expected(&self, flag: Flag) -> Result<Expected, Fault> {
        let end = flag.end_known.then_some(SeqNum(self.second));
        zeros(end.is_some() || self.second == 0)?;
        Ok(Expected { start: SeqNum(self.start), end, start_num: self.third[0] })
    }
}

fn zeros(are_there: bool) -> Result<(), Fault> {
    if are_there { Ok(()) } else { Err(Fault::Zeros) }
}

/// `sum`: what follows the field.
pub(super) fn parse_parity(field: &Field, flag: Flag, sum: Bytes) -> Result<Parity, Fault> {
    let Words { start, second: end, third: [count, lengths], fourth: timestamp, fifth: check } =
        Words::parse(field);
    let (start, end) = (SeqNum(start), SeqNum(end));
    let Flag { trigger, v6, .. } = flag;
    let parity = Parity { trigger, timestamp, start, end, count, lengths, check, v6, sum };
    if parity.has_packets() { Ok(parity) } else { Err(Fault::Parity) }
}

pub(super) fn emit_parity(parity: &Parity, out: &mut impl BufMut) {
    let &Parity { start, end, count, lengths, check, timestamp, .. } = parity;
    let words =
        Words { start: start.0, second: end.0, third: [count, lengths], fourth: timestamp, fifth: check };
    words.emit(out);
}

/// What the field of RD says before the data that follows.
pub(super) struct Answered {
    pub(super) start: SeqNum,
    pub(super) start_num: u16,
    pub(super) timestamp: u32,
}

pub(super) fn parse_request(field: &Field, flag: Flag) -> Result<Request, Fault> {
    let words = Words::parse(field);
    zeros(words.third[1] == 0 && words.fifth == 0)?;
    Ok(Request { trigger: flag.trigger, expected: words.expected(flag)?, timestamp: words.fourth })
}

pub(super) fn emit_request(request: &Request, out: &mut impl BufMut) {
    Words::of(request.expected, 0, request.timestamp).emit(out);
}

pub(super) fn parse_information(field: &Field, flag: Flag) -> Result<Information, Fault> {
    let words = Words::parse(field);
    let add_l = words.third[1];
    zeros(words.fourth == 0 && words.fifth == 0 && (!flag.never || add_l == 0))?;
    let outcome = if flag.never { Outcome::Never } else { Outcome::Later { add_l } };
    Ok(Information { trigger: flag.trigger, expected: words.expected(flag)?, outcome })
}

pub(super) fn emit_information(told: &Information, out: &mut impl BufMut) {
    let add_l = match told.outcome {
        Outcome::Later { add_l } => add_l,
        Outcome::Never => 0,
    };
    Words::of(told.expected, add_l, 0).emit(out);
}

pub(super) fn parse_notification(field: &Field) -> Result<Notification, Fault> {
    let words = Words::parse(field);
    zeros(words.second == 0 && words.third == [0; 2] && words.fourth == 0 && words.fifth == 0)?;
    Ok(Notification { until: SeqNum(words.start) })
}

pub(super) fn emit_notification(told: Notification, out: &mut impl BufMut) {
    out.put_u32(told.until.0);
    out.put_bytes(0, OPTIONAL_LEN - 4);
}

pub(super) fn parse_congestion(field: &Field) -> Result<Congestion, Fault> {
    let words = Words::parse(field);
    zeros(words.third == [0; 2] && words.fourth == 0 && words.fifth == 0)?;
    Ok(Congestion { until: SeqNum(words.start), held: words.second })
}

pub(super) fn emit_congestion(met: Congestion, out: &mut impl BufMut) {
    out.put_u32(met.until.0);
    out.put_u32(met.held);
    out.put_bytes(0, OPTIONAL_LEN - 8);
}

pub(super) fn parse_repeat(field: &Field) -> Result<Answered, Fault> {
    let &[a0, a1, a2, a3, n0, n1, z0, z1, t0, t1, t2, t3, ref rest @ ..] = field;
    zeros([z0, z1] == [0; 2] && *rest == [0; 8])?;
    Ok(Answered {
        start: SeqNum(u32::from_be_bytes([a0, a1, a2, a3])),
        start_num: u16::from_be_bytes([n0, n1]),
        timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
    })
}

pub(super) fn emit_repeat(repeat: &Repeat, out: &mut impl BufMut) {
    out.put_u32(repeat.start.0);
    out.put_u16(repeat.start_num);
    out.put_u16(0);
    out.put_u32(repeat.timestamp);
    out.put_bytes(0, 8);
}
