//! What a configuration means, in words.

use handfast_assist::sdn::{Config, DatagramLimits, Mode, NotTcp, Policy, Release, Treatment};

use crate::services::tls;

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
    line(not_tcp(config));
    let tls = tls::by(settings.tls.as_ref());
    line(format!("listens for at most {} switches at {}{tls}", settings.switches, settings.listen));
    if !settings.listen.ip().is_loopback() && settings.tls.is_none() {
        line("warning: other machines can reach this address, and nothing is authenticated".to_owned());
    }
    line(format!("takes station events at {}", settings.association_socket.display()));
    for datapath_id in config.fabric.switches() {
        line(format!("switch {datapath_id:016x}: {}", ports(settings, datapath_id)));
    }
    lines
}

/// What becomes of what is not TCP.
fn not_tcp(config: &Config) -> String {
    let NotTcp { udp, quic, icmp, other } = config.not_tcp;
    if !config.policy.holds() {
        return "touches no packet: switches learn where a station has come to".to_owned();
    }
    let DatagramLimits { age, count, per_station, total } = config.datagrams;
    let classes = [("UDP", udp), ("QUIC", quic), ("ICMP", icmp), ("other protocols", other)];
    let of = |treatment: Treatment| {
        let names = classes.iter().filter(|class| class.1 == treatment).map(|class| class.0);
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let passes = of(Treatment::Pass).map(|names| format!("lets pass: {names}"));
    let holds = of(Treatment::Hold).map(|names| {
        format!("holds for at most {age}: {names} ({count} packets and {per_station} for a station, {total} in all)")
    });
    let drops = of(Treatment::Drop).map(|names| format!("drops: {names}"));
    let said: Vec<String> = [passes, holds, drops].into_iter().flatten().collect();
    format!("of what is not TCP, while a station is away, {}", said.join("; "))
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
