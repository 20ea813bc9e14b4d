//! Airtime as a resource that flows share: how much of its access point's medium each link takes for a byte.

use std::collections::BTreeMap;

use handfast_core::{Bytes, Dbm};
use handfast_radio::airtime::{TxRate, TxRates};
use handfast_scenario::{Air, LinkId, NodeId, Scenario};

use crate::topology::{ChannelId, channel};

/// The share of one channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Which medium, as a pipe: these come after those of channels.
    pipe: usize,
    /// Seconds of airtime for a byte of payload.
    cost: f64,
    air: Air,
}

/// All channels on the air.
#[derive(Clone, Debug, Default)]
pub(crate) struct Airtime {
    pub(crate) shares: BTreeMap<ChannelId, Share>,
    /// How many media there are.
    pub(crate) media: usize,
    segment: (u64, u64),
}

impl Airtime {
    /// Those of a scenario; `segment`: payload bytes of a full segment, and its IP bytes.
    pub(crate) fn new(scenario: &Scenario, segment: (u64, u64)) -> Self {
        let mut aps: Vec<NodeId> = Vec::new();
        let mut this = Self { segment, ..Self::default() };
        for (&id, &air) in &scenario.on_air {
            let (link, Some((_, ap))) = (&scenario.links[id], scenario.radio(id)) else { continue };
            let medium = aps.iter().position(|&known| known == ap).unwrap_or_else(|| {
                aps.push(ap);
                aps.len() - 1
            });
            for (end, direction) in [&link.forward, &link.backward].into_iter().enumerate() {
                let rate = air.rate(direction.rate);
                let pipe = 2 * scenario.links.len() + medium;
                this.shares.insert(channel(id, end), Share { pipe, cost: this.cost(&air, rate), air });
            }
        }
        this.media = aps.len();
        this
    }

    fn cost(&self, air: &Air, rate: TxRate) -> f64 {
        let (payload, packet) = self.segment;
        air.airtime(rate, Bytes(packet)).as_secs_f64() / payload as f64
    }

    /// A link has another signal.
    pub(crate) fn adapt(&mut self, link: LinkId, level: Dbm) {
        for end in [0, 1] {
            let Some(&share) = self.shares.get(&channel(link, end)) else { continue };
            let cost = match share.air {
                air if air.follows[end] => self.cost(&air, air.rates.at(level)),
                air if air.minstrel && air.bit_errors.is_none() => self.least_cost(&air, level),
                _ => continue,
            };
            self.shares.insert(channel(link, end), Share { cost, ..share });
        }
    }

    /// What a rate control costs that knows how often each rate fails with this signal: the rate at which a packet takes the least
    /// time, the frames in vain included. No frame has fewer bits than its packet.
    fn least_cost(&self, air: &Air, level: Dbm) -> f64 {
        let TxRates::Mcs(set) = air.rates else { return self.cost(air, air.rates.at(level)) };
        let bits = 8 * self.segment.1;
        let cost = |mcs| {
            let rate = TxRate::Mcs(mcs);
            let arrives = 1.0 - air.attempt(rate, Some(level)).at(rate).error_in(bits);
            // Where nothing arrives at any rate the limit is next to nothing, and a number.
            self.cost(air, rate) / arrives.max(1e-9)
        };
        set.all().map(cost).fold(f64::INFINITY, f64::min)
    }

    /// What a path takes of which pipe for a byte: one of each of its channels', and airtime.
    pub(crate) fn uses<'a>(&'a self, path: &'a [u32]) -> impl Iterator<Item = (usize, f64)> + 'a {
        path.iter().flat_map(|&id| {
            let air = self.shares.get(&(id as usize)).map(|share| (share.pipe, share.cost));
            std::iter::once((id as usize, 1.0)).chain(air)
        })
    }
}
