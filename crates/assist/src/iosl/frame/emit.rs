//! Frames to bytes.

use handfast_core::Duration;

use super::varint::put as number;
use super::{Capabilities, Frame, Windows};

pub(super) const HELLO: u8 = 1;
pub(super) const OPEN: u8 = 2;
pub(super) const DATA: u8 = 3;
pub(super) const ACK: u8 = 4;
pub(super) const FIN: u8 = 5;
pub(super) const RESET: u8 = 6;
pub(super) const SUSPEND: u8 = 7;
pub(super) const CONTINUE: u8 = 8;
pub(super) const RESUME: u8 = 9;
pub(super) const MIGRATED: u8 = 10;
pub(super) const WINDOWS: u8 = 11;
pub(super) const DATAGRAM: u8 = 12;
pub(super) const EXPIRE: u8 = 13;
pub(super) const PING: u8 = 14;
pub(super) const OPEN_DATAGRAMS: u8 = 15;

pub(super) const DATAGRAMS: u64 = 1;
pub(super) const HINTS: u64 = 2;

/// What of a span is told.
pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
pub(super) const MICROSECOND: Duration = Duration::from_micros(1);

pub(super) fn put(frame: &Frame, out: &mut Vec<u8>) {
    match frame {
        Frame::Hello { version, capabilities, expiry } => {
            let expiry = expiry.as_nanos() / MILLISECOND.as_nanos();
            numbers(out, HELLO, &[*version, bits(*capabilities), expiry]);
        }
        Frame::Open { target, epoch } => {
            let kind = if target.is_datagrams() { OPEN_DATAGRAMS } else { OPEN };
            numbers(out, kind, &[*epoch, u64::from(target.port())]);
            octets(out, target.host().as_bytes());
        }
        Frame::Data { offset, bytes } => emit_data(*offset, bytes.len(), [&bytes[..]], out),
        Frame::Ack { offset, credit } => numbers(out, ACK, &[*offset, *credit]),
        Frame::Fin { offset } => numbers(out, FIN, &[*offset]),
        Frame::Reset(reason) => numbers(out, RESET, &[reason.number()]),
        Frame::Suspend => numbers(out, SUSPEND, &[]),
        Frame::Continue => numbers(out, CONTINUE, &[]),
        Frame::Resume { session, epoch, received } => {
            numbers(out, RESUME, &[*epoch, *received]);
            out.extend(session.0);
        }
        Frame::Migrated(id) => {
            numbers(out, MIGRATED, &[]);
            out.extend(id.0);
        }
        Frame::Windows(Windows { cwnd, rwnd, rtt }) => {
            numbers(out, WINDOWS, &[*cwnd, *rwnd, rtt.as_nanos() / MICROSECOND.as_nanos()]);
        }
        Frame::Datagram(bytes) => {
            numbers(out, DATAGRAM, &[]);
            octets(out, bytes);
        }
        Frame::Expire => numbers(out, EXPIRE, &[]),
        Frame::Ping => numbers(out, PING, &[]),
    }
}

/// A frame Data whose octets are in pieces, `count` in all.
pub(crate) fn emit_data<'a>(
    offset: u64,
    count: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    out: &mut Vec<u8>,
) {
    numbers(out, DATA, &[offset]);
    number(out, count as u64);
    pieces.into_iter().for_each(|piece| out.extend_from_slice(piece));
}

fn bits(capabilities: Capabilities) -> u64 {
    let Capabilities { datagrams, windows } = capabilities;
    (u64::from(datagrams) * DATAGRAMS) | (u64::from(windows) * HINTS)
}

fn numbers(out: &mut Vec<u8>, kind: u8, fields: &[u64]) {
    out.push(kind);
    for &field in fields {
        number(out, field);
    }
}

fn octets(out: &mut Vec<u8>, octets: &[u8]) {
    number(out, octets.len() as u64);
    out.extend_from_slice(octets);
}
