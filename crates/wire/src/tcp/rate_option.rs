//! Options with which a connection finds the rate to send at: the Quick-Start response (RFC 4782 §4.2), and those of capacity
//! estimation, which share an experimental kind (RFC 6994).

use bytes::BufMut;
use handfast_core::{BitRate, Duration};

use crate::quick_start::QuickStartResponse;

pub(super) const QUICK_START: u8 = 27;
/// RFC 4727 §4.1.
pub(super) const EXPERIMENT: u8 = 253;
/// The experiment's identifier (RFC 6994 §3.1): "hf". Not registered.
const ESTIMATION: [u8; 2] = *b"hf";
const PROBE_LEN: u8 = 14;
const ESTIMATE_LEN: u8 = 10;

/// One of them. A segment has one at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateOption {
    /// What became of a Quick-Start request.
    QuickStart(QuickStartResponse),
    /// The segment is one of those by which the path is measured.
    Probe(Probe),
    /// What the receiver has made of them.
    Estimate(Estimate),
}

/// How a train of segments leaves, and what it measures by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainKind {
    /// Back to back: the capacity of the bottleneck, by packet pairs.
    Pair,
    /// At a rate that rises: what of it is available.
    Chirp,
}

/// A place in a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What the train measures.
    pub kind: TrainKind,
    /// Which train of its connection, modulo 256.
    pub train: u8,
    /// Which segment of it, from 0.
    pub index: u16,
    /// Segments of the train.
    pub count: u16,
    /// Nanoseconds from the departure of the first to that of this one.
    pub offset_ns: u32,
}

impl Probe {
    /// From the departure of the train's first segment to that of this one.
    pub const fn offset(&self) -> Duration {
        Duration::from_nanos(self.offset_ns as u64)
    }
}

/// A train's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// What it measured.
    pub kind: TrainKind,
    /// Which train.
    pub train: u8,
    /// Payload bytes a second.
    pub bytes_per_s: u32,
}

impl Estimate {
    /// The rate of payload.
    pub const fn rate(&self) -> BitRate {
        BitRate::from_bps(self.bytes_per_s as u64 * 8)
    }

    /// The field for a rate of payload: whole bytes a second, as far as 32 bits go.
    pub fn field(rate: BitRate) -> u32 {
        u32::try_from(rate.as_bps() / 8).unwrap_or(u32::MAX)
    }
}

impl RateOption {
    /// Bytes of the option.
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::QuickStart(_) => 8,
            Self::Probe(_) => PROBE_LEN as usize,
            Self::Estimate(_) => ESTIMATE_LEN as usize,
        }
    }

    /// What an option says; [`None`]: another one, or none of its shape.
    pub(super) fn parse(option: &[u8]) -> Option<Self> {
        match *option {
            [QUICK_START, 8, ref rest @ ..] => {
                Some(Self::QuickStart(QuickStartResponse::parse(*rest.first_chunk()?)))
            }
            [EXPERIMENT, len, e0, e1, kind, train, ref rest @ ..] if [e0, e1] == ESTIMATION => {
                let kind = match kind {
                    0 => TrainKind::Pair,
                    1 => TrainKind::Chirp,
                    _ => return None,
                };
                Self::parse_of_train(len, kind, train, rest)
            }
            _ => None,
        }
    }

    fn parse_of_train(len: u8, kind: TrainKind, train: u8, rest: &[u8]) -> Option<Self> {
        match (len, rest) {
            (PROBE_LEN, &[i0, i1, c0, c1, o0, o1, o2, o3]) => {
                let (index, count) = (u16::from_be_bytes([i0, i1]), u16::from_be_bytes([c0, c1]));
                let offset_ns = u32::from_be_bytes([o0, o1, o2, o3]);
                Some(Self::Probe(Probe { kind, train, index, count, offset_ns }))
            }
            (ESTIMATE_LEN, &[r0, r1, r2, r3]) => {
                let bytes_per_s = u32::from_be_bytes([r0, r1, r2, r3]);
                Some(Self::Estimate(Estimate { kind, train, bytes_per_s }))
            }
            _ => None,
        }
    }

    pub(super) fn emit(&self, at: &mut impl BufMut) {
        match self {
            Self::QuickStart(response) => {
                at.put_slice(&[QUICK_START, 8]);
                at.put_slice(&response.emit());
            }
            Self::Probe(probe) => {
                put_train(at, PROBE_LEN, probe.kind, probe.train);
                at.put_u16(probe.index);
                at.put_u16(probe.count);
                at.put_u32(probe.offset_ns);
            }
            Self::Estimate(estimate) => {
                put_train(at, ESTIMATE_LEN, estimate.kind, estimate.train);
                at.put_u32(estimate.bytes_per_s);
            }
        }
    }
}

fn put_train(at: &mut impl BufMut, len: u8, kind: TrainKind, train: u8) {
    at.put_slice(&[EXPERIMENT, len]);
    at.put_slice(&ESTIMATION);
    at.put_slice(&[kind as u8, train]);
}
