//! What a configuration means, in words.

use handfast_assist::sdn::{Config, DatagramLimits, Mode, Policy, Release, Treatment};
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
            format!("act: makes flow entries with priority {}", config.priority + 2)
        }
    });
    line(match (config.policy, config.release) {
        (Policy::Bare, _) => "bare: holds nothing".to_owned(),
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
        line(format!("switch {datapath_id:016x}: {}", ports(settings, datapath_id)));
    }
    lines
}

/// What becomes of what is no TCP.
fn datagrams(config: &Config) -> String {
    let DatagramLimits { age, count, per_station, total } = config.datagrams;
    match config.udp {
        _ if !config.policy.holds() => "touches no packet: switches learn where a station has come to".to_owned(),
        Treatment::Hold if age > Duration::ZERO => format!(
            "holds UDP and QUIC datagrams for at most {age}: {count} and {per_station} for a station, {total} in all"
        ),
        Treatment::Pass => "lets UDP, QUIC and all else that is no TCP pass".to_owned(),
        Treatment::Hold | Treatment::Drop => {
            "drops the UDP and QUIC datagrams of a station that is away, and lets all else that is no TCP pass".to_owned()
        }
    }
}

/// Which access points are at which ports of a switch.
fn ports(settings: &Settings, datapath_id: u64) -> String {
    let at = settings.controller.fabric.access_points.iter().zip(&settings.access_points);
    let here = at.filter(|(at, _)| at.datapath_id == datapath_id).map(|(at, name)| {
        let rate = at.rate.map_or_else(String::new, |rate| format!(" at {rate}"));
        let vlan = at.vlan.map_or_else(String::new, |vlan| format!(", VLAN {vlan}"));
        format!("{name} by port {}{vlan}{rate}", at.port.0)
    });
    here.collect::<Vec<_>>().join(", ")
}
