//! The state of access points that send to stations which have left: their failed frames, and when the controller hears of them.

use std::collections::BTreeMap;

use handfast_assist::sdn::{ApId, Notice, What};
use handfast_core::{BitRate, Bytes, Dbm, Duration, Instant};
use handfast_plan::address::Addresses;
use handfast_plan::association::Associations;
use handfast_plan::fabric::Fabric;
use handfast_plan::topology::{ChannelId, channel};
use handfast_radio::airtime::{Exchange, Physical, Rate};
use handfast_radio::association::LowAck;
use handfast_radio::retries::Retries;
use handfast_scenario::{LinkId, NodeId, Scenario, Sdn};

/// The channels to stations that have left, and when the controller hears of that.
pub(crate) struct LowAcks {
    frames: u32,
    silence: Duration,
    /// From an event to the moment when the controller hears of it.
    notification: Duration,
    /// The number of the association that ends then.
    ends: BTreeMap<(NodeId, Instant), u64>,
    /// The access points' numbers at the controller.
    numbers: BTreeMap<NodeId, ApId>,
    pub(crate) watched: BTreeMap<ChannelId, (LowAck, Notice)>,
}

impl LowAcks {
    /// Those of a run; [`None`]: its controller hears nothing of them.
    pub(crate) fn new(sdn: &Sdn, fabric: &Fabric, associations: &Associations) -> Option<Self> {
        let handfast_scenario::LowAck { frames, silence } = sdn.low_ack?;
        let changes = associations.changes().iter().filter(|change| change.ap.is_none());
        let ends = changes.map(|change| ((change.station, change.at), change.epoch)).collect();
        let numbers = fabric.access_points.iter().map(|at| at.ap).zip((0..).map(ApId)).collect();
        let (notification, watched) = (sdn.notification, BTreeMap::new());
        Some(Self { frames, silence, notification, ends, numbers, watched })
    }

    /// A station leaves; its access point does not know. It was heard just now.
    pub(crate) fn left(
        &mut self,
        now: Instant,
        scenario: &Scenario,
        addresses: &Addresses,
        old_link: LinkId,
    ) {
        let Some((station, ap)) = scenario.radio(old_link) else { return };
        let Some(&epoch) = self.ends.get(&(station, now)) else { return };
        let Some(&number) = self.numbers.get(&ap) else { return };
        let link = &scenario.links[old_link];
        let (end, direction) = if link.between[0] == ap { (0, &link.forward) } else { (1, &link.backward) };
        let failure = match scenario.on_air.get(&old_link) {
            // Out of range, it was at the slowest last.
            Some(air) if air.follows[end] || air.minstrel => {
                air.failure(air.rates.at(Dbm(i32::MIN)), FULL_PACKET)
            }
            Some(air) => air.failure(air.rate(direction.rate), FULL_PACKET),
            None => failure(direction.rate),
        };
        let low = LowAck::new(self.frames, self.silence, failure, now);
        let notice =
            Notice { station: addresses.mac_of(station), ap: number, epoch, what: What::Disassociated };
        self.watched.insert(channel(old_link, end), (low, notice));
    }

    /// A packet has found nobody at the end of a channel: what the controller hears of it, and when.
    pub(crate) fn unheard(&mut self, now: Instant, id: ChannelId) -> Option<(Instant, Notice)> {
        let (low, notice) = self.watched.get_mut(&id)?;
        Some((low.on_frame(now)? + self.notification, *notice))
    }
}

/// An IP packet as most are.
const FULL_PACKET: Bytes = Bytes(1_500);

/// How long a full-sized packet is repeated in vain on a link that is not on the air: at its rate if 802.11g has it, or else the
/// fastest.
fn failure(rate: BitRate) -> Duration {
    let rate = Rate::of_bit_rate(rate).unwrap_or(Rate::Ofdm54);
    Exchange::new(Physical::G, rate, FULL_PACKET).attempts(Retries::default().limit, false)
}
