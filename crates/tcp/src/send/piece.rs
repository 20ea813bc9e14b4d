//! What goes into one segment, and why it goes now.

/// Octets of the send stream to go out in one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    /// One past the last; the FIN counts as an octet.
    pub(crate) end: u64,
    pub(crate) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The first octets outstanding: fast retransmit, a partial acknowledgement, or a timeout.
    Head,
    /// `NextSeg` rules 1 and 3.
    Hole,
    /// `NextSeg` rule 4.
    Rescue,
    /// From SND.NXT on.
    Next,
    /// A zero-window probe.
    Probe,
    /// A tail loss probe (RFC 8985 §7.3).
    LossProbe,
    /// What the radio has lost, as acknowledgements say ([eln] §3.6).
    Marked,
}
