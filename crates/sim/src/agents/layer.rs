//! The ID-oriented socket layer of stations, after [iosl]: each looks at its radio and controls the connections of its host.
//!
//! It is no member of a chain: it sees no packets. `run/network/layer.rs` carries out what it says.

use std::collections::BTreeMap;

use handfast_assist::iosl::network::{Measured, Monitor};
use handfast_core::{BitRate, Db, Instant, Stream};
use handfast_plan::fades::Fades;
use handfast_plan::radios::Radios;
use handfast_scenario::{Iosl, LinkId, NodeId, Scenario};

use crate::engine::queue::Timer;

/// All of them.
pub(crate) struct Layers {
    pub(crate) by_station: BTreeMap<NodeId, Layer>,
    /// Which address of its station each radio link leads to.
    addresses: BTreeMap<LinkId, (NodeId, usize)>,
    fades: Fades,
    pub(crate) timer: Timer,
}

/// The layer of one station.
pub(crate) struct Layer {
    pub(crate) spec: Iosl,
    pub(crate) monitor: Monitor,
    /// The radio link of the station's association.
    pub(crate) link: LinkId,
    /// The station's end of that link.
    end: usize,
    /// When the radio reports next.
    reports: Instant,
    stream: Stream,
}

impl Layers {
    /// None yet.
    pub(crate) fn new(fades: Fades, timer: Timer) -> Self {
        Self { by_station: BTreeMap::new(), addresses: BTreeMap::new(), fades, timer }
    }

    /// One more.
    ///
    /// # Errors
    /// One sentence that says why the station cannot have one.
    pub(crate) fn add(
        &mut self,
        scenario: &Scenario,
        node: NodeId,
        spec: &Iosl,
        stream: Stream,
    ) -> Result<(), String> {
        let name = &scenario.nodes[node].name;
        let radios = Radios::new(scenario);
        let on = scenario.nodes[node].ap.and_then(|ap| radios.link(node, ap));
        let on = on.ok_or_else(|| format!("station `{name}` has no link to an access point"))?;
        if scenario.on_air.contains_key(&on) {
            return Err(format!(
                "station `{name}` shares airtime: its layer would not see the signal of its place"
            ));
        }
        let ap_of = |link: LinkId| scenario.radio(link).filter(|&(station, _)| station == node);
        let more = &scenario.nodes[node].more_aps;
        for (link, (_, ap)) in (0..scenario.links.len()).filter_map(|link| Some((link, ap_of(link)?))) {
            let address = more.iter().position(|&other| other == ap).map_or(0, |further| further + 1);
            self.addresses.insert(link, (node, address));
        }
        let end = usize::from(scenario.links[on].between[1] == node);
        let monitor = Monitor::new(spec.monitor);
        let layer = Layer {
            spec: spec.clone(),
            monitor,
            link: on,
            end,
            reports: Instant::ZERO + spec.sampling,
            stream,
        };
        match self.by_station.insert(node, layer) {
            Some(_) => Err(format!("station `{name}` has two socket layers")),
            None => Ok(()),
        }
    }

    /// When something is to be done next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.by_station.values().map(Layer::deadline).min()
    }

    /// The station that has a radio link, and which of its addresses it leads to.
    pub(crate) fn address_on(&self, link: LinkId) -> Option<(NodeId, usize)> {
        self.addresses.get(&link).copied()
    }

    /// The radio links of all stations.
    pub(crate) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.addresses.keys().copied()
    }

    /// The station whose link this is.
    pub(crate) fn station_on(&self, link: LinkId) -> Option<NodeId> {
        self.by_station.iter().find(|(_, layer)| layer.link == link).map(|(&node, _)| node)
    }

    /// A station's monitor, and what its radio reports now. `rate`: what a connection has of a link from one of its ends.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        node: NodeId,
        rate: impl FnOnce(LinkId, usize) -> BitRate,
    ) -> Option<(&mut Monitor, Measured)> {
        let Self { by_station, fades, .. } = self;
        let layer = by_station.get_mut(&node)?;
        let measured = layer.measure(fades.sinr(layer.link, now), rate(layer.link, layer.end));
        Some((&mut layer.monitor, measured))
    }
}

impl Layer {
    /// Whether the radio reports now; then it does so again after `sampling`.
    pub(crate) fn reports(&mut self, now: Instant) -> bool {
        let due = self.reports <= now;
        if due {
            self.reports = now + self.spec.sampling;
        }
        due
    }

    /// The station's association is over another link.
    pub(crate) fn move_to(&mut self, link: LinkId, end: usize) {
        (self.link, self.end) = (link, end);
    }

    fn deadline(&self) -> Instant {
        self.monitor.deadline().map_or(self.reports, |due| due.min(self.reports))
    }

    /// What the radio reports: the SINR is wrong by up to the noise, uniformly.
    fn measure(&mut self, sinr: Db, rate: BitRate) -> Measured {
        let noise = u64::try_from(self.spec.noise.0).unwrap_or(0);
        let wrong = self.stream.below(2 * noise + 1) as i64 - noise as i64;
        let sinr = Some(Db((i64::from(sinr.0) + wrong) as i32));
        Measured { sinr, rate: Some(self.reported(rate)), ..Measured::default() }
    }

    /// What the radio reports of a link's rate, or of a part of it.
    pub(crate) fn reported(&self, rate: BitRate) -> BitRate {
        BitRate::from_bps(rate.as_bps() * u64::from(self.spec.estimate) / 100)
    }
}
