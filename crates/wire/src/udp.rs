//! UDP (RFC 768).

use bytes::BufMut;

use crate::Payload;
use crate::checksum::Sum;
use crate::error::EmitError;

/// Bytes of the header.
pub(crate) const HEADER_LEN: usize = 8;

const CHECKSUM_AT: usize = 6;

/// A datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// What it carries.
    pub payload: Payload,
}

/// The ports and the payload of a datagram whose length is that of the packet's body and which has a checksum; [`None`]: another
/// one, which stays as it came.
pub(crate) fn parse(body: &[u8]) -> Option<(u16, u16, &[u8])> {
    let (header, payload) = body.split_first_chunk::<HEADER_LEN>()?;
    let [s0, s1, d0, d1, l0, l1, checksum @ ..] = *header;
    let whole = usize::from(u16::from_be_bytes([l0, l1])) == body.len();
    // RFC 768: "An all zero transmitted checksum value means that the transmitter generated no checksum".
    let is_kept = whole && checksum != [0; 2];
    is_kept.then_some((u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]), payload))
}

/// Refuses a body that would parse as a datagram.
pub(crate) fn check_other(payload: &Payload) -> Result<(), EmitError> {
    let header = payload.slice(0, payload.len().min(HEADER_LEN)).to_bytes();
    let Some(&[.., l0, l1, c0, c1]) = header.first_chunk::<HEADER_LEN>() else { return Ok(()) };
    let whole = usize::from(u16::from_be_bytes([l0, l1])) == payload.len();
    if whole && [c0, c1] != [0; 2] { Err(EmitError::Protocol(crate::ip::UDP)) } else { Ok(()) }
}

/// Writes a datagram into `out`, which is as long as it is. With `corrupted` the checksum is wrong.
pub(crate) fn emit(datagram: &Datagram, pseudo_header: Sum, corrupted: bool, out: &mut [u8]) {
    datagram.payload.write(&mut out[HEADER_LEN..]);
    let sum = pseudo_header.add(&out[HEADER_LEN..]);
    emit_header((datagram.src_port, datagram.dst_port), sum, corrupted, out);
}

/// Writes the header of a datagram whose payload stands in `out` already; `sum` is that of the pseudo-header and the payload.
pub(crate) fn emit_header(ports: (u16, u16), sum: Sum, corrupted: bool, out: &mut [u8]) {
    let len = out.len() as u16;
    let mut header = &mut out[..HEADER_LEN];
    header.put_u16(ports.0);
    header.put_u16(ports.1);
    header.put_u16(len);
    header.put_u16(0);
    let checksum = match sum.add(&out[..HEADER_LEN]).checksum() {
        // RFC 768: "If the computed checksum is zero, it is transmitted as all ones".
        0 => 0xffff,
        sum => sum,
    };
    let checksum = match (corrupted, checksum ^ 1) {
        (false, _) => checksum,
        // Zero would say that there is none.
        (true, 0) => 2,
        (true, wrong) => wrong,
    };
    out[CHECKSUM_AT..HEADER_LEN].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::pseudo_header;
    use std::net::IpAddr;

    fn pseudo(len: usize) -> Sum {
        let [src, dst]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        pseudo_header(src, dst, crate::ip::UDP, len)
    }

    fn emitted(payload: &[u8], corrupted: bool) -> Vec<u8> {
        let payload = Payload::Bytes(payload.to_vec().into());
        let mut out = vec![0xaa; HEADER_LEN + payload.len()];
        let sum = pseudo(out.len());
        emit(&Datagram { src_port: 53, dst_port: 5060, payload }, sum, corrupted, &mut out);
        out
    }

    fn is_right(datagram: &[u8]) -> bool {
        pseudo(datagram.len()).add(datagram).fold() == 0xffff
    }

    #[test]
    fn the_header_is_rfc_768_s() {
        let datagram = emitted(b"hi", false);
        assert_eq!(datagram[..6], [0, 53, 0x13, 0xc4, 0, 10]);
        assert!(is_right(&datagram));
        assert_eq!(parse(&datagram), Some((53, 5060, &b"hi"[..])));
    }

    #[test]
    fn a_sum_of_zero_is_sent_as_all_ones_and_a_wrong_one_is_never_zero() {
        for (corrupted, special) in [(false, 0xffff), (true, 2)] {
            // All sums there are.
            let checksums = (0..=0xffff_u16).map(|word| {
                let datagram = emitted(&word.to_be_bytes(), corrupted);
                assert_eq!(is_right(&datagram), !corrupted, "{word:#x}");
                u16::from_be_bytes([datagram[6], datagram[7]])
            });
            let checksums: Vec<u16> = checksums.collect();
            assert!(!checksums.contains(&0) && checksums.contains(&special));
        }
    }

    #[test]
    fn without_a_checksum_or_with_another_length_it_stays_as_it_came() {
        let datagram = emitted(b"hi", false);
        let mut unsummed = datagram.clone();
        unsummed[6..8].fill(0);
        let mut short = datagram.clone();
        short[5] = 9;
        for (bytes, kept) in
            [(&datagram[..], true), (&unsummed, false), (&short, false), (&datagram[..7], false)]
        {
            assert_eq!(parse(bytes).is_some(), kept, "{bytes:?}");
            let other = check_other(&Payload::Bytes(bytes.to_vec().into()));
            assert_eq!(other, if kept { Err(EmitError::Protocol(17)) } else { Ok(()) }, "{bytes:?}");
        }
    }
}
