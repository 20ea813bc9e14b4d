//! Plain integers with bounds.

use handfast_document::integer;

integer! {
    /// A share in thousandths, neither nothing nor everything.
    Permille: u16 = 1..=999
}

integer! {
    /// A number of beacons.
    Beacons: u32 = 1..=10_000
}

integer! {
    /// How often a frame is sent: IEEE 802.11-2020 §C.3 bounds `dot11ShortRetryLimit`.
    Attempts: u32 = 1..=255
}

integer! {
    /// A number of spatial streams.
    Streams: u8 = 1..=8
}

integer! {
    /// A number of frames in an A-MPDU.
    Mpdus: u16 = 1..=256
}

integer! {
    /// A number of segments.
    Segments: u8 = 1..=255
}

integer! {
    /// How often HARQ sends a block: the values of maxHARQ-Tx (TS 36.331 §6.3.2).
    Transmissions: u32 = 1..=28
}

integer! {
    /// How often RLC sends a block again: the values of maxRetxThreshold (TS 36.331 §6.3.2, TS 38.331 §6.3.2).
    Retransmissions: u32 = 1..=32
}
