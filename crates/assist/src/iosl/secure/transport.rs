//! What is sealed after the handshake: records in their order, and datagrams in any.
//!
//! Both have the keys of the handshake (Noise §5.2, Split). A nonce is used once: records count up from 0 and say nothing of it, as
//! Noise §5.1 has it. A datagram brings its counter (Noise §11.4), whose nonces are those from 2^63 on, which no record comes to.
//! A window says which have come, as in RFC 9147 §4.5.1.

use bytes::Bytes;
use snow::StatelessTransportState;

use super::replay::Replay;
use super::{Broken, MOST_PLAIN};
use crate::iosl::frame::varint;

/// The least nonce of a datagram.
const DATAGRAMS: u64 = 1 << 63;

/// So many datagrams have one key: RFC 9001 appendix B.1.1 has this for AES-GCM and packets of up to 2^11 octets. What comes after them
/// goes in records.
const MOST_DATAGRAMS: u64 = 1 << 28;

/// Octets around a datagram: its counter, four at most, and the tag.
pub const AROUND_DATAGRAM: usize = 4 + TAG;

const TAG: usize = 16;

/// Seals and opens what follows the handshake of one path.
pub(super) struct Transport {
    keys: Box<StatelessTransportState>,
    records_out: u64,
    records_in: u64,
    datagrams_out: u64,
    datagrams_in: Replay,
}

impl Transport {
    pub(super) fn new(keys: StatelessTransportState) -> Self {
        let datagrams_in = Replay::default();
        Self { keys: Box::new(keys), records_out: 0, records_in: 0, datagrams_out: 0, datagrams_in }
    }

    /// The next record: its length in `message`.
    pub(super) fn write(&mut self, payload: &[u8], message: &mut [u8]) -> Result<usize, Broken> {
        let nonce = next(&mut self.records_out)?;
        Ok(self.keys.write_message(nonce, payload, message)?)
    }

    /// What is inside the peer's next record: its length in `payload`.
    pub(super) fn read(&mut self, message: &[u8], payload: &mut [u8]) -> Result<usize, Broken> {
        let nonce = next(&mut self.records_in)?;
        Ok(self.keys.read_message(nonce, message, payload)?)
    }

    pub(super) fn may_write_datagram(&self) -> bool {
        self.datagrams_out < MOST_DATAGRAMS
    }

    /// A datagram behind its counter. [`None`]: it is too long, or there were too many.
    pub(super) fn write_datagram(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        if !self.may_write_datagram() || datagram.len() > MOST_PLAIN {
            return None;
        }
        let counter = self.datagrams_out;
        let mut sealed = Vec::with_capacity(AROUND_DATAGRAM + datagram.len());
        varint::put(&mut sealed, counter);
        let begin = sealed.len();
        sealed.resize(begin + datagram.len() + TAG, 0);
        self.keys.write_message(DATAGRAMS | counter, datagram, &mut sealed[begin..]).ok()?;
        self.datagrams_out += 1;
        Some(sealed)
    }

    /// What is inside a datagram. [`None`]: somebody else has made it, or changed it, or it has come before, or long after later ones.
    pub(super) fn read_datagram(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let mut rest = Bytes::copy_from_slice(sealed);
        let counter = varint::take(&mut rest).filter(|counter| *counter < MOST_DATAGRAMS)?;
        if !self.datagrams_in.is_new(counter) {
            return None;
        }
        let mut datagram = vec![0; rest.len()];
        let len = self.keys.read_message(DATAGRAMS | counter, &rest, &mut datagram).ok()?;
        datagram.truncate(len);
        // Not before: whoever has no keys moves no window.
        self.datagrams_in.note(counter);
        Some(datagram)
    }
}

fn next(count: &mut u64) -> Result<u64, Broken> {
    let nonce = *count;
    *count = nonce.checked_add(1).filter(|next| *next <= DATAGRAMS).ok_or(Broken)?;
    Ok(nonce)
}
