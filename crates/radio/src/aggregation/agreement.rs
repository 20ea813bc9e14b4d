//! A block acknowledgment agreement: the originator's side, and its recipient.

use std::collections::VecDeque;

use handfast_net::queue::PacketMeta;

use super::Recipient;

/// A packet with its sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mpdu<H> {
    pub(crate) packet: PacketMeta<H>,
    pub(crate) sequence: u64,
    /// How often it has been sent.
    pub(crate) attempts: u32,
    /// What becomes of the attempt that is on the air.
    pub(crate) arrives: bool,
    /// Whether it arrives wrong all the same.
    pub(crate) corrupted: bool,
}

/// What an originator knows of its MPDUs, and the recipient at the other end.
#[derive(Debug)]
pub(crate) struct Agreement<H> {
    /// The number of the next new MPDU.
    next: u64,
    /// Those with a number that are not on the air, by it.
    pub(crate) waiting: VecDeque<Mpdu<H>>,
    /// Exchanges in a row that nobody answered.
    pub(crate) failures: u32,
    pub(crate) recipient: Recipient<(H, bool)>,
}

impl<H> Default for Agreement<H> {
    fn default() -> Self {
        Self { next: 0, waiting: VecDeque::new(), failures: 0, recipient: Recipient::default() }
    }
}

impl<H: Copy> Agreement<H> {
    /// A packet that is sent for the first time.
    pub(crate) fn number(&mut self, packet: PacketMeta<H>) -> Mpdu<H> {
        let sequence = self.next;
        self.next += 1;
        Mpdu { packet, sequence, attempts: 0, arrives: false, corrupted: false }
    }

    /// Whether the window has room for a new MPDU: `oldest` is the first one of those on the air (IEEE 802.11-2020 §10.25.6.7).
    pub(crate) fn has_room(&self, oldest: Option<u64>, window: u16) -> bool {
        let start = oldest.unwrap_or(self.next).min(self.start());
        self.next < start + u64::from(window)
    }

    /// The first number that is neither acknowledged nor given up, where nothing is on the air: `WinStartO`.
    pub(crate) fn start(&self) -> u64 {
        self.waiting.front().map_or(self.next, |mpdu| mpdu.sequence)
    }

    /// The station has gone: what waits, and what the recipient has not handed up. Both begin anew.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = H> {
        let Self { waiting, mut recipient, .. } = std::mem::take(self);
        let held = recipient.clear().map(|(handle, _)| handle);
        held.chain(waiting.into_iter().map(|mpdu| mpdu.packet.handle))
    }
}
