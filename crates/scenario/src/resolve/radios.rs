//! The radio of each station: its links to access points, and the one that is up at the start.

use std::collections::{BTreeMap, BTreeSet};

use super::links::Links;
use super::nodes::Nodes;
use crate::file::{AccessPoints, Located, Named, NodeTable};
use crate::model::{LinkId, NodeId, NodeKind, radio};
use handfast_document::{Checked, Problem};

/// For each station that has any, its links to access points, in file order.
pub(super) struct Radios(BTreeMap<NodeId, Vec<(NodeId, LinkId)>>);

impl Radios {
    /// Finds them, and associates each station with the access point that the file says, or else with that of its
    /// first link.
    pub(super) fn resolve(tables: &Named<NodeTable>, nodes: &mut Nodes, links: &Links) -> Checked<Self> {
        let mut this = Self(BTreeMap::new());
        for (id, link) in links.list.iter().enumerate() {
            let Some((station, ap)) = radio(&nodes.list, link.between) else { continue };
            if this.link(station, ap).is_some() {
                let (station_name, ap_name) = (&nodes.list[station].name, &nodes.list[ap].name);
                let title = format!("station `{station_name}` has two links to `{ap_name}`");
                let problem = Problem::at(nodes.spans[station].clone(), title);
                return Err(problem.help("its links to access points are one radio: one to each"));
            }
            this.0.entry(station).or_default().push((ap, id));
        }
        for (&station, radio_links) in &this.0 {
            nodes.list[station].ap = radio_links.first().map(|&(ap, _)| ap);
        }
        for (name, table) in &tables.0 {
            let Some(ap) = &table.ap else { continue };
            // Generated nodes come after those of the file.
            let id = nodes.find(&Located { span: name.span.clone(), value: name.value.0.clone() })?;
            if nodes.list[id].kind != NodeKind::Station {
                let problem = Problem::at(ap.span.clone(), format!("`{}` is no station", name.value.0));
                return Err(problem.expected("only for nodes of kind \"station\""));
            }
            let names = ap.value.0.iter().map(|name| Located { span: ap.span.clone(), value: name.clone() });
            let mut aps = names.map(|name| this.find(id, &name, nodes)).collect::<Checked<Vec<_>>>()?;
            this.check_several(&aps, ap, tables, links)?;
            nodes.list[id].ap = Some(aps.remove(0));
            nodes.list[id].more_aps = aps;
        }
        Ok(this)
    }

    /// Radios that are there at the same time: packets tell them apart by their addresses, and so by the networks of these.
    fn check_several(
        &self,
        aps: &[NodeId],
        given: &Located<AccessPoints>,
        tables: &Named<NodeTable>,
        links: &Links,
    ) -> Checked<()> {
        let wrong = |title: String, help: &str| Err(Problem::at(given.span.clone(), title).help(help));
        let network = |ap: NodeId| tables.0.get(ap).and_then(|(_, table)| table.network.as_ref());
        let mut networks = BTreeSet::new();
        for &ap in aps.iter().filter(|_| aps.len() > 1) {
            let Some(network) = network(ap) else {
                return wrong(
                    "a station with several access points at once, and one of them names no `network`"
                        .to_owned(),
                    "give each of them a `network` of its own: the station has an address in each",
                );
            };
            if !networks.insert(network.value.0.as_str()) {
                let title = format!("a station with two radios in the network `{}`", network.value.0);
                return wrong(title, "give each of its access points a `network` of its own");
            }
            if self.0.values().flatten().any(|&(other, link)| other == ap && links.is_on_air(link)) {
                return wrong("a station with links on the air has one radio".to_owned(), "leave out `air`");
            }
        }
        Ok(())
    }

    /// The link between a station and an access point.
    pub(super) fn link(&self, station: NodeId, ap: NodeId) -> Option<LinkId> {
        self.of(station).iter().find(|&&(known, _)| known == ap).map(|&(_, link)| link)
    }

    /// A station's links to access points.
    pub(super) fn of(&self, station: NodeId) -> &[(NodeId, LinkId)] {
        self.0.get(&station).map_or(&[], Vec::as_slice)
    }

    /// The access point called `name`, to which `station` must have a link.
    pub(super) fn find(&self, station: NodeId, name: &Located<String>, nodes: &Nodes) -> Checked<NodeId> {
        let id = nodes.find(name)?;
        if self.link(station, id).is_some() {
            return Ok(id);
        }
        let title =
            format!("station `{}` has no link to an access point `{}`", nodes.list[station].name, name.value);
        let names = self.of(station).iter().map(|&(ap, _)| nodes.list[ap].name.as_str());
        Err(Problem::at(name.span.clone(), title)
            .expected("expected an access point that the station has a link to")
            .nearest(&name.value, names))
    }
}
