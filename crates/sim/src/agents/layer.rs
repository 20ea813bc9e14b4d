//! The ID-oriented socket layer of stations, after [iosl]: each looks at its radio and controls the connections of its host.
//!
//! It is no member of a chain: it sees no packets. `run/network/layer.rs` carries out what it says.

use std::collections::BTreeMap;

use handfast_assist::iosl::network::{Measured, Monitor, Notice};
use handfast_core::{BitRate, Db, Duration, Instant, Stream};
use handfast_plan::fades::Fades;
use handfast_plan::radios::Radios;
use handfast_scenario::{Iosl, LinkId, NodeId, Scenario};

use crate::engine::queue::Timer;

/// All of them.
pub(crate) struct Layers {
    pub(crate) of: BTreeMap<NodeId, Layer>,
    fades: Fades,
    pub(crate) timer: Timer,
}

/// The layer of one station.
pub(crate) struct Layer {
    pub(crate) spec: Iosl,
    pub(crate) monitor: Monitor,
    /// The radio link that it is on.
    pub(crate) on: LinkId,
    /// Its end of that link.
    end: usize,
    /// When the radio reports next.
    reports: Instant,
    stream: Stream,
}

impl Layers {
    /// None yet.
    pub(crate) fn new(fades: Fades, timer: Timer) -> Self {
        Self { of: BTreeMap::new(), fades, timer }
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
        let on = scenario.nodes[node].ap.and_then(|ap| Radios::new(scenario).link(node, ap));
        let on = on.ok_or_else(|| format!("station `{name}` has no link to an access point"))?;
        let end = usize::from(scenario.links[on].between[1] == node);
        let monitor = Monitor::new(spec.monitor);
        let layer = Layer { spec: *spec, monitor, on, end, reports: Instant::ZERO + spec.sampling, stream };
        match self.of.insert(node, layer) {
            Some(_) => Err(format!("station `{name}` has two socket layers")),
            None => Ok(()),
        }
    }

    /// When something is to be done next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.of.values().map(Layer::deadline).min()
    }

    /// The station whose link this is.
    pub(crate) fn on(&mut self, link: LinkId) -> Option<(NodeId, &mut Layer)> {
        self.of.iter_mut().find(|(_, layer)| layer.on == link).map(|(&node, layer)| (node, layer))
    }

    /// A station's radio reports, if that is due. `rate`: what its end of a link carries. `srtt`: of one of its connections.
    pub(crate) fn report(
        &mut self,
        now: Instant,
        node: NodeId,
        rate: impl FnOnce(LinkId, usize) -> BitRate,
        srtt: Option<Duration>,
        notices: &mut Vec<Notice>,
    ) {
        let Self { of, fades, .. } = self;
        let Some(layer) = of.get_mut(&node) else { return };
        layer.monitor.on_timer(now, notices);
        if layer.reports > now {
            return;
        }
        layer.reports = now + layer.spec.sampling;
        let Some(srtt) = srtt else { return };
        layer.monitor.on_rtt(srtt);
        let sinr = fades.sinr(layer.on, now);
        let measured = layer.measure(sinr, rate(layer.on, layer.end));
        layer.monitor.on_measured(now, &measured, notices);
    }
}

impl Layer {
    /// The station is on another link.
    pub(crate) fn moves(&mut self, comes: LinkId, end: usize) {
        (self.on, self.end) = (comes, end);
    }

    fn deadline(&self) -> Instant {
        self.monitor.deadline().map_or(self.reports, |due| due.min(self.reports))
    }

    /// What the radio reports: the SINR is wrong by up to the noise, uniformly.
    fn measure(&mut self, sinr: Db, rate: BitRate) -> Measured {
        let noise = u64::try_from(self.spec.noise.0).unwrap_or(0);
        let wrong = self.stream.below(2 * noise + 1) as i64 - noise as i64;
        let sinr = Some(Db((i64::from(sinr.0) + wrong) as i32));
        let rate = BitRate::from_bps(rate.as_bps() * u64::from(self.spec.estimate) / 100);
        Measured { sinr, rate: Some(rate), ..Measured::default() }
    }
}
