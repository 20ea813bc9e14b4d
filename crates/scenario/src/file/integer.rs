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
    /// A number of segments.
    Segments: u8 = 1..=255
}
