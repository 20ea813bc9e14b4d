//! What a sender does with what the network tells it: one file a system. Nothing of it is there in a connection that is told
//! nothing.

pub(crate) mod accecn;
pub(crate) mod ecn;
mod eln;
pub(crate) mod iosl;
mod path_mtu;
pub(crate) mod vho;

use handfast_core::Instant;

use crate::{Config, VhoRules};
pub(crate) use ecn::Ecn;
pub(crate) use eln::{Eln, is_marked};
use iosl::Iosl;
pub use path_mtu::MtuProbing;
pub(crate) use path_mtu::{Decision, PathMtu, Room as PathRoom};
use vho::Vho;

/// The state of all of them.
#[derive(Clone, Debug)]
pub(crate) struct Help {
    pub(crate) vho: Vho,
    /// [`None`]: no such layer controls it.
    pub(crate) iosl: Option<Iosl>,
    /// [`None`]: the size of segments is what the handshake says.
    pub(crate) path: Option<PathMtu>,
    /// [`None`]: routers say nothing of the peer since something was acknowledged.
    pub(crate) disruption: Option<Disruption>,
    /// [`None`]: the driver has taken all so far.
    pub(crate) refusal: Option<Refusal>,
}

/// The driver's queue has refused new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    /// SND.MAX then: once it has moved, that is over.
    pub(crate) at: u64,
    /// When the driver was first asked again (`icsk_probes_tstamp`).
    pub(crate) probing_since: Option<Instant>,
}

/// A disruption that routers tell of (RFC 6069).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disruption {
    /// The first word of it.
    pub(crate) since: Instant,
    /// Timeouts in a row whose backoff was taken back.
    pub(crate) reverted: u8,
}

impl Help {
    /// [`None`]: the configuration asks for none.
    pub(crate) fn new(config: &Config) -> Option<Box<Self>> {
        (config.vho != VhoRules::NONE).then(|| Self::with(config))
    }
    /// Whether the configuration asks for any or not.
    pub(crate) fn with(config: &Config) -> Box<Self> {
        Box::new(Self { vho: Vho::new(config.vho), iosl: None, path: None, disruption: None, refusal: None })
    }
}
