//! On which switches a station has rules: those of its paths, and no others (`[sdn]` §3.4, route establishment).

use std::collections::BTreeSet;

use handfast_wire::openflow::EthAddr;

use super::super::Outbox;
use super::{Shared, Station};

impl Station {
    /// Whether its rules belong on a switch.
    pub(super) fn concerns(&self, datapath_id: u64, shared: &Shared) -> bool {
        self.sources.is_none() && !Self::overlaid(shared) || self.installed.contains(&datapath_id)
    }

    /// The switches between whom it has to do with and where it is, or was last.
    pub(super) fn path(&self, shared: &Shared) -> BTreeSet<u64> {
        let fabric = &shared.config.fabric;
        if Self::overlaid(shared) {
            return self
                .last
                .and_then(|ap| fabric.access_point(ap))
                .map(|at| at.datapath_id)
                .into_iter()
                .collect();
        }
        let (Some(sources), Some(ap)) = (&self.sources, self.last) else {
            return shared.switches.ready().into_iter().collect();
        };
        // Where it hangs, all paths end: also those from whom it has not heard yet.
        let end = fabric.access_point(ap).map(|at| at.datapath_id);
        sources.iter().flat_map(|&source| fabric.path(source, ap)).chain(end).collect()
    }

    /// The switches that have rules for it, or get them now.
    pub(super) fn reinstalled(&mut self, shared: &Shared) -> BTreeSet<u64> {
        let path = self.path(shared);
        self.installed.extend(path);
        self.installed.clone()
    }

    /// A host has sent it something: its rules reach up to that host from now on.
    pub(crate) fn heard_from(&mut self, source: EthAddr, shared: &mut Shared, out: &mut Outbox) {
        if Self::overlaid(shared) {
            return;
        }
        let Some(sources) = &mut self.sources else { return };
        match shared.config.fabric.hosts.get(&source) {
            Some(&switch) if !sources.insert(switch) => return,
            Some(_) => {}
            // It moves itself, or nobody has told of it.
            None => self.sources = None,
        }
        let before = self.installed.clone();
        for datapath_id in self.reinstalled(shared).difference(&before) {
            self.install(*datapath_id, shared, out);
        }
    }
}
