//! The radio of each station: its links to access points, and the one that is up at the start.

use std::collections::BTreeMap;

use super::links::Links;
use super::nodes::Nodes;
use crate::file::{Located, Named, NodeTable};
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
            nodes.list[id].ap = Some(this.find(id, ap, nodes)?);
        }
        Ok(this)
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
