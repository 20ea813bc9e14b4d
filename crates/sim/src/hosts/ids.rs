//! The IDs of associations at each host with a layer ([iosl] V.C): one an association.

use handfast_assist::iosl::ids::{Connection, Ends, Id, IdManager, Most, Socket};
use handfast_core::Stream;
use handfast_scenario::{FlowId, NodeId};

/// The IDs of one host.
#[derive(Debug)]
pub(crate) struct HostIds {
    ids: IdManager,
    application: Option<Id>,
}

impl HostIds {
    /// None yet.
    pub(crate) fn new(seed: u64, node: NodeId) -> Self {
        let mut secret = [0; 32];
        let mut stream = Stream::new(seed, &format!("iosl ids {node}"));
        for part in secret.chunks_mut(8) {
            part.copy_from_slice(&stream.bits().to_be_bytes());
        }
        let mut ids = IdManager::new(&secret, Most { applications: 1, connections: usize::MAX });
        let application = ids.open_application().ok();
        Self { ids, application }
    }

    /// The ID of the association of a flow; [`None`]: there is no room for one more.
    pub(crate) fn open(&mut self, flow: FlowId, ends: Ends) -> Option<Id> {
        let connection = Some(Connection::Sctp(ends));
        self.ids.open(self.application?, Socket(flow as u64), connection).ok()
    }
}
