//! Parity over successive packets of a connection. Not in the paper: it goes with an RD, so that the loss of one of the two, or of
//! another packet, asks for nothing more (an exclusive or, as RFC 5109 has it).

use bytes::Bytes;
use handfast_core::{SeqNum, fnv1a};

use super::flag::{Flag, Kind};
use super::header::Header;
use super::{Content, Data, Trigger, data};
use crate::Ecn;
use crate::checksum::Checksums;
use crate::ip::TCP;

/// PD: what one packet of several is made from, if all others are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parity {
    /// The trigger of the RR that the RD beside it answers.
    pub trigger: Trigger,
    /// The timestamp of that RR.
    pub timestamp: u32,
    /// The number of the first byte of the first packet.
    pub start: SeqNum,
    /// Behind the last packet: they follow each other.
    pub end: SeqNum,
    /// How many packets: 1 to [`Parity::MOST`].
    pub count: u16,
    /// The exclusive or of their lengths, from the optional field on.
    pub lengths: u16,
    /// Of their bytes, in order: a host that sends again may say something else, and then these are not the packets of the sum.
    pub check: u32,
    /// Whether the hosts speak IPv6.
    pub v6: bool,
    /// The exclusive or of their bytes, from the optional field on; zeros behind the shorter ones.
    pub sum: Bytes,
}

impl Parity {
    /// Packets at most.
    pub const MOST: usize = 16;

    /// That of packets, each with its number; [`None`]: they do not follow each other, or not all are segments of one IP version.
    pub fn of(packets: &[(SeqNum, &Data)], trigger: Trigger, timestamp: u32) -> Option<Self> {
        let &(start, first) = packets.first().filter(|_| packets.len() <= Self::MOST)?;
        let (mut end, mut lengths, mut sum, mut check) = (start, 0, Vec::new(), 0);
        for &(number, data) in packets {
            let fits =
                number == end && data.ip.v6 == first.ip.v6 && matches!(data.content, Content::Segment(_));
            if !fits || data.seq_len() == 0 {
                return None;
            }
            end += data.seq_len();
            lengths ^= u16::try_from(data.len()).ok()?;
            let bytes = bytes_of(data);
            check ^= check_of(number, &bytes);
            add(&mut sum, &bytes);
        }
        let (count, v6) = (packets.len() as u16, first.ip.v6);
        Some(Self { trigger, timestamp, start, end, count, lengths, check, v6, sum: sum.into() })
    }

    /// Whether it is of some packets, and of no more than there may be.
    pub(super) fn has_packets(&self) -> bool {
        (1..=Self::MOST).contains(&usize::from(self.count)) && self.end.after(self.start)
    }

    /// The one packet that is not there, with its number; [`None`]: all are, or several are not, or these are not the ones.
    pub fn recover(&self, there: &[(SeqNum, &Data)]) -> Option<(SeqNum, Data)> {
        if there.len() + 1 != usize::from(self.count) {
            return None;
        }
        let (start, end) = self.missing(there)?;
        let (mut sum, mut lengths, mut check) = (self.sum.to_vec(), self.lengths, self.check);
        for &(number, data) in there {
            lengths ^= u16::try_from(data.len()).ok()?;
            let bytes = bytes_of(data);
            check ^= check_of(number, &bytes);
            add(&mut sum, &bytes);
        }
        // One that is longer than the sum was not in it.
        let (bytes, rest) = sum.split_at_checked(lengths.into()).filter(|_| sum.len() == self.sum.len())?;
        if rest.iter().any(|&byte| byte != 0) || check != check_of(start, bytes) {
            return None;
        }
        let frame = Bytes::copy_from_slice(bytes);
        let (data, _) = data::parse(&self.header(start), &frame, &frame, Checksums::Trust).ok()?;
        (start + data.seq_len() == end).then_some((start, data))
    }

    /// The one gap between packets.
    fn missing(&self, there: &[(SeqNum, &Data)]) -> Option<(SeqNum, SeqNum)> {
        let (mut at, mut gap) = (self.start, None);
        let behind_all = (self.end, 0);
        for (number, len) in there.iter().map(|(number, data)| (*number, data.seq_len())).chain([behind_all])
        {
            if number != at {
                if gap.is_some() || !number.after(at) {
                    return None;
                }
                gap = Some((at, number));
            }
            at = number + len;
        }
        gap
    }

    /// What the packet's own header would say.
    fn header(&self, sequence: SeqNum) -> Header {
        let flag = Flag {
            kind: Kind::Data,
            trigger: Trigger::Count,
            ecn: Ecn::NotCapable,
            end_known: false,
            v6: self.v6,
            sealed: false,
            never: false,
        };
        Header { protocol: TCP, flag, edges: [0; 2], connection: 0, slice: 0, sequence }
    }
}

/// From the optional field on.
fn bytes_of(data: &Data) -> Vec<u8> {
    let mut bytes = vec![0; data.len()];
    data::emit(data, &mut bytes);
    bytes
}

/// Of a packet at its number: two that are the same do not cancel each other out.
fn check_of(number: SeqNum, bytes: &[u8]) -> u32 {
    let hash = fnv1a(bytes) ^ fnv1a(&number.0.to_be_bytes());
    (hash ^ hash >> 32) as u32
}

fn add(sum: &mut Vec<u8>, bytes: &[u8]) {
    if sum.len() < bytes.len() {
        sum.resize(bytes.len(), 0);
    }
    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
}
