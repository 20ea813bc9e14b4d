//! What events do to links and stations in the course of a run: none may begin before what it builds on has ended.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant};

use super::network::Network;
use super::paths::Islands;
use crate::file::EventTable;
use crate::model::{Action, Event, Fade, LinkId, NodeId, radio};
use handfast_document::{Checked, Problem};

/// Where things stand after the events so far, at the latest: phases are drawn later.
pub(super) struct Course<'a> {
    network: &'a Network<'a>,
    /// When each link is back from its last outage.
    back: Vec<Option<Instant>>,
    /// When the signal of each link is strong again after its last fade.
    strong: Vec<Instant>,
    /// Of each node that is a station: its access point, and when its last handover has ended.
    stations: Vec<(Option<NodeId>, Instant)>,
    islands: Islands<'a>,
    /// Whom each station has flows with.
    peers: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// Handovers, by station and goal, after which flows find their way.
    found: BTreeSet<(NodeId, NodeId)>,
}

impl<'a> Course<'a> {
    pub(super) fn new(network: &'a Network<'a>) -> Self {
        let stations = network.nodes.list.iter().map(|node| (node.ap, Instant::ZERO));
        let mut peers = BTreeMap::<_, BTreeSet<_>>::new();
        for flow in &network.flows.list {
            peers.entry(flow.from).or_default().insert(flow.to);
            peers.entry(flow.to).or_default().insert(flow.from);
        }
        Self {
            network,
            back: vec![None; network.links.list.len()],
            strong: vec![Instant::ZERO; network.links.list.len()],
            stations: stations.collect(),
            islands: Islands::new(network.nodes, &network.links.list),
            peers,
            found: BTreeSet::new(),
        }
    }

    /// Takes the next event in order of time; `table` is where it stands.
    pub(super) fn take(&mut self, event: &Event, table: &EventTable) -> Checked<()> {
        match event.action {
            Action::Fade { link, gap } => self.fades(event, link, gap, table)?,
            Action::Outage { link, gap, .. } => {
                self.fades(event, link, gap, table)?;
                self.outage(event.at, link, table)?;
                self.back[link] = Some(event.at + event.phase + gap + event.longer);
            }
            Action::Handover { station, to, gap, .. } => {
                self.handover(event.at, station, to, table)?;
                let radios = self.network.radios.of(station);
                if let Some(&(_, left)) = radios.iter().find(|(ap, _)| Some(*ap) == self.stations[station].0)
                {
                    self.fades(event, left, gap, table)?;
                }
                self.stations[station] = (Some(to), event.at + event.phase + gap + event.longer);
            }
            Action::SetRate { .. } | Action::SetDelay { .. } | Action::Restart { .. } => {}
        }
        Ok(())
    }

    /// The signal of a link does one thing at a time.
    fn fades(&mut self, event: &Event, link: LinkId, gap: Duration, table: &EventTable) -> Checked<()> {
        let Some(Fade { ramp, .. }) = event.fade else { return Ok(()) };
        let strong = self.strong[link];
        if event.at.since(Instant::ZERO) < strong.since(Instant::ZERO) + ramp && strong > Instant::ZERO {
            let name = &self.network.links.list[link].name;
            let title = format!("the signal of link `{name}` falls before it has risen again, at {strong}");
            return Err(
                Problem::at(table.at.span.clone(), title).help("leave more time, or make `fade` shorter")
            );
        }
        self.strong[link] = event.at + event.phase + gap + event.longer + ramp;
        Ok(())
    }

    /// An outage that may begin while its link is still gone has no clear end.
    fn outage(&self, at: Instant, link: LinkId, table: &EventTable) -> Checked<()> {
        let of = &self.network.links.list[link];
        if let Some(back) = self.back[link].filter(|&back| at < back) {
            let title = format!("link `{}` is still gone then: the outage before ends at {back}", of.name);
            return Err(Problem::at(table.at.span.clone(), title));
        }
        let Some((station, ap)) = radio(&self.network.nodes.list, of.between) else { return Ok(()) };
        self.settled(at, station, table)?;
        let now = self.stations[station].0;
        if now == Some(ap) || self.network.nodes.list[station].more_aps.contains(&ap) {
            return Ok(());
        }
        let title = format!("station `{}` is not at `{}` then", self.name(station), self.name(ap));
        let span = table.link.as_ref().map_or(&table.at.span, |link| &link.span);
        let problem = Problem::at(span.clone(), title).expected("this link is down anyway");
        Err(match now {
            Some(now) => problem.help(format!("it is at `{}`", self.name(now))),
            None => problem,
        })
    }

    fn handover(&mut self, at: Instant, station: NodeId, to: NodeId, table: &EventTable) -> Checked<()> {
        self.settled(at, station, table)?;
        self.reachable(station, to, table)?;
        for &(_, link) in self.network.radios.of(station) {
            if let Some(back) = self.back[link].filter(|&back| at < back) {
                let name = &self.network.links.list[link].name;
                let title = format!("link `{name}` is still gone then: its outage ends at {back}");
                let problem = Problem::at(table.at.span.clone(), title);
                return Err(problem.help("a handover is an outage of its own: give it a longer `gap`"));
            }
        }
        Ok(())
    }

    /// From the new access point a way leads to all that the station has flows with.
    fn reachable(&mut self, station: NodeId, to: NodeId, table: &EventTable) -> Checked<()> {
        if !self.found.insert((station, to)) {
            return Ok(());
        }
        let mut peers = self.peers.get(&station).into_iter().flatten();
        let Some(&lost) = peers.find(|&&peer| !self.islands.reaches(to, peer)) else { return Ok(()) };
        let title = format!("no path leads from `{}` to `{}`", self.name(to), self.name(lost));
        let span = table.to.as_ref().map_or(&table.at.span, |to| &to.span);
        Err(Problem::at(span.clone(), title)
            .expected(format!("`{}` has a flow with it", self.name(station)))
            .help("only switches and access points forward packets"))
    }

    /// No handover of the station may still be under way.
    fn settled(&self, at: Instant, station: NodeId, table: &EventTable) -> Checked<()> {
        let ended = self.stations[station].1;
        if at >= ended {
            return Ok(());
        }
        let name = self.name(station);
        let title = format!("station `{name}` is still roaming then: the handover before ends at {ended}");
        Err(Problem::at(table.at.span.clone(), title))
    }

    fn name(&self, node: NodeId) -> &'a str {
        &self.network.nodes.list[node].name
    }
}
