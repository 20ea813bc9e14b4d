//! An option of Multipath TCP to bytes.

use std::net::IpAddr;

use bytes::BufMut;

use super::{AddAddress, Capable, DataSeq, Dss, Join, KIND, Mapping, Mptcp, subtype};

impl Mptcp {
    /// Writes it, kind and length included, without padding.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_slice(&[KIND, 0]);
        match self {
            Self::Capable(capable) => put_capable(out, capable),
            Self::Join(join) => put_join(out, join),
            Self::Dss(dss) => put_dss(out, dss),
            Self::AddAddress(address) => put_address(out, address),
            Self::RemoveAddress(ids) => {
                put_first(out, subtype::REMOVE_ADDR, 0);
                out.put_slice(ids);
            }
            Self::Priority { backup } => put_first(out, subtype::PRIO, u8::from(*backup)),
            Self::Fail(number) => put_number(out, subtype::FAIL, *number),
            Self::FastClose(key) => put_number(out, subtype::FASTCLOSE, *key),
            Self::Reset { transient, reason } => {
                put_first(out, subtype::RST, u8::from(*transient));
                out.put_u8(*reason);
            }
        }
        // Of more than 40 no header has room; the caller finds that.
        out[start + 1] = u8::try_from(out.len() - start).unwrap_or(u8::MAX);
    }
}

fn put_first(out: &mut Vec<u8>, subtype: u8, low: u8) {
    out.put_u8(subtype << 4 | low);
}

fn put_number(out: &mut Vec<u8>, subtype: u8, number: u64) {
    out.put_slice(&[subtype << 4, 0]);
    out.put_u64(number);
}

fn put_capable(out: &mut Vec<u8>, capable: &Capable) {
    put_first(out, subtype::CAPABLE, capable.version & 0xf);
    let flags = [(capable.checksum, 0x80), (capable.extended, 0x40), (capable.closed_address, 0x20)];
    let flags = flags.into_iter().map(|(is, bit)| if is { bit } else { 0 }).sum::<u8>();
    out.put_u8(flags | capable.algorithms & 0x1f);
    // Each field stands behind the one before it: without that there is none.
    let Some(key) = capable.sender_key else { return };
    out.put_u64(key);
    let Some(key) = capable.receiver_key else { return };
    out.put_u64(key);
    let Some((len, checksum)) = capable.mapped else { return };
    out.put_u16(len);
    if let Some(checksum) = checksum {
        out.put_u16(checksum);
    }
}

fn put_join(out: &mut Vec<u8>, join: &Join) {
    match *join {
        Join::Syn { backup, address_id, token, nonce } => {
            put_first(out, subtype::JOIN, u8::from(backup));
            out.put_u8(address_id);
            out.put_u32(token);
            out.put_u32(nonce);
        }
        Join::SynAck { backup, address_id, hmac, nonce } => {
            put_first(out, subtype::JOIN, u8::from(backup));
            out.put_u8(address_id);
            out.put_u64(hmac);
            out.put_u32(nonce);
        }
        Join::Ack { hmac } => {
            put_first(out, subtype::JOIN, 0);
            out.put_u8(0);
            out.put_slice(&hmac);
        }
    }
}

fn put_dss(out: &mut Vec<u8>, dss: &Dss) {
    put_first(out, subtype::DSS, 0);
    let is_whole = |number| matches!(number, DataSeq::Whole(_));
    let flags = [
        (dss.ack.is_some(), 0x01),
        (dss.ack.is_some_and(is_whole), 0x02),
        (dss.mapping.is_some(), 0x04),
        (dss.mapping.is_some_and(|mapping| is_whole(mapping.data_seq)), 0x08),
        (dss.fin, 0x10),
    ];
    out.put_u8(flags.into_iter().map(|(is, bit)| if is { bit } else { 0 }).sum());
    if let Some(ack) = dss.ack {
        put_data_seq(out, ack);
    }
    if let Some(Mapping { data_seq, subflow_seq, len, checksum }) = dss.mapping {
        put_data_seq(out, data_seq);
        out.put_u32(subflow_seq);
        out.put_u16(len);
        if let Some(checksum) = checksum {
            out.put_u16(checksum);
        }
    }
}

fn put_data_seq(out: &mut Vec<u8>, number: DataSeq) {
    match number {
        DataSeq::Low(low) => out.put_u32(low),
        DataSeq::Whole(whole) => out.put_u64(whole),
    }
}

fn put_address(out: &mut Vec<u8>, address: &AddAddress) {
    put_first(out, subtype::ADD_ADDR, u8::from(address.hmac.is_none()));
    out.put_u8(address.address_id);
    match address.address {
        IpAddr::V4(v4) => out.put_slice(&v4.octets()),
        IpAddr::V6(v6) => out.put_slice(&v6.octets()),
    }
    if let Some(port) = address.port {
        out.put_u16(port);
    }
    if let Some(hmac) = address.hmac {
        out.put_u64(hmac);
    }
}
