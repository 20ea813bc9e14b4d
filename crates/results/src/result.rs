//! The result of a run as JSON. This is the single definition of its keys and what they mean.
//!
//! Names carry their unit. What is not known is `null`, never 0. In a simulation's result nothing depends on the machine or
//! the time of day: the same scenario, scheme and seed give the same bytes.

use std::collections::BTreeMap;

use handfast_host::transport::Figures;
use serde::Serialize;

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
    /// The flows together.
    pub aggregate: Aggregate,
    /// Each flow, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// Each handover and outage that began within the run, in order of time.
    pub handovers: Vec<HandoverResult>,
    /// What an SDN controller has counted, by the names of its own; null without one, and where it was started again.
    pub controller: Option<BTreeMap<String, u64>>,
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

/// The flows together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Aggregate {
    /// New bytes that all receiving applications got, from the first to the last byte of any; null with fewer than two
    /// deliveries.
    pub goodput_bps: Option<f64>,
    /// What senders that knew everything could have delivered in all, from the first start to the last end of a flow: the
    /// row "capacity limit" of a table.
    pub limit_bps: Option<f64>,
    /// Sum over flows.
    pub delivered_bytes: u64,
    /// Mean over outages and the flows in them; null where there is none, or one of them never moved again.
    pub stall_s: Option<f64>,
    /// Mean over outages and the flows in them; null where there is none, or one of them never got there.
    pub time_to_full_rate_s: Option<f64>,
    /// The longest of all flows.
    pub idle_s: Option<f64>,
    /// Sum over flows.
    pub retransmitted_segments: Option<u64>,
    /// Sum over flows.
    pub timeouts: Option<u64>,
    /// Sum over flows.
    pub spurious_timeouts: Option<u64>,
    /// Sum over flows.
    pub lost_segments: Option<u64>,
    /// Mean over flows.
    pub cwnd_mean_pkt: Option<f64>,
    /// The smallest of all flows.
    pub cwnd_min_pkt: Option<f64>,
    /// Jain's index of the flows' goodput, 1 / number of flows to 1; null with fewer than two flows.
    pub fairness: Option<f64>,
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
    /// New bytes delivered to the receiving application, from the first to the last byte; null with fewer than two
    /// deliveries.
    pub goodput_bps: Option<f64>,
    /// What a sender that knew everything could have delivered, outages counted as time: the links on the path shared max-min
    /// fairly among the active flows, less headers. Losses and propagation delay are left out.
    pub limit_bps: Option<f64>,
    /// New bytes delivered to the receiving application.
    pub delivered_bytes: u64,
    /// First and last delivery.
    pub first_byte_s: Option<f64>,
    /// Last delivery.
    pub last_byte_s: Option<f64>,
    /// Mean over the outages this flow was in; null where there is none, or it never moved again after one.
    pub stall_s: Option<f64>,
    /// Mean over the outages this flow was in; null where there is none, or it never got there after one.
    pub time_to_full_rate_s: Option<f64>,
    /// The longest time without a delivery, from the first one to the end of the flow or the run.
    pub idle_s: Option<f64>,
    /// Segments with payload that the sender repeated.
    pub retransmitted_segments: Option<u64>,
    /// Expiries of the sender's retransmission timer.
    pub timeouts: Option<u64>,
    /// Timeouts that the sender found spurious.
    pub spurious_timeouts: Option<u64>,
    /// Entries into fast retransmit.
    pub fast_retransmits: Option<u64>,
    /// Segments with payload that the sender sent, retransmissions included.
    pub data_segments_sent: Option<u64>,
    /// Segments of the sender with payload that the network lost or corrupted: full queues, loss processes, outages,
    /// agents.
    pub lost_segments: Option<u64>,
    /// The sender's congestion window in full segments, weighted by time from the handshake to the end of the flow.
    pub cwnd_mean_pkt: Option<f64>,
    /// Its smallest value.
    pub cwnd_min_pkt: Option<f64>,
    /// The sender's smoothed round-trip time at the end; null before the first sample.
    pub srtt_s: Option<f64>,
    /// Further figures, by their keys: only of a flow whose endpoint has some.
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

