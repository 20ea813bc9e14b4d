//! What a retransmission node is told about its segment and about how it detects losses.

use handfast_core::Duration;

use super::disorder::Level;

/// How a retransmission node detects losses (`[sdtp]` §III-C 2), and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// At which level `CntThres` is determined.
    pub level: Level,
    /// After which requests the nodes downstream get an RI.
    pub inform: Inform,
    /// The round trip to the first node of the CR segment and back, without queues: the floor of the retransmission timeout, and
    /// a third of it before the first sample.
    pub segment_round_trip: Duration,
    /// ΔT of equation (1), where it is known; [`None`]: the node measures it.
    pub sending_interval: Option<Duration>,
    /// `ΔT_E` is never shorter: packets that a host or an interface sends in one go are next to no time apart.
    pub least_interval: Duration,
    /// For how long a hole is asked for before it is given up (RFC 3366 §4.1: the persistence of a link's ARQ is bounded).
    pub persistence: Duration,
    /// For how many packets behind the last one there may be a request by time.
    pub most_ahead: u16,
    /// How many content windows are kept.
    pub most_windows: usize,
}

/// After which requests a retransmission node sends an RI, with `CntThres` at packet level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inform {
    /// None.
    Never,
    /// Those of trigger C (`[sdtp]` §III-C 3).
    #[default]
    Count,
    /// Those of trigger T as well: equation (2) has an `a_k` for them.
    CountAndTime,
}

impl Thresholds {
    /// The defaults on a segment with this round trip.
    pub fn new(segment_round_trip: Duration) -> Self {
        Self {
            level: Level::Packet,
            inform: Inform::Count,
            segment_round_trip,
            sending_interval: None,
            least_interval: Duration::from_millis(1),
            persistence: Duration::from_millis(200),
            most_ahead: 3,
            most_windows: 256,
        }
    }
}
