//! Structured logs: one JSON object a line on standard error. No packet's bytes are ever in them.

use handfast_assist::sdn::{Controller, Ignored, Record};
use handfast_wire::openflow::{Action, Body, EthAddr, FlowMod, FlowModCommand, Instruction, PortNo};
use tracing::level_filters::LevelFilter;
use tracing::{debug, info, warn};

use crate::config::Level;

/// Logs from here on.
pub fn start(level: Level) {
    let most = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt().json().flatten_event(true).with_target(false);
    // It fails where a log was started before: that one goes on.
    let _ = log.with_max_level(most).with_writer(std::io::stderr).try_init();
}

/// One record of the machine. `access_points`: their names.
pub(crate) fn record(record: &Record, access_points: &[String]) {
    match record {
        Record::SwitchReady { datapath_id } => info!(switch = id(*datapath_id), "switch ready"),
        Record::SwitchUnknown { datapath_id } => {
            warn!(switch = id(*datapath_id), "switch unknown: no access point is reached by it");
        }
        Record::SwitchGone { datapath_id, why } => {
            info!(switch = datapath_id.map(id), why, "switch gone");
        }
        Record::SwitchError { datapath_id, kind, code } => {
            warn!(switch = datapath_id.map(id), kind, code, "switch error");
        }
        Record::NoHandshakes { datapath_id } => {
            warn!(switch = id(*datapath_id), "switch cannot match TCP flags: handshakes are not seen there");
        }
        Record::Associated { station, ap, epoch } => {
            let ap = access_points.get(ap.0 as usize);
            info!(station = address(*station), ap, epoch, "station associated");
        }
        Record::Away { station, epoch } => info!(station = address(*station), epoch, "station away"),
        Record::Ignored { station, why } => {
            info!(station = address(*station), why = reason(*why), "news ignored");
        }
        Record::Released { station, segments, bytes, took } => {
            let (bytes, took_s) = (bytes.0, took.as_secs_f64());
            info!(station = address(*station), segments, bytes, took_s, "released");
        }
        Record::Expired { station, segments } => info!(station = address(*station), segments, "expired"),
        Record::Undelivered { station, segments } => {
            warn!(station = address(*station), segments, "undelivered");
        }
        Record::Evicted { station, segments } => warn!(station = address(*station), segments, "evicted"),
        Record::Would { datapath_id, message } => {
            info!(switch = id(*datapath_id), order = describe(&message.body), "would send");
        }
    }
}

/// The counters of the machine.
pub(crate) fn summary(controller: &Controller) {
    let counters = controller.counters();
    info!(
        held_bytes = controller.held().0,
        connections = controller.connections(),
        packet_ins = counters.packet_ins,
        foreign = counters.foreign,
        held = counters.held,
        duplicates = counters.duplicates,
        acks_replaced = counters.acks_replaced,
        released = counters.released,
        refused = counters.refused,
        evicted = counters.evicted,
        expired = counters.expired,
        late = counters.late,
        strays = counters.strays,
        unsettled = counters.unsettled,
        neighbours = counters.neighbours,
        handshakes = counters.handshakes,
        forgotten = counters.forgotten,
        mid_connection = counters.mid_connection,
        ignored_notices = counters.ignored_notices,
        dropped_other = counters.dropped_other.iter().sum::<u64>(),
        passed_other = counters.passed_other.iter().sum::<u64>(),
        "summary"
    );
}

/// An order to a switch, at the level for those who look for something.
pub(crate) fn sent(conn: u64, body: &Body) {
    debug!(conn, order = describe(body), "sent");
}

fn id(datapath_id: u64) -> String {
    format!("{datapath_id:016x}")
}

fn reason(why: Ignored) -> &'static str {
    match why {
        Ignored::Stale => "stale",
        Ignored::Duplicate => "duplicate",
        Ignored::UnknownAccessPoint => "unknown access point",
        Ignored::TooManyStations => "too many stations",
    }
}

fn address(station: EthAddr) -> String {
    station.map(|octet| format!("{octet:02x}")).join(":")
}

/// An order in words, without any packet's bytes.
fn describe(body: &Body) -> String {
    match body {
        Body::FlowMod(flow_mod) => describe_flow_mod(flow_mod),
        Body::PacketOut(packet) => {
            format!("packet-out of {} B{}", packet.data.len(), describe_actions(&packet.actions))
        }
        Body::Hello(_) => "hello".to_owned(),
        Body::EchoRequest(_) => "echo request".to_owned(),
        Body::EchoReply(_) => "echo reply".to_owned(),
        Body::FeaturesRequest => "features request".to_owned(),
        Body::BarrierRequest => "barrier".to_owned(),
        Body::Error(error) => format!("error {}, {}", error.kind, error.code),
        _ => "another message".to_owned(),
    }
}

fn describe_flow_mod(flow_mod: &FlowMod) -> String {
    let matches = &flow_mod.matches;
    let to =
        matches.eth_dst.map_or_else(|| "all of ours".to_owned(), |to| format!("to {}", address(to.value)));
    let flags =
        matches.tcp_flags.map_or_else(String::new, |flags| format!(" with TCP flags {:#x}", flags.value));
    if flow_mod.command != FlowModCommand::Add {
        return format!("remove flow entries {to}{flags}");
    }
    let actions = flow_mod.instructions.iter().map(|instruction| match instruction {
        Instruction::ApplyActions(actions) => describe_actions(actions),
        _ => " another instruction".to_owned(),
    });
    let actions: String = actions.collect();
    let actions = if actions.is_empty() { ": dropped" } else { &actions };
    let (priority, seconds) = (flow_mod.priority, flow_mod.hard_timeout);
    format!("add flow entry {to}{flags}{actions}; priority {priority}, for {seconds} s")
}

fn describe_actions(actions: &[Action]) -> String {
    let words = actions.iter().map(|action| match action {
        Action::Output { port: PortNo::CONTROLLER, .. } => " to the controller".to_owned(),
        Action::Output { port: PortNo::NORMAL, .. } => " as without OpenFlow".to_owned(),
        Action::Output { port, .. } => format!(" by port {}", port.0),
        Action::Other { .. } => " by another action".to_owned(),
    });
    words.collect()
}
