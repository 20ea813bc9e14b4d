//! Which radio links stations have, and on which of its own each one is.

use std::collections::{BTreeMap, BTreeSet};

use handfast_scenario::{LinkId, NodeId, Scenario};

/// The radio links of all stations, and which of each station's is up.
#[derive(Clone, Debug)]
pub struct Radios {
    /// By station and access point.
    links: BTreeMap<(NodeId, NodeId), LinkId>,
    /// For each station the link that it is on.
    on: BTreeMap<NodeId, LinkId>,
    /// The links of further radios, which are up as well.
    more: BTreeSet<LinkId>,
}

impl Radios {
    /// As they are at the start.
    pub fn new(scenario: &Scenario) -> Self {
        let all = (0..scenario.links.len()).filter_map(|link| Some((scenario.radio(link)?, link)));
        let links: BTreeMap<_, _> = all.collect();
        let at = |(station, node): (NodeId, &handfast_scenario::Node)| Some((station, node.ap?));
        let on = scenario.nodes.iter().enumerate().filter_map(at);
        let on = on.filter_map(|(station, ap)| Some((station, *links.get(&(station, ap))?))).collect();
        let further = |(station, node): (NodeId, &handfast_scenario::Node)| {
            node.more_aps.iter().filter_map(|&ap| links.get(&(station, ap)).copied()).collect::<Vec<_>>()
        };
        let more = scenario.nodes.iter().enumerate().flat_map(further).collect();
        Self { links, on, more }
    }

    /// The station goes to another access point: its old link and its new one. [`None`]: there is no such link.
    pub fn move_to(&mut self, station: NodeId, ap: NodeId) -> Option<(LinkId, LinkId)> {
        let new_link = *self.links.get(&(station, ap))?;
        let old_link = self.on.insert(station, new_link)?;
        Some((old_link, new_link))
    }

    /// The link between a station and an access point.
    pub fn link(&self, station: NodeId, ap: NodeId) -> Option<LinkId> {
        self.links.get(&(station, ap)).copied()
    }

    /// The radio links on which no station is: they are down.
    pub fn idle(&self) -> impl Iterator<Item = LinkId> {
        self.secondary().filter(|link| !self.more.contains(link))
    }

    /// The radio links that no station's first address is reached by: those, and the links of further radios.
    pub fn secondary(&self) -> impl Iterator<Item = LinkId> {
        let on = |station| self.on.get(station).copied();
        self.links
            .iter()
            .filter(move |((station, _), link)| on(station) != Some(**link))
            .map(|(_, link)| *link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn all_radio_links_but_one_are_idle() {
        let scenario = testing::roam(&[]);
        let mut radios = Radios::new(&scenario);
        assert_eq!(radios.idle().collect::<Vec<_>>(), [4]);
        assert_eq!(radios.move_to(4, 3), Some((3, 4)));
        assert_eq!(radios.idle().collect::<Vec<_>>(), [3]);
        assert_eq!(radios.move_to(4, 1), None, "a switch");
    }
}
