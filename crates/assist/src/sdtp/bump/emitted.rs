//! Frames that leave, one behind the other in one buffer.

use std::ops::Range;

use handfast_wire::Packet;

use super::Side;

/// Frames that leave, in order.
#[derive(Debug, Default)]
pub struct Emitted {
    /// Those that leave, and behind them what left before: to clear memory for each frame costs as much as to write it.
    bytes: Vec<u8>,
    used: usize,
    frames: Vec<(Side, Range<usize>)>,
}

impl Emitted {
    /// A frame as it is.
    pub(super) fn push(&mut self, side: Side, frame: &[u8]) {
        self.room(frame.len()).copy_from_slice(frame);
        self.take(side, frame.len());
    }

    /// A packet in its frame; false: it has no form on the wire.
    pub(super) fn emit(&mut self, side: Side, packet: &Packet) -> bool {
        let Ok(len) = packet.emit_into(self.room(packet.wire_len())) else { return false };
        self.take(side, len);
        true
    }

    /// Memory for a frame.
    fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if self.bytes.len() < end {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        &mut self.bytes[self.used..end]
    }

    fn take(&mut self, side: Side, len: usize) {
        let start = self.used;
        self.used += len;
        self.frames.push((side, start..self.used));
    }

    /// Each with the side by which it leaves.
    pub fn frames(&self) -> impl Iterator<Item = (Side, &[u8])> {
        self.frames.iter().map(|(side, range)| (*side, &self.bytes[range.clone()]))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// They have left.
    pub fn clear(&mut self) {
        self.used = 0;
        self.frames.clear();
    }
}
