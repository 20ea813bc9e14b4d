//! Where loss recovery stands: what congestion control is told and loss recovery decides.

/// Where a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No loss known.
    #[default]
    Open,
    /// No loss known. A mark reduces the window, by proportional rate reduction (Linux's `TCP_CA_CWR`).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a timeout (or Tahoe's fast retransmit): slow start from SND.UNA on.
    Loss,
}

impl Phase {
    /// Losses are under repair.
    pub(crate) fn repairs(self) -> bool {
        matches!(self, Self::Recovery | Self::Loss)
    }

    /// cwnd is on its way to ssthresh (`tcp_in_cwnd_reduction`).
    pub(crate) fn reduces(self) -> bool {
        matches!(self, Self::Cwr | Self::Recovery)
    }
}
