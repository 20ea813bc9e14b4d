//! Frames that leave, one behind the other in one buffer.

use std::ops::Range;

use handfast_wire::Packet;

use super::Side;

/// Frames that leave, in order.
#[derive(Debug, Default)]
pub struct Emitted {
    bytes: Vec<u8>,
    frames: Vec<(Side, Range<usize>)>,
}

impl Emitted {
    /// A frame as it is.
    pub(super) fn push(&mut self, side: Side, frame: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.frames.push((side, start..self.bytes.len()));
    }

    /// A packet in its frame; false: it has no form on the wire.
    pub(super) fn emit(&mut self, side: Side, packet: &Packet) -> bool {
        let start = self.bytes.len();
        let has_form = packet.emit(&mut self.bytes).is_ok();
        if has_form {
            self.frames.push((side, start..self.bytes.len()));
        }
        has_form
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
        self.bytes.clear();
        self.frames.clear();
    }
}
