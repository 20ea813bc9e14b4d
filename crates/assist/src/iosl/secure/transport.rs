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

#[cfg(test)]
mod tests {
    use super::super::channel::builder;
    use super::super::{Entropy, Keys, Pattern};
    use super::*;

    /// The two ends of a path, after a handshake.
    fn pair() -> [Transport; 2] {
        let [own, peer] = [1, 2].map(|number| Keys::new([number; 32]));
        let of = |keys, seed| builder(keys, Pattern::Ik, b"", Entropy::new([seed; 32])).unwrap();
        let mut one = of(&own, 3).remote_public_key(&peer.public().0).unwrap().build_initiator().unwrap();
        let mut other = of(&peer, 4).build_responder().unwrap();
        let (mut message, mut payload) = ([0; 200], [0; 200]);
        let len = one.write_message(&[], &mut message).unwrap();
        other.read_message(&message[..len], &mut payload).unwrap();
        let len = other.write_message(&[], &mut message).unwrap();
        one.read_message(&message[..len], &mut payload).unwrap();
        [one, other].map(|state| Transport::new(state.into_stateless_transport_mode().unwrap()))
    }

    fn record(from: &mut Transport, payload: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut message = vec![0; payload.len() + TAG];
        let len = from.write(payload, &mut message)?;
        message.truncate(len);
        Ok(message)
    }

    fn read(to: &mut Transport, message: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut payload = vec![0; message.len()];
        let len = to.read(message, &mut payload)?;
        payload.truncate(len);
        Ok(payload)
    }

    /// Noise §5.1: a nonce that comes again shows what is sealed.
    #[test]
    fn no_two_messages_have_one_nonce() {
        let [mut one, mut other] = pair();
        let mut all: Vec<Vec<u8>> = (0..200).map(|_| record(&mut one, b"the same").unwrap()).collect();
        for _ in 0..200 {
            let sealed = one.write_datagram(b"the same").unwrap();
            assert_eq!(other.read_datagram(&sealed).unwrap(), b"the same");
            all.push(sealed[sealed.len() - 8 - TAG..].to_vec());
        }
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), 400);
    }

    /// Those of datagrams begin where they end.
    #[test]
    fn the_nonces_of_records_have_an_end() {
        let [mut one, mut other] = pair();
        (one.records_out, other.records_in) = (DATAGRAMS - 1, DATAGRAMS - 1);
        let last = record(&mut one, b"the last").unwrap();
        assert_eq!(read(&mut other, &last).unwrap(), b"the last");
        assert_eq!(record(&mut one, b"one more"), Err(Broken));
        let datagram = one.write_datagram(b"a datagram").unwrap();
        assert_eq!(read(&mut other, &datagram[1..]), Err(Broken), "nor is a datagram a record");
        assert_eq!(other.read_datagram(&datagram).unwrap(), b"a datagram");
    }

    /// RFC 9001 §6.6: "endpoints MUST count the number of encrypted packets for each set of keys".
    #[test]
    fn a_key_seals_no_more_datagrams_than_it_may() {
        let [mut one, mut other] = pair();
        one.datagrams_out = MOST_DATAGRAMS - 1;
        assert!(one.may_write_datagram());
        let sealed = one.write_datagram(b"the last").unwrap();
        assert_eq!(sealed.len(), b"the last".len() + AROUND_DATAGRAM, "no counter is longer");
        assert_eq!(other.read_datagram(&sealed).unwrap(), b"the last");
        assert!(!one.may_write_datagram());
        assert_eq!(one.write_datagram(b"one more"), None);
        assert!(record(&mut one, b"in a record").is_ok_and(|record| read(&mut other, &record).is_ok()));
        // Of a peer that goes on all the same.
        let mut beyond = Vec::new();
        varint::put(&mut beyond, MOST_DATAGRAMS);
        let begin = beyond.len();
        beyond.resize(begin + TAG, 0);
        one.keys.write_message(DATAGRAMS | MOST_DATAGRAMS, &[], &mut beyond[begin..]).unwrap();
        assert_eq!(other.read_datagram(&beyond), None);
    }

    #[test]
    fn a_datagram_is_as_long_as_a_record_may_be() {
        let [mut one, mut other] = pair();
        let longest = vec![7; MOST_PLAIN];
        assert_eq!(one.write_datagram(&vec![7; MOST_PLAIN + 1]), None);
        let sealed = one.write_datagram(&longest).unwrap();
        assert_eq!(sealed.len(), MOST_PLAIN + 1 + TAG, "the first counter, since nothing was sealed before");
        assert_eq!(other.read_datagram(&sealed), Some(longest));
        let empty = one.write_datagram(b"").unwrap();
        assert_eq!((empty.len(), other.read_datagram(&empty)), (1 + TAG, Some(Vec::new())));
    }

    #[test]
    fn who_has_no_keys_moves_no_window() {
        let [mut one, mut other] = pair();
        let first = one.write_datagram(b"first").unwrap();
        let mut forged = Vec::new();
        varint::put(&mut forged, MOST_DATAGRAMS - 1);
        forged.resize(forged.len() + TAG, 0);
        for junk in [&forged[..], &forged[..4], &first[..TAG], &first[..1], &[]] {
            assert_eq!(other.read_datagram(junk), None);
        }
        assert_eq!(other.read_datagram(&first).unwrap(), b"first");
        assert_eq!(other.read_datagram(&first), None);
    }
}
