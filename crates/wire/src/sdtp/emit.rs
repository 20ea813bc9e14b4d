//! An SDTP packet to bytes.

use super::header::{CHECKSUM_AT, Header};
use super::{HEADER_LEN, Message, OPTIONAL_LEN, SEAL_LEN, Sdtp, data, optional};
use crate::Ecn;
use crate::checksum::Sum;

/// What a packet has from the headers around it.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    /// Source and destination; of IPv6 addresses the last 32 bits.
    pub(crate) edges: [u32; 2],
    pub(crate) ecn: Ecn,
}

/// Writes a packet that [`super::check`] has passed into `out`, which is as long as it is. With `corrupted` the checksum is
/// wrong.
pub(crate) fn emit(sdtp: &Sdtp, Around { edges, ecn }: Around, corrupted: bool, out: &mut [u8]) {
    let len = out.len();
    let (mut header, rest) = out.split_at_mut(HEADER_LEN);
    Header::of(sdtp, edges, ecn).emit(len, &mut header);
    let (body, seal) = rest.split_at_mut(rest.len() - if sdtp.seal.is_some() { SEAL_LEN } else { 0 });
    emit_message(&sdtp.message, body);
    if let Some(proof) = &sdtp.seal {
        proof.emit(seal);
    }
    let checksum = Sum::default().add(out).checksum();
    // One more or less is never the same modulo 2^16 - 1: every receiver that verifies finds it.
    let checksum = if corrupted { checksum ^ 1 } else { checksum };
    out[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

fn emit_message(message: &Message, out: &mut [u8]) {
    let (mut field, rest) = out.split_at_mut(OPTIONAL_LEN);
    match message {
        Message::Data(given) => data::emit(given, out),
        Message::Request(request) => optional::emit_request(request, &mut field),
        Message::Information(told) => optional::emit_information(told, &mut field),
        Message::Notification(told) => optional::emit_notification(*told, &mut field),
        Message::Congestion(met) => optional::emit_congestion(*met, &mut field),
        Message::Parity(parity) => {
            optional::emit_parity(parity, &mut field);
            rest.copy_from_slice(&parity.sum);
        }
        Message::Repeat(repeat) => {
            optional::emit_repeat(repeat, &mut field);
            data::emit(&repeat.data, rest);
        }
    }
}
