//! Captures: what a node sees of its links, one pcapng file a node.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use handfast_core::Instant;
use handfast_plan::topology::Topology;
use handfast_results::capture::{SNAP_LEN, file_name};
use handfast_scenario::{NodeId, Scenario};
use handfast_wire::pcapng::{Interface, PcapngError, PcapngWriter};
use handfast_wire::{LinkType, Packet};

use crate::RunError;

/// One node's file: an interface a port. A packet is recorded when it arrives, and when the node hands it to a link (the
/// link may yet drop it).
struct Tap {
    path: PathBuf,
    writer: PcapngWriter<BufWriter<File>>,
    interfaces: Vec<Interface>,
}

/// All captures of a run.
#[derive(Default)]
pub(crate) struct Taps {
    /// For each node its tap; empty where nothing is captured.
    of_node: Vec<Option<Box<Tap>>>,
    failed: Option<RunError>,
}

impl Taps {
    /// Creates the files of the scenario's captures in `dir`.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology, dir: &Path) -> Result<Self, RunError> {
        let mut of_node: Vec<_> = std::iter::repeat_with(|| None).take(scenario.nodes.len()).collect();
        for &node in &scenario.captures {
            let path = dir.join(file_name(&scenario.nodes[node].name));
            let tap = Tap::create(scenario, topology, node, &path);
            of_node[node] = Some(Box::new(tap.map_err(|error| RunError::Capture { path, error })?));
        }
        Ok(Self { of_node, failed: None })
    }

    /// Records a packet that passes a port of `node`, if that is captured.
    #[inline]
    pub(crate) fn record(&mut self, now: Instant, node: NodeId, port: u32, packet: &Packet) {
        if let Some(Some(tap)) = self.of_node.get_mut(node) {
            let recorded = tap.writer.record(tap.interfaces[port as usize], now, packet);
            if let (Err(error), None) = (recorded, &self.failed) {
                self.failed = Some(RunError::Capture { path: tap.path.clone(), error });
            }
        }
    }

    /// Whether a node's links are captured.
    pub(crate) fn are_at(&self, node: NodeId) -> bool {
        self.of_node.get(node).is_some_and(Option::is_some)
    }

    /// Whether nothing is captured.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.of_node.is_empty()
    }

    /// Completes the files, and says what went wrong first.
    pub(crate) fn finish(self) -> Result<(), RunError> {
        for tap in self.of_node.into_iter().flatten() {
            let path = tap.path;
            tap.writer.finish().map_err(|error| RunError::Capture { path, error: PcapngError::Io(error) })?;
        }
        self.failed.map_or(Ok(()), Err)
    }
}

impl Tap {
    fn create(
        scenario: &Scenario,
        topology: &Topology,
        node: NodeId,
        path: &Path,
    ) -> Result<Self, PcapngError> {
        let file = File::create(path).map_err(PcapngError::Io)?;
        let mut writer = PcapngWriter::new(BufWriter::new(file)).map_err(PcapngError::Io)?;
        let mut interfaces = Vec::new();
        for attachment in topology.ports(node) {
            let name = &scenario.nodes[attachment.neighbour as usize].name;
            let added = writer
                .add_interface(&format!("to-{name}"), LinkType::RawIp, Some(SNAP_LEN))
                .map_err(PcapngError::Io)?;
            interfaces.push(added);
        }
        Ok(Self { path: path.to_owned(), writer, interfaces })
    }
}
