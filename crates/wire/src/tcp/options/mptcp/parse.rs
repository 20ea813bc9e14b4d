//! Bytes to an option of Multipath TCP. RFC 8684 §3 gives each a length, or a few; with another it is none. Reserved bits are not
//! looked at.

use std::net::IpAddr;

use bytes::Buf;

use super::{AddAddress, Capable, DataSeq, Dss, Join, KIND, MAX_REMOVED, Mapping, Mptcp, subtype};

impl Mptcp {
    /// What a whole option, kind and length included, says; [`None`]: another one, or none of its form.
    pub(super) fn parse(option: &[u8]) -> Option<Self> {
        let &[KIND, len, first, ref rest @ ..] = option else { return None };
        if usize::from(len) != option.len() {
            return None;
        }
        let (kind, low) = (first >> 4, first & 0xf);
        match (kind, rest) {
            (subtype::CAPABLE, rest) => capable(low, rest).map(Self::Capable),
            (subtype::JOIN, rest) => join(low, rest).map(Self::Join),
            (subtype::DSS, rest) => dss(rest).map(Self::Dss),
            (subtype::ADD_ADDR, rest) => add_address(low, rest).map(Self::AddAddress),
            (subtype::REMOVE_ADDR, ids) if (1..=MAX_REMOVED).contains(&ids.len()) => {
                Some(Self::RemoveAddress(ids.into()))
            }
            (subtype::PRIO, []) => Some(Self::Priority { backup: low & 1 != 0 }),
            (subtype::FAIL, [_, number @ ..]) => Some(Self::Fail(u64::from_be_bytes(*exactly(number)?))),
            (subtype::FASTCLOSE, [_, key @ ..]) => Some(Self::FastClose(u64::from_be_bytes(*exactly(key)?))),
            (subtype::RST, &[reason]) => Some(Self::Reset { transient: low & 1 != 0, reason }),
            _ => None,
        }
    }
}

/// All of `bytes`, if they are `N`.
fn exactly<const N: usize>(bytes: &[u8]) -> Option<&[u8; N]> {
    bytes.try_into().ok()
}

/// §3.1: 4 octets in a SYN, 12 in a SYN/ACK, 20 in the third ACK, and with data 22, or 24 with a checksum.
fn capable(version: u8, rest: &[u8]) -> Option<Capable> {
    let (&flags, mut rest) = rest.split_first()?;
    let mut capable = Capable {
        version,
        checksum: flags & 0x80 != 0,
        extended: flags & 0x40 != 0,
        closed_address: flags & 0x20 != 0,
        algorithms: flags & 0x1f,
        ..Capable::default()
    };
    if !matches!(rest.len(), 0 | 8 | 16 | 18 | 20) {
        return None;
    }
    capable.sender_key = rest.try_get_u64().ok();
    capable.receiver_key = rest.try_get_u64().ok();
    capable.mapped = rest.try_get_u16().ok().map(|len| (len, rest.try_get_u16().ok()));
    Some(capable)
}

/// §3.2: 12 octets in a SYN, 16 in a SYN/ACK, 24 in the third ACK.
fn join(low: u8, rest: &[u8]) -> Option<Join> {
    let backup = low & 1 != 0;
    match *rest {
        [address_id, t0, t1, t2, t3, ref nonce @ ..] if nonce.len() == 4 => Some(Join::Syn {
            backup,
            address_id,
            token: u32::from_be_bytes([t0, t1, t2, t3]),
            nonce: u32::from_be_bytes(*exactly(nonce)?),
        }),
        [address_id, ref rest @ ..] if rest.len() == 12 => {
            let (hmac, nonce) = rest.split_first_chunk()?;
            Some(Join::SynAck {
                backup,
                address_id,
                hmac: u64::from_be_bytes(*hmac),
                nonce: u32::from_be_bytes(*exactly(nonce)?),
            })
        }
        [_, ref hmac @ ..] => Some(Join::Ack { hmac: *exactly(hmac)? }),
        [] => None,
    }
}

/// §3.3: the flags say what follows, and the option's length whether a checksum does.
fn dss(rest: &[u8]) -> Option<Dss> {
    let (&flags, mut rest) = rest.split_first()?;
    let has = |bit: u8| flags & bit != 0;
    let ack = if has(0x01) { Some(number(&mut rest, has(0x02))?) } else { None };
    let mapping = if has(0x04) { Some(mapping(&mut rest, has(0x08))?) } else { None };
    let fin = has(0x10);
    // DATA_FIN takes a number of the mapping.
    let is_whole = rest.is_empty() && (!fin || mapping.is_some());
    is_whole.then_some(Dss { ack, mapping, fin })
}

fn number(rest: &mut &[u8], whole: bool) -> Option<DataSeq> {
    if whole {
        rest.try_get_u64().ok().map(DataSeq::Whole)
    } else {
        rest.try_get_u32().ok().map(DataSeq::Low)
    }
}

fn mapping(rest: &mut &[u8], whole: bool) -> Option<Mapping> {
    Some(Mapping {
        data_seq: number(rest, whole)?,
        subflow_seq: rest.try_get_u32().ok()?,
        len: rest.try_get_u16().ok()?,
        checksum: if rest.is_empty() { None } else { Some(rest.try_get_u16().ok()?) },
    })
}

/// §3.4.1: an address of either family, perhaps a port, and the HMAC unless it is an echo.
fn add_address(low: u8, rest: &[u8]) -> Option<AddAddress> {
    let (&address_id, mut rest) = rest.split_first()?;
    let has_hmac = low & 1 == 0;
    let len = rest.len().checked_sub(if has_hmac { 8 } else { 0 })?;
    let address = match len {
        4 | 6 => IpAddr::from(rest.try_get_u32().ok()?.to_be_bytes()),
        16 | 18 => IpAddr::from(rest.try_get_u128().ok()?.to_be_bytes()),
        _ => return None,
    };
    let port = if len % 4 == 2 { Some(rest.try_get_u16().ok()?) } else { None };
    let hmac = if has_hmac { Some(rest.try_get_u64().ok()?) } else { None };
    Some(AddAddress { address_id, address, port, hmac })
}
