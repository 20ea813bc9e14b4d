//! The result of a run as JSON. This is the single definition of its keys and what they mean.
//!
//! Names carry their unit. What is not known is `null`, never 0. In a simulation's result nothing depends on the machine or
//! the time of day: the same scenario, scheme and seed give the same bytes.

use std::collections::BTreeMap;

use handfast_host::transport::Figures;
use serde::Serialize;

use crate::metrics::Values;

/// What `--json` prints: runs and how to read them.
#[derive(Clone, Debug, Serialize)]
pub struct Document<R> {
    /// The version of this schema.
    pub schema: u32,
    /// The version of handfast that made it.
    pub version: &'static str,
    /// One object a run.
    pub runs: Vec<R>,
}

/// The version of the schema: it changes when a key changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// One scenario under one scheme with one seed.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The scenario's name.
    pub scenario: String,
    /// Hash of the scenario's resolved content.
    pub scenario_hash: String,
    /// The scheme's name.
    pub scheme: String,
    /// "sim" or "lab".
    pub backend: &'static str,
    /// The run's seed.
    pub seed: u64,
    /// Whether the run counts. Always true of a simulation; a run in the lab whose packet loop was late does not count.
    pub valid: bool,
    /// How long the run lasted, in the scenario's time.
    pub duration_s: f64,
    /// Segments and acknowledgements, counted once on arrival at their destination endpoint.
    pub packets: Option<u64>,
    /// Links that packets passed, packets that were lost later included.
    pub packet_hops: Option<u64>,
    /// Bytes of IP packets that passed links, each link by itself; null in the lab.
    pub byte_hops: Option<u64>,
    /// The flows together.
    pub aggregate: Values,
    /// Each flow, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// Each handover and outage that began within the run, in order of time.
    pub handovers: Vec<HandoverResult>,
    /// What a controller or the agents of nodes have counted, by the names of their own; null where nobody counts, and where a
    /// controller was started again.
    pub controller: Option<BTreeMap<String, u64>>,
    /// What became of losses in the segments of paths in which nodes repair them, by the node where a segment ends; null where no
    /// node does, and in the lab.
    pub segments: Option<Vec<SegmentResult>>,
    /// Kernel, processor, lateness: only in the lab; null in a simulation.
    pub environment: Option<Environment>,
}

/// The machine that a run in the lab ran on, and how well it kept time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Environment {
    /// Name and release of the kernel, as `uname -sr` prints it.
    pub kernel: String,
    /// The processor's model name.
    pub processor: String,
    /// Processors online.
    pub cores: u32,
    /// The machine's load over the last minute when the run began.
    pub load_1min: Option<f64>,
    /// Whether the packet loop had real-time priority.
    pub realtime: bool,
    /// How late the packet loop put packets onto the wire, half of them at most.
    pub lateness_p50_s: Option<f64>,
    /// How late it put 99 % of them at most: above 1 ms the run is not valid.
    pub lateness_p99_s: Option<f64>,
    /// How late the latest of all was.
    pub lateness_max_s: Option<f64>,
    /// By node what its kernel counted during the run, with the names of nstat(8); what stood still is left out.
    pub counters: BTreeMap<String, BTreeMap<String, u64>>,
    /// Why the run does not count, one sentence each.
    pub problems: Vec<String>,
}

/// The last part of a path, up to a node that notices losses: a segment begins at the node before that does, or at the sending edge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentResult {
    /// The sending edge of the path.
    pub from: String,
    /// The receiving edge of the path.
    pub to: String,
    /// The node where the segment ends.
    pub at: String,
    /// Losses that the node has asked for. Those of them that are in none of the following came by themselves.
    pub noticed: u64,
    /// Losses that were repaired by what it had asked for.
    pub repaired: u64,
    /// Losses whose repair came too late or not at all.
    pub given_up: u64,
    /// From the first sign of a loss to its repair, mean; null where nothing was repaired.
    pub repair_mean_s: Option<f64>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowResult {
    /// Its name.
    pub flow: String,
    /// The sender's node.
    pub from: String,
    /// The receiver's node.
    pub to: String,
    /// When the sender opened the connection; null where the run ended before.
    pub start_s: Option<f64>,
    /// When its connection was closed or given up at the sender; null where it was open at the end of the run.
    pub end_s: Option<f64>,
    /// "not-started", "open", "closed", or why the connection died: "reset", "handshake-timeout", "timeout", "aborted".
    pub outcome: &'static str,
    /// Its metrics ([`crate::metrics::METRICS`]).
    #[serde(flatten)]
    pub metrics: Values,
    /// Further figures, by their keys: those of its endpoint that have no line in the table of metrics.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A handover or an outage, and what flows made of it. For a handover "the link goes down" is the end of the old
/// association, and "the link is back" the beginning of the new one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandoverResult {
    /// The station that lost its link, or the link's name where no end of it is a station.
    pub station: String,
    /// The name of the link that went down.
    pub link: String,
    /// The access point that the station roamed to; null: the same link came back.
    pub to: Option<String>,
    /// When the link went down.
    pub down_s: f64,
    /// When it was back; null where that is after the run's end.
    pub up_s: Option<f64>,
    /// From link back to first new data at the receiving application: the longest of the flows concerned; null where there
    /// is none, or one of them never moved again.
    pub stall_s: Option<f64>,
    /// From link back to the beginning of the first second in which the flow delivered at 90 % or more of its mean rate in
    /// the five seconds before the outage: the longest of the flows concerned; null where there is none, or one of
    /// them never got there before the run or flow ended or the next outage began.
    pub time_to_full_rate_s: Option<f64>,
    /// The flows whose path crosses the link, in either direction, and that were open when it came back.
    pub flows: Vec<FlowHandover>,
}

/// One flow in one outage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowHandover {
    /// Its name.
    pub flow: String,
    /// As in [`HandoverResult`].
    pub stall_s: Option<f64>,
    /// As in [`HandoverResult`].
    pub time_to_full_rate_s: Option<f64>,
}

impl<R> Document<R> {
    /// Wraps runs.
    pub fn new(runs: Vec<R>) -> Self {
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), runs }
    }
}

impl<R: Serialize> Document<R> {
    /// The document as text.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

impl RunResult {
    /// One run as text.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Structs of numbers and strings have no way to fail; a float that is not finite becomes null.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("keys are strings and nothing here refuses to be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_wraps_runs() {
        let json = Document::new(vec![1, 2]).to_json();
        assert_eq!(
            json,
            format!("{{\"schema\":1,\"version\":\"{}\",\"runs\":[1,2]}}", env!("CARGO_PKG_VERSION"))
        );
    }
}
