//! The frames under way: buffers that are used again.

/// A frame in the slab.
pub(super) type Handle = u32;

/// Frames held at most: what 50,000 a second make of links that hold them for two seconds. More are refused, and spoil the run.
const MOST: usize = 1 << 17;

/// A frame as it came, and where the IP packet in it ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// One past its last byte; 0: it carries no IP packet.
    pub(super) ip_end: usize,
}

/// A slab of frames. The slot freed last is used first: it is still in the cache.
#[derive(Debug, Default)]
pub(super) struct Frames {
    slots: Vec<Frame>,
    free: Vec<Handle>,
}

impl Frames {
    /// Copies a frame in; [`None`]: there is no room.
    pub(super) fn insert(&mut self, bytes: &[u8], ip_end: usize) -> Option<Handle> {
        let handle = self.slot()?;
        let slot = &mut self.slots[handle as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        slot.ip_end = ip_end;
        Some(handle)
    }

    /// A second frame like the first; [`None`]: there is no room.
    pub(super) fn duplicate(&mut self, handle: Handle) -> Option<Handle> {
        let copy = self.slot()?;
        self.slots[copy as usize] = self.slots[handle as usize].clone();
        Some(copy)
    }

    pub(super) fn get(&self, handle: Handle) -> &Frame {
        &self.slots[handle as usize]
    }

    pub(super) fn get_mut(&mut self, handle: Handle) -> &mut Frame {
        &mut self.slots[handle as usize]
    }

    pub(super) fn free(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    fn slot(&mut self) -> Option<Handle> {
        if let Some(handle) = self.free.pop() {
            return Some(handle);
        }
        let fits = self.slots.len() < MOST;
        fits.then(|| {
            self.slots.push(Frame::default());
            (self.slots.len() - 1) as Handle
        })
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
