//! Which connection a segment belongs to.

use std::net::IpAddr;

use handfast_wire::tcp::Segment;

use crate::View;

/// One direction of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionKey {
    /// Who sends.
    pub src: IpAddr,
    /// Who receives.
    pub dst: IpAddr,
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
}

impl ConnectionKey {
    /// The direction in which a packet with this segment goes.
    #[inline]
    pub const fn of(view: &View<'_>, segment: &Segment) -> Self {
        let View { src, dst, .. } = *view;
        Self { src, dst, src_port: segment.src_port, dst_port: segment.dst_port }
    }

    /// The other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { src: self.dst, dst: self.src, src_port: self.dst_port, dst_port: self.src_port }
    }
}
