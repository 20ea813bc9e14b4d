//! Frames that came in, and how long they may be.

/// Frames that one system call moves at most.
pub const BATCH: usize = 32;
/// The longest frame handled: 9,216 bytes (what switches call jumbo) and an Ethernet header with a tag.
pub const MAX_FRAME: usize = 9_216 + 18;

/// The longest frame with [`super::packet_socket::PacketSocket::with_uncut`]: an IP packet of 65,535 bytes, and an Ethernet
/// header with a tag.
pub const MAX_UNCUT: usize = 65_535 + 18;

/// An interface's index (`if_nametoindex(3)`), valid in one namespace.
pub type Interface = u32;

/// A frame that came in.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// Where.
    pub interface: Interface,
    /// When the kernel got it, nanoseconds of `CLOCK_REALTIME`.
    pub at: Option<u64>,
    /// The frame, without frame check sequence; [`None`]: longer than [`MAX_FRAME`].
    pub frame: Option<&'a [u8]>,
    /// Its checksum was left for a network card to write: the sending interface has checksum offload on.
    pub checksum_missing: bool,
    /// The outermost 802.1Q tag, which is not in `frame` any more: type and control information, as they stand before the
    /// Ethernet type.
    pub tag: Option<[u8; 4]>,
    /// A card was to cut it into parts with so many bytes of payload; [`None`]: it is what it would be on a wire.
    pub uncut: Option<u16>,
}
