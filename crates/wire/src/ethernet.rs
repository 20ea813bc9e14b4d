//! Ethernet II with at most one 802.1Q tag (IEEE 802.3 §3.1.1, 802.1Q §9.3).

use bytes::BufMut;

use crate::error::{EmitError, Header, ParseError};
use crate::packet::{Ethernet, Vlan};

/// What an Ethernet type announces.
pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const SDTP: u16 = crate::sdtp::ETHER_TYPE;
const VLAN: u16 = 0x8100;

const HEADER_LEN: usize = 14;
const TAG_LEN: usize = 4;

impl Ethernet {
    /// Bytes of the header, tag included.
    pub(crate) fn header_len(&self) -> usize {
        HEADER_LEN + if self.vlan.is_some() { TAG_LEN } else { 0 }
    }

    /// Whether every field fits its bits.
    pub(crate) fn check(&self) -> Result<(), EmitError> {
        match self.vlan {
            Some(vlan) if vlan.id > 0xfff => Err(EmitError::VlanId(vlan.id)),
            Some(vlan) if vlan.priority > 7 => Err(EmitError::VlanPriority(vlan.priority)),
            _ => Ok(()),
        }
    }

    /// Writes the header of a frame whose fields [`Ethernet::check`] has passed.
    pub(crate) fn emit(&self, ether_type: u16, mut out: &mut [u8]) {
        out.put_slice(&self.dst);
        out.put_slice(&self.src);
        if let Some(vlan) = self.vlan {
            out.put_u16(VLAN);
            out.put_u16(u16::from(vlan.priority) << 13 | u16::from(vlan.drop_eligible) << 12 | vlan.id);
        }
        out.put_u16(ether_type);
    }
}

/// The header, the Ethernet type of what follows, and what follows.
pub(crate) fn parse(frame: &[u8]) -> Result<(Ethernet, u16, &[u8]), ParseError> {
    let Some((header, rest)) = frame.split_first_chunk::<HEADER_LEN>() else {
        return Err(ParseError::Truncated {
            header: Header::Ethernet,
            needed: HEADER_LEN,
            have: frame.len(),
        });
    };
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *header;
    let mut ethernet = Ethernet { dst: [d0, d1, d2, d3, d4, d5], src: [s0, s1, s2, s3, s4, s5], vlan: None };
    let ether_type = u16::from_be_bytes([t0, t1]);
    if ether_type != VLAN {
        return Ok((ethernet, ether_type, rest));
    }
    let (vlan, ether_type, rest) = parse_tag(rest)?;
    ethernet.vlan = Some(vlan);
    Ok((ethernet, ether_type, rest))
}

fn parse_tag(bytes: &[u8]) -> Result<(Vlan, u16, &[u8]), ParseError> {
    let Some((&[c0, c1, t0, t1], rest)) = bytes.split_first_chunk::<TAG_LEN>() else {
        return Err(ParseError::Truncated { header: Header::Vlan, needed: TAG_LEN, have: bytes.len() });
    };
    let vlan =
        Vlan { priority: c0 >> 5, drop_eligible: c0 & 0x10 != 0, id: u16::from_be_bytes([c0 & 0x0f, c1]) };
    Ok((vlan, u16::from_be_bytes([t0, t1]), rest))
}
