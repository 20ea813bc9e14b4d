//! The options of Multipath TCP, version 1 (RFC 8684 §3): kind 30, told apart by a subtype.
//!
//! A segment keeps them among its unknown options ([`super::RareOptions::unknown`]), as bytes: who does not speak Multipath TCP neither
//! parses nor reorders them. Who does asks [`Segment::mptcp`] and [`Segment::push_mptcp`].

mod emit;
mod parse;

use std::net::IpAddr;

use super::split_option;
use crate::checksum::Sum;
use crate::tcp::{RareOptions, Segment};

/// The kind of all of them.
const KIND: u8 = 30;

/// Address IDs that one `REMOVE_ADDR` holds: what fits into 40 bytes of options.
pub const MAX_REMOVED: usize = 37;

/// RFC 8684 §8.2, table 2.
mod subtype {
    pub(super) const CAPABLE: u8 = 0;
    pub(super) const JOIN: u8 = 1;
    pub(super) const DSS: u8 = 2;
    pub(super) const ADD_ADDR: u8 = 3;
    pub(super) const REMOVE_ADDR: u8 = 4;
    pub(super) const PRIO: u8 = 5;
    pub(super) const FAIL: u8 = 6;
    pub(super) const FASTCLOSE: u8 = 7;
    pub(super) const RST: u8 = 8;
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mptcp {
    /// `MP_CAPABLE` (§3.1).
    Capable(Capable),
    /// `MP_JOIN` (§3.2).
    Join(Join),
    /// DSS: data sequence signal (§3.3).
    Dss(Dss),
    /// `ADD_ADDR` (§3.4.1).
    AddAddress(AddAddress),
    /// `REMOVE_ADDR` (§3.4.2): address IDs, 1 to [`MAX_REMOVED`].
    RemoveAddress(Box<[u8]>),
    /// `MP_PRIO` (§3.3.8): whether the subflow is a backup from now on.
    Priority {
        /// B.
        backup: bool,
    },
    /// `MP_FAIL` (§3.7): the data sequence number from which on checksums failed.
    Fail(u64),
    /// `MP_FASTCLOSE` (§3.5): the receiver's key.
    FastClose(u64),
    /// `MP_TCPRST` (§3.6).
    Reset {
        /// T: the condition may pass.
        transient: bool,
        /// Why.
        reason: u8,
    },
}

/// Reasons of [`Mptcp::Reset`] (RFC 8684 §3.6).
#[expect(missing_docs, reason = "the names are RFC 8684's")]
pub mod reason {
    pub const UNSPECIFIED: u8 = 0;
    pub const MPTCP_SPECIFIC: u8 = 1;
    pub const LACK_OF_RESOURCES: u8 = 2;
    pub const ADMINISTRATIVELY_PROHIBITED: u8 = 3;
    pub const TOO_MUCH_OUTSTANDING_DATA: u8 = 4;
    pub const UNACCEPTABLE_PERFORMANCE: u8 = 5;
    pub const MIDDLEBOX_INTERFERENCE: u8 = 6;
}

/// `MP_CAPABLE` of any step of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capable {
    /// Of the protocol; the rest has the shape of version 1.
    pub version: u8,
    /// A: DSS options carry checksums.
    pub checksum: bool,
    /// B: an extension nobody knows yet; who sees it does not speak it.
    pub extended: bool,
    /// C: no subflow may be opened to this address and port.
    pub closed_address: bool,
    /// D to H, from bit 4 to 0: algorithms of authentication. Bit 0, H, is HMAC-SHA256.
    pub algorithms: u8,
    /// The sender's key: not in a SYN.
    pub sender_key: Option<u64>,
    /// The receiver's key: only from the third step on.
    pub receiver_key: Option<u64>,
    /// With the first data: how many octets are mapped, and the checksum if it is on.
    pub mapped: Option<(u16, Option<u16>)>,
}

impl Capable {
    /// H: HMAC-SHA256.
    pub const HMAC_SHA256: u8 = 1;
}

