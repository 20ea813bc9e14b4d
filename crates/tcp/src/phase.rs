//! Where loss recovery stands: what congestion control is told and loss recovery decides.

/// Where a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No loss known.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout (or Tahoe's fast retransmit): slow start from SND.UNA on.
    Loss,
}
