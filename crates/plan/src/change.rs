//! Changes of the network as elementary steps.
//!
//! [`crate::timeline::Timeline`] is the one interpreter of a scenario's events: it resolves an outage, a handover or the roam of a
//! station that moves into these steps, in the order in which they apply. The simulator, the lab's packet loop and bridges, the
//! trackers of outages and the capacity limit only carry steps out. None of them decides what a handover means for a link.

use handfast_core::{BitRate, Dbm, Duration, Instant};
use handfast_scenario::{DownMode, LinkId, NodeId};

use crate::topology::{ChannelId, channel};

/// Index into [`crate::timeline::Timeline::outages`].
pub type OutageId = usize;

/// One step at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The window over which "the rate before" an outage is measured begins.
    RateWindowBegins(OutageId),
    /// An outage or a handover begins.
    OutageBegins(OutageId),
    /// A station leaves the access point at the other end of its radio link.
    AssociationEnds {
        /// The station.
        station: NodeId,
        /// The radio link to the access point that it leaves.
        link: LinkId,
    },
    /// Both directions of a link go down.
    LinkDown(LinkId, DownMode),
    /// Make-before-break: the link stays up, and what it holds still arrives.
    LinkDrains(LinkId),
    /// A station is associated with another access point: its flows take the new link from now on.
    AssociationBegins {
        /// The handover that this completes.
        handover: OutageId,
        /// The station.
        station: NodeId,
        /// The radio link of the association before.
        old_link: LinkId,
        /// The radio link of this association.
        new_link: LinkId,
    },
    /// Both directions of a link come up again; the mode is that with which the outage began.
    LinkUp(LinkId, DownMode),
    /// The address that a station had in the network that it leaves is nobody's.
    AddressEnds(NodeId),
    /// It has one in the network that it has come to.
    AddressBegins(NodeId),
    /// An outage or a handover is over.
    OutageEnds(OutageId),
    /// One direction of a link gets another rate.
    Rate(ChannelId, BitRate),
    /// One direction of a link gets another propagation delay.
    Delay(ChannelId, Duration),
    /// A link on the air has another signal.
    Signal(LinkId, Dbm),
    /// The agents of a node forget all that they know.
    Restart(NodeId),
}

impl Change {
    /// The channels of the links that this step touches.
    pub fn channels(self) -> impl Iterator<Item = ChannelId> {
        let channels = match self {
            Self::Rate(id, _) | Self::Delay(id, _) => [Some(id), None],
            Self::LinkDown(link, _)
            | Self::LinkDrains(link)
            | Self::LinkUp(link, _)
            | Self::Signal(link, _) => [0, 1].map(|end| Some(channel(link, end))),
            Self::RateWindowBegins(_)
            | Self::OutageBegins(_)
            | Self::AssociationEnds { .. }
            | Self::AssociationBegins { .. }
            | Self::AddressEnds(_)
            | Self::AddressBegins(_)
            | Self::OutageEnds(_)
            | Self::Restart(_) => [None; 2],
        };
        channels.into_iter().flatten()
    }
}

/// An outage of one link, or a handover from one radio link of a station to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// The station that roams; [`None`]: the same link comes back.
    pub station: Option<NodeId>,
    /// The link that goes down.
    pub old_link: LinkId,
    /// The link that comes up: for a handover that to the new access point.
    pub new_link: LinkId,
    /// What becomes of the packets of the old link.
    pub mode: DownMode,
    /// Make-before-break: packets in flight on the old link still arrive. `mode` is ignored.
    pub drain: bool,
    /// The new access point is of another IP network: the station gets another address.
    pub vertical: bool,
    /// When the old link goes down.
    pub down: Instant,
    /// When the new link comes up.
    pub up: Instant,
}

impl Outage {
    /// The steps of its beginning, in the order in which they apply.
    pub(crate) fn begins(&self, id: OutageId) -> impl Iterator<Item = Change> {
        let ends = self.station.map(|station| Change::AssociationEnds { station, link: self.old_link });
        let link = if self.drain {
            Change::LinkDrains(self.old_link)
        } else {
            Change::LinkDown(self.old_link, self.mode)
        };
        let address = self.station.filter(|_| self.vertical).map(Change::AddressEnds);
        std::iter::once(Change::OutageBegins(id)).chain(ends).chain(std::iter::once(link)).chain(address)
    }

    /// The steps of its end, in the order in which they apply: paths change before packets can pass the new link.
    pub(crate) fn ends(&self, id: OutageId) -> impl Iterator<Item = Change> {
        let &Self { old_link, new_link, mode, .. } = self;
        let begins = self.station.map(|station| Change::AssociationBegins {
            handover: id,
            station,
            old_link,
            new_link,
        });
        let up = begins.into_iter().chain(std::iter::once(Change::LinkUp(new_link, mode)));
        // Its radio reports before it has an address.
        let address = self.station.filter(|_| self.vertical).map(Change::AddressBegins);
        up.chain(address).chain(std::iter::once(Change::OutageEnds(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(station: Option<NodeId>, drain: bool) -> Outage {
        let (down, up) = (Instant::ZERO, Instant::from_millis(1));
        let mode = DownMode::Drop;
        Outage { station, old_link: 3, new_link: 4, mode, drain, vertical: false, down, up }
    }

    #[test]
    fn an_outage_of_a_link_touches_no_association() {
        let outage = Outage { new_link: 3, mode: DownMode::Hold, ..outage(None, false) };
        let begins = [Change::OutageBegins(7), Change::LinkDown(3, DownMode::Hold)];
        assert!(outage.begins(7).eq(begins));
        assert!(outage.ends(7).eq([Change::LinkUp(3, DownMode::Hold), Change::OutageEnds(7)]));
    }

    #[test]
    fn a_handover_breaks_before_it_makes_unless_it_drains() {
        let leaves = Change::AssociationEnds { station: 9, link: 3 };
        let comes = Change::AssociationBegins { handover: 7, station: 9, old_link: 3, new_link: 4 };
        for (drain, link) in [(false, Change::LinkDown(3, DownMode::Drop)), (true, Change::LinkDrains(3))] {
            let outage = outage(Some(9), drain);
            assert!(outage.begins(7).eq([Change::OutageBegins(7), leaves, link]));
            let ends = [comes, Change::LinkUp(4, DownMode::Drop), Change::OutageEnds(7)];
            assert!(outage.ends(7).eq(ends));
        }
    }

    #[test]
    fn a_station_that_comes_to_another_network_gets_its_address_once_its_link_is_up() {
        let outage = Outage { vertical: true, ..outage(Some(9), false) };
        assert_eq!(outage.begins(7).last(), Some(Change::AddressEnds(9)));
        let ends: Vec<_> = outage.ends(7).skip(1).collect();
        let expected = [Change::LinkUp(4, DownMode::Drop), Change::AddressBegins(9), Change::OutageEnds(7)];
        assert_eq!(ends, expected);
    }

    #[test]
    fn a_step_names_the_channels_that_it_touches() {
        let of = |change: Change| change.channels().collect::<Vec<_>>();
        assert_eq!(of(Change::Rate(5, BitRate::from_bps(1))), [5]);
        assert_eq!(of(Change::LinkDrains(3)), [6, 7]);
        assert_eq!(of(Change::LinkUp(3, DownMode::Drop)), [6, 7]);
        assert!(of(Change::OutageBegins(3)).is_empty());
    }
}
