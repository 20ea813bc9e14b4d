//! Bytes to frames.

use bytes::{Buf, Bytes};
use handfast_core::Duration;

use super::emit::{
    ACK, CONTINUE, DATA, DATAGRAM, DATAGRAMS, EXPIRE, FIN, HELLO, HINTS, MICROSECOND, MIGRATED, MILLISECOND,
    OPEN, OPEN_DATAGRAMS, PING, RESET, RESUME, SUSPEND, WINDOWS,
};
use super::varint::{self, take};
use super::{Capabilities, Frame, MOST_DATAGRAM, Reason, Target, Windows};
use crate::iosl::ids::Id;

/// A record that holds something else than frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The frames of a record, in order.
///
/// # Errors
/// [`Malformed`].
pub fn parse(mut record: Bytes) -> Result<Vec<Frame>, Malformed> {
    let mut frames = Vec::new();
    while !record.is_empty() {
        frames.push(frame(&mut record).ok_or(Malformed)?);
    }
    Ok(frames)
}

fn frame(from: &mut Bytes) -> Option<Frame> {
    Some(match from.try_get_u8().ok()? {
        HELLO => {
            let (version, capabilities) = (take(from)?, capabilities(take(from)?)?);
            Frame::Hello { version, capabilities, expiry: span(from, MILLISECOND)? }
        }
        kind @ (OPEN | OPEN_DATAGRAMS) => {
            let (epoch, port) = (take(from)?, u16::try_from(take(from)?).ok()?);
            let host = octets(from, 1, usize::MAX)?;
            let of = if kind == OPEN { Target::new } else { Target::of_datagrams };
            Frame::Open { target: of(str::from_utf8(&host).ok()?, port)?, epoch }
        }
        DATA => {
            let (offset, bytes) = (take(from)?, octets(from, 1, usize::MAX)?);
            // As RFC 9000 §19.8: no stream is longer than numbers can tell, with its end.
            let end = offset.checked_add(bytes.len() as u64)?;
            (end < varint::MAX).then_some(Frame::Data { offset, bytes })?
        }
        ACK => Frame::Ack { offset: take(from)?, credit: take(from)? },
        FIN => Frame::Fin { offset: take(from).filter(|&offset| offset < varint::MAX)? },
        RESET => Frame::Reset(Reason::of(take(from)?)),
        SUSPEND => Frame::Suspend,
        CONTINUE => Frame::Continue,
        RESUME => {
            let (epoch, received) = (take(from)?, take(from)?);
            Frame::Resume { session: id(from)?, epoch, received }
        }
        MIGRATED => Frame::Migrated(id(from)?),
        WINDOWS => {
            Frame::Windows(Windows { cwnd: take(from)?, rwnd: take(from)?, rtt: span(from, MICROSECOND)? })
        }
        DATAGRAM => Frame::Datagram(octets(from, 0, MOST_DATAGRAM)?),
        EXPIRE => Frame::Expire,
        PING => Frame::Ping,
        _ => return None,
    })
}

fn capabilities(bits: u64) -> Option<Capabilities> {
    let known = Capabilities { datagrams: bits & DATAGRAMS != 0, windows: bits & HINTS != 0 };
    (bits & !(DATAGRAMS | HINTS) == 0).then_some(known)
}

fn span(from: &mut Bytes, unit: Duration) -> Option<Duration> {
    take(from)?.checked_mul(unit.as_nanos()).map(Duration::from_nanos)
}

fn octets(from: &mut Bytes, least: usize, most: usize) -> Option<Bytes> {
    let len = usize::try_from(take(from)?).ok()?;
    (len >= least && len <= most && len <= from.len()).then(|| from.split_to(len))
}

fn id(from: &mut Bytes) -> Option<Id> {
    let mut id = [0; 16];
    from.try_copy_to_slice(&mut id).ok()?;
    Some(Id(id))
}
