//! How packets pass a channel. Where nothing unforeseen can happen to a link, a packet's arrival is known when it enters:
//! it has an entry of its own in the event queue, and the link is not touched again.

use handfast_core::Bytes;
use handfast_core::prefetch::CACHE_LINE;
use handfast_net::Foreseen;

use crate::engine::entry::Rank;
use crate::engine::fast_path::arrival_fifos::FifoId;

/// The length of the shortest IP packet (RFC 791 §3.1).
const LEAST: Bytes = Bytes(20);

/// Whether packets fly through a channel.
#[derive(Debug, Default)]
#[repr(u32, align(64))]
pub(crate) enum Transit {
    /// No: they wait in its link. An event of the link takes them on.
    #[default]
    Queued,
    /// Yes: they land at its far end.
    Direct(FarEnd, Foreseen),
    /// Yes: at its far end they go on by links that nothing else enters (`tandem.rs`).
    Tandem(FarEnd, Foreseen),
    /// Yes: the next hop is found when they land, because agents at its far end see them or stations roam.
    ToNode(FarEnd, Foreseen),
}

const _: () = assert!(size_of::<Transit>() == 2 * CACHE_LINE);

/// Where packets fly that enter a channel. Beside the link, not around it: so one that finds the line idle touches one cache
/// line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FarEnd {
    /// That of the channel.
    pub(crate) rank: Rank,
    /// The node at its far end.
    pub(crate) to: u32,
    pub(crate) fifo: FifoId,
}

impl Transit {
    /// That of a channel through which nothing keeps packets from flying but, perhaps, its link. `leads`: in tandem with the
    /// next. `shows`: the node at its far end decides when they land.
    pub(crate) fn of(link: Option<Foreseen>, rank: Rank, to: u32, leads: bool, shows: bool) -> Self {
        let Some(link) = link else { return Self::Queued };
        let fifo = if link.separates(LEAST) { FifoId::ANY } else { FifoId::NONE };
        let far_end = FarEnd { rank, to, fifo };
        match (leads, shows) {
            (_, true) => Self::ToNode(far_end, link),
            (true, false) => Self::Tandem(far_end, link),
            (false, false) => Self::Direct(far_end, link),
        }
    }

    #[inline]
    pub(crate) fn parts(&mut self) -> Option<(&mut FarEnd, &mut Foreseen)> {
        match self {
            Self::Queued => None,
            Self::Direct(far_end, link) | Self::Tandem(far_end, link) | Self::ToNode(far_end, link) => {
                Some((far_end, link))
            }
        }
    }

    /// Whether packets fly through it.
    #[inline]
    pub(crate) fn is_foreseen(&self) -> bool {
        !matches!(self, Self::Queued)
    }

    /// Whether the node at its far end decides what becomes of them.
    #[inline]
    pub(crate) fn lands_at_node(&self) -> bool {
        matches!(self, Self::ToNode(..))
    }

    /// Whether what flies through it goes on without landing.
    #[inline]
    pub(crate) fn is_tandem(&self) -> bool {
        matches!(self, Self::Tandem(..))
    }
}
