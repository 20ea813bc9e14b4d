//! What the controller logs: the machine's records, and its counters. No packet's bytes are ever in them.

mod order;

use std::net::IpAddr;

use handfast_assist::sdn::{Controller, DatagramCounts, Ignored, Mode, Policy, Record, Unhelped};
use handfast_wire::openflow::Body;
use tracing::{debug, info, warn};

use super::config::Settings;
use order::{address, describe};

/// One record of the machine.
pub(super) fn record(record: &Record, settings: &Settings) {
    match record {
        Record::SwitchReady { datapath_id, .. } => info!(switch = id(*datapath_id), "switch ready"),
        Record::SwitchUnknown { datapath_id } => {
            warn!(switch = id(*datapath_id), "switch unknown: no access point is reached by it");
        }
        // Its datapath id was never known: the adapter logs the connection.
        Record::SwitchGone { datapath_id: None, why } => debug!(why, "connection gone"),
        Record::SwitchGone { datapath_id, why } => {
            info!(switch = datapath_id.map(id), why, "switch gone");
        }
        // It needs the peer, which only the connections know: `wrong_version`.
        Record::WrongVersion { .. } => {}
        Record::SwitchError { datapath_id, kind, code } => {
            warn!(switch = datapath_id.map(id), kind, code, "switch error");
        }
        Record::NoHandshakes { datapath_id } => {
            warn!(switch = id(*datapath_id), "switch cannot match TCP flags: handshakes are not seen there");
        }
        Record::SwitchNotOurs { datapath_id, why } => {
            let what_to_do = "beside_master = true, if that controller is to share the switch";
            warn!(switch = id(*datapath_id), why, what_to_do, "switch left alone");
        }
        Record::SwitchClaimed { datapath_id, .. } => {
            warn!(
                switch = id(*datapath_id),
                "a second connection claims a switch whose first one lives: closed"
            );
        }
        Record::NoPort { ap } => {
            let at = settings.controller.fabric.access_point(*ap);
            let ap = settings.access_points.get(ap.0 as usize);
            warn!(
                ap,
                port = at.map(|at| at.port.0),
                "the switch has no such port: its stations are not helped"
            );
        }
        Record::Heard { station } => {
            info!(station = address(station.address), vlan = station.vlan, "station heard: it is not away");
        }
        Record::Unhelped { station, why } => {
            warn!(
                station = address(station.address),
                vlan = station.vlan,
                why = unhelped(*why),
                "station not helped"
            );
        }
        Record::Would { datapath_id, message } => {
            info!(switch = id(*datapath_id), order = describe(&message.body), "would send");
        }
        Record::Hello { .. } | Record::Associated { .. } | Record::Away { .. } | Record::Ignored { .. } => {
            station_event(record, settings);
        }
        _ if settings.controller.mode == Mode::Observe => would(record),
        _ => done(record),
    }
}

/// A switch that speaks another version, logged once for each peer.
pub(super) fn wrong_version(peer: IpAddr, version: u8) {
    let speaks = match version {
        1..=6 => format!("OpenFlow 1.{}", version - 1),
        other => format!("OpenFlow version {other}"),
    };
    let what_to_do = "ovs-vsctl set bridge BR protocols=OpenFlow13";
    warn!(%peer, speaks, what_to_do, "switch refused: it does not speak OpenFlow 1.3");
}

/// What access points report of stations.
fn station_event(record: &Record, settings: &Settings) {
    match record {
        Record::Hello { ap, session, stations } => {
            let ap = settings.access_points.get(ap.0 as usize);
            info!(ap, session, stations, "access point said hello");
        }
        Record::Associated { station, ap, epoch } => {
            let ap = settings.access_points.get(ap.0 as usize);
            info!(station = address(station.address), vlan = station.vlan, ap, epoch, "station associated");
        }
        Record::Away { station, epoch } => {
            let (station, vlan) = (address(station.address), station.vlan);
            match (settings.controller.mode, settings.controller.policy) {
                (Mode::Act, _) => info!(station, vlan, epoch, "station away"),
                (Mode::Observe, Policy::Bare) => {
                    info!(station, vlan, epoch, would = "hold nothing", "station away");
                }
                (Mode::Observe, _) => info!(station, vlan, epoch, would = "hold its TCP", "station away"),
            }
        }
        Record::Ignored { station, why } => {
            info!(
                station = address(station.address),
                vlan = station.vlan,
                why = reason(*why),
                "event ignored"
            );
        }
        _ => {}
    }
}

