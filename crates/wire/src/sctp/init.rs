//! INIT and INIT ACK (§3.3.2, §3.3.3): the same fields.

use bytes::{BufMut, Bytes};
use handfast_core::SeqNum;

use super::error::{Element, ParseError};
use super::{Parameter, tlv};

/// Bytes of the fixed fields.
const FIXED_LEN: usize = 16;

/// What INIT and INIT ACK say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init {
    /// Initiate Tag: the verification tag of every packet to the sender.
    pub tag: u32,
    /// Advertised receiver window credit.
    pub a_rwnd: u32,
    /// Outbound streams that the sender wants.
    pub outbound_streams: u16,
    /// The most inbound streams that it allows.
    pub inbound_streams: u16,
    /// The first TSN that it will use.
    pub initial_tsn: SeqNum,
    /// Parameters, in the order of the wire.
    pub parameters: Vec<Parameter>,
}

impl Init {
    /// The state cookie, if there is one.
    pub fn cookie(&self) -> Option<&Bytes> {
        self.parameters.iter().find_map(|parameter| match parameter {
            Parameter::StateCookie(cookie) => Some(cookie),
            _ => None,
        })
    }

    pub(super) fn parse(kind: u8, value: &Bytes) -> Result<Self, ParseError> {
        let Some(&[t0, t1, t2, t3, w0, w1, w2, w3, o0, o1, i0, i1, n0, n1, n2, n3]) =
            value.first_chunk::<FIXED_LEN>()
        else {
            return Err(ParseError::truncated(Element::Chunk(kind), FIXED_LEN, value.len()));
        };
        let rest = value.slice(FIXED_LEN..);
        Ok(Self {
            tag: u32::from_be_bytes([t0, t1, t2, t3]),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            outbound_streams: u16::from_be_bytes([o0, o1]),
            inbound_streams: u16::from_be_bytes([i0, i1]),
            initial_tsn: SeqNum(u32::from_be_bytes([n0, n1, n2, n3])),
            parameters: tlv::parse_all(&rest, Element::Parameter, Parameter::parse)?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.tag);
        out.put_u32(self.a_rwnd);
        out.put_u16(self.outbound_streams);
        out.put_u16(self.inbound_streams);
        out.put_u32(self.initial_tsn.0);
        for parameter in &self.parameters {
            parameter.emit(out);
        }
    }

    pub(super) fn value_len(&self) -> usize {
        FIXED_LEN + tlv::len_of(self.parameters.iter().map(Parameter::value_len))
    }
}
