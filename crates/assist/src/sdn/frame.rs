//! A frame that a switch has sent here, and where it had come in.

use std::ops::Deref;

use bytes::Bytes;
use handfast_wire::openflow::PortNo;

/// Where a frame came in: it can be handed back there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) datapath_id: u64,
    pub(crate) in_port: PortNo,
}

/// A frame, with its Ethernet header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: Bytes,
    pub(crate) origin: Origin,
}

impl Frame {
    /// One of its own: a slice would keep alive the whole buffer in which the message came.
    pub(crate) fn copied(&self) -> Self {
        Self { bytes: Bytes::copy_from_slice(&self.bytes), origin: self.origin }
    }
}

impl Deref for Frame {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

#[cfg(test)]
impl From<Bytes> for Frame {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, origin: Origin { datapath_id: 0, in_port: PortNo(1) } }
    }
}
