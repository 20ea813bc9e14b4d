//! What an endpoint gets and gives: a segment with what the IP header says besides.

use handfast_wire::IpFacts;
use handfast_wire::tcp::Segment;

/// A segment that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The segment; its checksum is right, its ports are those of the connection.
    pub segment: &'a Segment,
    /// What stood in the IP header.
    pub ip: IpFacts,
}

impl<'a> Received<'a> {
    /// In a plain packet: no marks, no options.
    pub const fn plain(segment: &'a Segment) -> Self {
        Self { segment, ip: IpFacts::PLAIN }
    }
}

/// A segment that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// What goes into the IP header.
    pub ip: IpFacts,
}

impl Transmit {
    /// In a plain packet: no marks, no options.
    #[inline]
    pub(crate) const fn plain(segment: Segment) -> Self {
        Self { segment, ip: IpFacts::PLAIN }
    }
}
