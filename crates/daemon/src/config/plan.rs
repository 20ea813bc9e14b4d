//! What a configuration means, in words.

use handfast_assist::sdn::{ApId, Config, DatagramLimits, Mode, Policy, Release};
use handfast_core::Duration;

use super::Settings;

/// One line for each thing that it would do.
pub(super) fn describe(settings: &Settings) -> String {
    let mut lines = String::new();
    let mut line = |text: String| lines += &(text + "\n");
    let config = &settings.controller;
    line(match config.mode {
        Mode::Observe => "observe: logs what it would do, touches no flow entry".to_owned(),
        Mode::Act => {
            let last = config.priority + 2;
            format!("act: makes flow entries with priorities {} to {last}", config.priority)
        }
    });
    line(match (config.policy, config.release) {
        (Policy::Bare, _) => "bare: the way follows the station, what comes meanwhile is dropped".to_owned(),
        (Policy::ZeroWindow, _) => "zwa: holds, and answers in the station's place".to_owned(),
        (Policy::Spurious, Release::Unpaced) => "spurious: holds, and releases all at once".to_owned(),
        (Policy::Spurious, Release::Paced { rate, burst }) => {
            format!("spurious: holds, and releases at {rate} with bursts of {burst}")
        }
    });
    let limits = config.limits;
    line(format!(
        "holds at most {} for a connection, {} for a station, {} in all, for at most {}",
        limits.per_connection, limits.per_station, limits.total, config.hold_expiry
    ));
    line(datagrams(config));
    line(format!("listens for at most {} switches at {}", settings.switches, settings.listen));
    if !settings.listen.ip().is_loopback() {
        line("warning: other machines can reach this address, and nothing is authenticated".to_owned());
    }
    line(format!("takes station events at {}", settings.association_socket.display()));
    for datapath_id in config.fabric.switches() {
        line(format!("switch {datapath_id:016x}: {}", ways(settings, datapath_id)));
    }
    lines
}

fn datagrams(config: &Config) -> String {
    let DatagramLimits { age, count, per_station, total } = config.datagrams;
    if !config.policy.holds() || age == Duration::ZERO {
        return "drops the UDP and QUIC datagrams of a station that is away".to_owned();
    }
    format!(
        "holds UDP and QUIC datagrams for at most {age}: {count} and {per_station} for a station, {total} in all"
    )
}

/// Which access points are reached by which ports of a switch.
fn ways(settings: &Settings, datapath_id: u64) -> String {
    let fabric = &settings.controller.fabric;
    let way = |(index, name): (usize, &String)| {
        let ap = ApId(index as u32);
        let rate = fabric.access_point(ap).and_then(|at| at.rate);
        let rate = rate.map_or_else(String::new, |rate| format!(" at {rate}"));
        let port = fabric.port_towards(datapath_id, ap);
        let by = port.map_or_else(|| "the switch's own rules".to_owned(), |port| format!("port {}", port.0));
        format!("{name} by {by}{rate}")
    };
    let ways: Vec<String> = settings.access_points.iter().enumerate().map(way).collect();
    ways.join(", ")
}