impl Aggregate {
    /// The flows and outages together.
    pub fn of(flows: &[FlowResult], handovers: &[HandoverResult], limit_bps: Option<f64>) -> Self {
        let sum_known = |get: fn(&FlowResult) -> Option<u64>| flows.iter().map(get).sum();
        let known = |get: fn(&FlowResult) -> Option<f64>| flows.iter().filter_map(get).collect::<Vec<_>>();
        let goodputs = known(|f| f.goodput_bps);
        let pairs = || handovers.iter().flat_map(|handover| &handover.flows);
        Self {
            goodput_bps: together(flows),
            limit_bps,
            delivered_bytes: flows.iter().map(|f| f.delivered_bytes).sum(),
            stall_s: mean_if_all_known(pairs().map(|pair| pair.stall_s)),
            time_to_full_rate_s: mean_if_all_known(pairs().map(|pair| pair.time_to_full_rate_s)),
            idle_s: known(|f| f.idle_s).into_iter().reduce(f64::max),
            retransmitted_segments: sum_known(|f| f.retransmitted_segments),
            timeouts: sum_known(|f| f.timeouts),
            spurious_timeouts: sum_known(|f| f.spurious_timeouts),
            lost_segments: sum_known(|f| f.lost_segments),
            cwnd_mean_pkt: mean_if_all_known(known(|f| f.cwnd_mean_pkt).into_iter().map(Some)),
            cwnd_min_pkt: known(|f| f.cwnd_min_pkt).into_iter().reduce(f64::min),
            fairness: fairness(&goodputs, flows.len()),
        }
    }
}

/// All bytes from the first delivery to the last.
fn together(flows: &[FlowResult]) -> Option<f64> {
    let first = flows.iter().filter_map(|flow| flow.first_byte_s).reduce(f64::min)?;
    let last = flows.iter().filter_map(|flow| flow.last_byte_s).reduce(f64::max)?;
    let bits = flows.iter().map(|flow| flow.delivered_bytes as f64 * 8.0).sum::<f64>();
    (last > first).then(|| bits / (last - first))
}

/// Jain's index; a flow without goodput counts as zero.
fn fairness(goodputs: &[f64], flows: usize) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|g| g * g).sum();
    (flows > 1 && squares > 0.0).then(|| sum * sum / (flows as f64 * squares))
}

/// The mean; [`None`] for no values, or where one is not known: leaving out those that never recovered would flatter.
pub fn mean_if_all_known(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The largest; [`None`] for no values, or where one is not known.
pub fn max_if_all_known(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flow_that_never_recovers_leaves_the_mean_unknown() {
        assert_eq!(mean_if_all_known([Some(1.0), Some(3.0)].into_iter()), Some(2.0));
        assert_eq!(mean_if_all_known([Some(1.0), None].into_iter()), None);
        assert_eq!(mean_if_all_known([].into_iter()), None);
        assert_eq!(max_if_all_known([Some(1.0), Some(3.0)].into_iter()), Some(3.0));
        assert_eq!(max_if_all_known([None, Some(3.0)].into_iter()), None);
    }

    #[test]
    fn jains_index() {
        assert_eq!(fairness(&[5.0, 5.0], 2), Some(1.0));
        assert_eq!(fairness(&[5.0], 2), Some(0.5));
        assert_eq!(fairness(&[5.0], 1), None);
        assert_eq!(fairness(&[], 2), None);
    }

    #[test]
    fn the_document_wraps_runs() {
        let json = Document::new(vec![1, 2]).to_json();
        assert_eq!(
            json,
            format!("{{\"schema\":1,\"version\":\"{}\",\"runs\":[1,2]}}", env!("CARGO_PKG_VERSION"))
        );
    }
}