/// `MP_JOIN` of one step of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// In a SYN.
    Syn {
        /// B: the sender asks to be sent nothing here while another subflow serves.
        backup: bool,
        /// Of the sender's address.
        address_id: u8,
        /// Of the receiver's connection.
        token: u32,
        /// The sender's random number.
        nonce: u32,
    },
    /// In a SYN/ACK.
    SynAck {
        /// As in [`Join::Syn`].
        backup: bool,
        /// Of the sender's address.
        address_id: u8,
        /// The leftmost 64 bits of the sender's HMAC.
        hmac: u64,
        /// The sender's random number.
        nonce: u32,
    },
    /// In the third ACK: the leftmost 160 bits of the sender's HMAC.
    Ack {
        /// They.
        hmac: [u8; 20],
    },
}

/// A sequence number of data, or its lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSeq {
    /// Four octets.
    Low(u32),
    /// Eight octets.
    Whole(u64),
}

impl DataSeq {
    /// The whole number, the one nearest to `near` (RFC 8684 §3.3.1: implicit upper bits).
    pub const fn whole(self, near: u64) -> u64 {
        match self {
            Self::Whole(number) => number,
            Self::Low(low) => near.wrapping_add(low.wrapping_sub(near as u32) as i32 as u64),
        }
    }
}

/// Which data a range of the subflow's octets is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The data sequence number of its first octet.
    pub data_seq: DataSeq,
    /// The subflow sequence number of its first octet: the SYN has 0. It is 0 where only `DATA_FIN` is mapped.
    pub subflow_seq: u32,
    /// Octets, `DATA_FIN` included; 0: all that follow, there is no more multipath (§3.7).
    pub len: u16,
    /// Of the mapped data, if checksums are on.
    pub checksum: Option<u16>,
}

/// DSS: data acknowledgement, mapping, end of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dss {
    /// A: `DATA_ACK`.
    pub ack: Option<DataSeq>,
    /// M: a mapping.
    pub mapping: Option<Mapping>,
    /// F: `DATA_FIN` is the last octet of the mapping.
    pub fin: bool,
}

/// `ADD_ADDR`: the sender has another address, or repeats what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddAddress {
    /// Of the address.
    pub address_id: u8,
    /// It.
    pub address: IpAddr,
    /// A port other than the connection's.
    pub port: Option<u16>,
    /// The rightmost 64 bits of the sender's HMAC; [`None`]: E, an echo.
    pub hmac: Option<u64>,
}

/// The checksum of a mapping (RFC 8684 §3.3): over these numbers, two octets of zeros and the mapped data.
pub fn checksum(data_seq: u64, subflow_seq: u32, len: u16, data: &[u8]) -> u16 {
    let mut pseudo_header = [0; 16];
    pseudo_header[..8].copy_from_slice(&data_seq.to_be_bytes());
    pseudo_header[8..12].copy_from_slice(&subflow_seq.to_be_bytes());
    pseudo_header[12..14].copy_from_slice(&len.to_be_bytes());
    Sum::default().add(&pseudo_header).add(data).checksum()
}

impl Segment {
    /// The options of Multipath TCP. What has not the form of one is none.
    pub fn mptcp(&self) -> impl Iterator<Item = Mptcp> + '_ {
        let mut rest = self.rare.as_ref().map_or(&[][..], |rare| &*rare.unknown);
        std::iter::from_fn(move || {
            while let Some(&kind) = rest.first() {
                let (option, after) = split_option(kind, rest).ok()?;
                rest = after;
                if let Some(found) = Mptcp::parse(option) {
                    return Some(found);
                }
            }
            None
        })
    }

    /// Adds one behind the others; false, and nothing added, where 40 bytes of options do not hold it. SACK blocks give way.
    pub fn push_mptcp(&mut self, option: &Mptcp) -> bool {
        let mut bytes = self.rare.as_ref().map_or_else(Vec::new, |rare| rare.unknown.to_vec());
        option.emit(&mut bytes);
        let mut rare = self.rare.take().unwrap_or_default();
        let before = std::mem::replace(&mut rare.unknown, bytes.into_boxed_slice());
        self.rare = Some(rare);
        let fits = super::Layout::of(self, 0).len <= super::MAX_LEN;
        if !fits && let Some(rare) = &mut self.rare {
            rare.unknown = before;
            self.rare = self.rare.take().filter(|rare| **rare != RareOptions::default());
        }
        fits
    }
}