/// What was done with what was held.
fn done(record: &Record) {
    match record {
        Record::Released { station, segments, bytes, took, datagrams } => {
            let (bytes, took_s) = (bytes.0, took.as_secs_f64());
            let DatagramCounts { released, expired, evicted, .. } = *datagrams;
            info!(
                station = address(station.address),
                vlan = station.vlan,
                segments,
                bytes,
                took_s,
                datagrams = released,
                datagrams_expired = expired,
                datagrams_evicted = evicted,
                "released"
            );
        }
        Record::Expired { station, segments, datagrams } => {
            let datagrams = datagrams.expired + datagrams.evicted;
            info!(station = address(station.address), vlan = station.vlan, segments, datagrams, "expired");
        }
        Record::Undelivered { station, segments, datagrams } => {
            let datagrams = datagrams.expired + datagrams.evicted;
            warn!(
                station = address(station.address),
                vlan = station.vlan,
                segments,
                datagrams,
                "undelivered"
            );
        }
        Record::Evicted { station, segments } => {
            warn!(station = address(station.address), vlan = station.vlan, segments, "evicted");
        }
        _ => {}
    }
}

/// What an observer would do. It says no number: what comes for a station that is away does not come to it.
fn would(record: &Record) {
    match record {
        Record::Released { station, took, .. } => {
            info!(
                station = address(station.address),
                vlan = station.vlan,
                took_s = took.as_secs_f64(),
                "would release what it holds"
            );
        }
        Record::Expired { station, .. } => {
            info!(
                station = address(station.address),
                vlan = station.vlan,
                "would drop what it holds: the station stays away"
            );
        }
        Record::Undelivered { station, .. } => {
            info!(
                station = address(station.address),
                vlan = station.vlan,
                "would drop what it holds: the switch stays away"
            );
        }
        Record::Evicted { station, .. } => {
            info!(
                station = address(station.address),
                vlan = station.vlan,
                "would drop what it holds: others need the room"
            );
        }
        _ => {}
    }
}

/// The counters of the machine.
pub(super) fn summary(controller: &Controller, lines_dropped: u64) {
    let counters = controller.counters();
    info!(
        lines_dropped,
        held_bytes = controller.held().0,
        held_datagram_bytes = controller.held_datagrams().0,
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
        datagrams_held = counters.datagrams_held,
        datagrams_released = counters.datagrams_released,
        datagrams_expired = counters.datagrams_expired,
        datagrams_evicted = counters.datagrams_evicted,
        late = counters.late,
        strays = counters.strays,
        unsettled = counters.unsettled,
        neighbours = counters.neighbours,
        handshakes = counters.handshakes,
        forgotten = counters.forgotten,
        mid_connection = counters.mid_connection,
        unhelped = counters.unhelped,
        false_alarms = counters.false_alarms,
        ignored_notices = counters.ignored_notices,
        dropped_other = counters.dropped_other.iter().sum::<u64>(),
        passed_other = counters.passed_other.iter().sum::<u64>(),
        "summary"
    );
}

/// An order to a switch, at the level for those who look for something.
pub(super) fn sent(conn: u64, body: &Body) {
    debug!(conn, order = describe(body), "sent");
}

fn id(datapath_id: u64) -> String {
    format!("{datapath_id:016x}")
}

fn unhelped(why: Unhelped) -> String {
    match why {
        Unhelped::NoPort => "the switch has no such port".to_owned(),
        Unhelped::NoHandBack => {
            "the switch does not take back what it diverts: it needs `set_field` of metadata in a \
                                 packet-out and output to `TABLE`, as Open vSwitch has"
                .to_owned()
        }
        Unhelped::Refused(kind, code) => {
            format!("the switch refused an entry: error type {kind}, code {code}")
        }
        Unhelped::NoRoom => "the switch's table is as good as full".to_owned(),
        Unhelped::Ambiguous => {
            "its address is in use in several VLANs, and its access point has no `vlan`".to_owned()
        }
        Unhelped::TooMany => "as many stations are away as `limits.away` allows".to_owned(),
    }
}

pub(super) fn reason(why: Ignored) -> &'static str {
    match why {
        Ignored::Stale => "stale",
        Ignored::Duplicate => "duplicate",
        Ignored::UnknownAccessPoint => "unknown access point",
        Ignored::TooManyStations => "too many stations",
        Ignored::Protected => "never held: a gateway or a server",
        Ignored::Unnumbered => "its access point has said hello: only numbered events count",
        Ignored::OldSession => "its session is over: say hello",
        Ignored::Repeated => "its seq was used",
        Ignored::Missed => "too many events are missing: say hello",
        Ignored::TooFar => "its epoch lies too far ahead",
    }
}
