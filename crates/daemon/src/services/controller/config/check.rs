//! What the tables mean together.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use handfast_assist::sdn::{
    AccessPoint, Claim, Config, DatagramLimits, Fabric, Limits, Mode, NotTcp, Policy, Release, Steering,
    Treatment,
};
use handfast_core::{Bytes, Duration};
use handfast_document::{Checked, Located, Problem, TimeSpan};
use handfast_wire::openflow::{EthAddr, PortNo};

use super::file::{
    File, LimitsTable, LogWord, ModeWord, NotTcpTable, PolicyWord, ReleaseTable, TreatmentWord,
};
use super::{Level, Settings};

/// The registered port of OpenFlow (IANA), on this machine only.
const LISTEN: &str = "127.0.0.1:6653";
const SWITCHES: usize = 64;
const WRITE_BUFFER: Bytes = Bytes(32_000_000);
const SUMMARY_INTERVAL: Duration = Duration::from_secs(60);
/// Flow entries count their timeouts in seconds, in 16 bits (OpenFlow 1.3.5 §7.3.4.1).
const LONGEST_TIMEOUT: Duration = Duration::from_secs(65_000);
/// `sun_path` has 108 bytes, the last of which is zero (unix(7)).
const LONGEST_PATH: usize = 107;

pub(super) fn settings(file: &File) -> Checked<Settings> {
    let listen = listen(file)?;
    let fabric = fabric(file)?;
    let release = release(file)?;
    let policy = match file.policy {
        PolicyWord::Spurious => Policy::Spurious,
        PolicyWord::Bare => Policy::Bare,
    };
    let defaults = Config::new(policy, release, fabric);
    let limits = limits(&file.limits);
    let least = Duration::from_millis(1);
    let second = Duration::from_secs(1);
    let controller = Config {
        mode: match file.mode {
            ModeWord::Observe => Mode::Observe,
            ModeWord::Act => Mode::Act,
        },
        steering: Steering::Overlay,
        not_tcp: not_tcp(&file.not_tcp),
        // When it began is said when it begins.
        claim: Some(Claim { began: 0, shares: file.beside_master }),
        never_hold: never_hold(file)?,
        limits,
        datagrams: datagrams(file)?,
        hold_expiry: time(file.hold_expiry.as_ref(), defaults.hold_expiry, second)?,
        priority: file.priority.map_or(defaults.priority, |priority| priority.0),
        settle: time(file.settle.as_ref(), defaults.settle, least)?,
        echo_interval: time(file.echo_interval.as_ref(), defaults.echo_interval, least * 100)?,
        ..defaults
    };
    Ok(Settings {
        listen,
        association_socket: socket_path(&file.association_socket)?.into(),
        write_buffer: write_buffer(file, &controller)?,
        controller,
        access_points: file.access_points.0.iter().map(|(name, _)| name.value.0.clone()).collect(),
        switches: file.limits.switches.map_or(SWITCHES, |count| count.0),
        log: match file.log {
            LogWord::Error => Level::Error,
            LogWord::Warn => Level::Warn,
            LogWord::Info => Level::Info,
            LogWord::Debug => Level::Debug,
        },
        summary_interval: time(file.summary_interval.as_ref(), SUMMARY_INTERVAL, second)?,
    })
}

fn listen(file: &File) -> Checked<SocketAddr> {
    let default = Located { span: 0..0, value: LISTEN.to_owned() };
    let text = file.listen.as_ref().unwrap_or(&default);
    let address: SocketAddr = text.parse().map_err(|_| {
        Problem::at(text.span.clone(), format!("`{}` is not an address with a port", text.escape_debug()))
            .expected(format!("expected one such as \"{LISTEN}\" or \"[::1]:6653\""))
    })?;
    if address.ip().is_loopback() || file.insecure_listen {
        return Ok(address);
    }
    let title = format!("{} can be reached from other machines", address.ip());
    Err(Problem::at(text.span.clone(), title)
        .expected("the channel is neither authenticated nor encrypted")
        .help("whoever reaches it can pass for a switch and read what is held; if you know that: `insecure_listen = true`"))
}

fn socket_path(path: &Located<String>) -> Checked<&str> {
    if path.is_empty() || path.len() > LONGEST_PATH || path.contains('\0') {
        let title = format!("a socket's path has 1 to {LONGEST_PATH} bytes");
        return Err(Problem::at(path.span.clone(), title));
    }
    Ok(path)
}

fn release(file: &File) -> Checked<Release> {
    match (file.release, file.policy) {
        (Some(ReleaseTable::Paced(paced)), _) => {
            let burst = paced.burst.map_or(Release::BURST, |burst| burst.0);
            Ok(Release::Paced { rate: paced.rate.0, burst })
        }
        // `bare` holds nothing.
        (Some(ReleaseTable::Unpaced), _) | (None, PolicyWord::Bare) => Ok(Release::Unpaced),
        (None, PolicyWord::Spurious) => Err(Problem::at(0..0, "the key `release` is missing")
            .expected("needs `release`")
            .help("say what the radio carries: `release = {rate = \"54Mbit/s\"}`; `release = \"unpaced\"` overflows its queue")),
    }
}

fn limits(table: &LimitsTable) -> Limits {
    let defaults = Limits::default();
    Limits {
        per_connection: table.per_connection.map_or(defaults.per_connection, |size| size.0),
        per_station: table.per_station.map_or(defaults.per_station, |size| size.0),
        total: table.total.map_or(defaults.total, |size| size.0),
        connections: table.connections.map_or(defaults.connections, |count| count.0),
        stations: table.stations.map_or(defaults.stations, |count| count.0),
        away: table.away.map_or(defaults.away, |count| count.0),
    }
}

fn datagrams(file: &File) -> Checked<DatagramLimits> {
    let (table, defaults) = (&file.limits, DatagramLimits::default());
    Ok(DatagramLimits {
        age: time(file.datagram_age.as_ref(), defaults.age, Duration::ZERO)?,
        count: table.datagrams.map_or(defaults.count, |count| count.0),
        per_station: table.datagram_bytes.map_or(defaults.per_station, |size| size.0),
        total: table.datagram_total.map_or(defaults.total, |size| size.0),
    })
}

/// Without pace all that is held for a station goes to its switch at once: a buffer that does not take it would make the
/// daemon close the connection just when it is needed.
fn write_buffer(file: &File, controller: &Config) -> Checked<Bytes> {
    let size = file.limits.write_buffer.as_ref().map_or(WRITE_BUFFER, |size| size.0);
    let unpaced = controller.policy == Policy::Spurious && controller.release == Release::Unpaced;
    let held = Bytes(controller.limits.per_station.0 + controller.datagrams.per_station.0);
    let least = if unpaced { held } else { Bytes(1_000_000) };
    if size < least {
        let span = file.limits.write_buffer.as_ref().map_or(0..0, |size| size.span.clone());
        return Err(Problem::at(span, format!("expected a write buffer of at least {least}"))
            .help("an unpaced release sends all that `per_station` and `datagram_bytes` allow at once"));
    }
    Ok(size)
}

fn time(given: Option<&Located<TimeSpan>>, default: Duration, least: Duration) -> Checked<Duration> {
    let Some(given) = given else { return Ok(default) };
    let time = given.0;
    if (least..=LONGEST_TIMEOUT).contains(&time) {
        return Ok(time);
    }
    Err(Problem::at(given.span.clone(), format!("expected a time from {least} to {LONGEST_TIMEOUT}")))
}

fn fabric(file: &File) -> Checked<Fabric> {
    if file.access_points.0.is_empty() {
        return Err(Problem::at(0..0, "there is no access point")
            .help("say where each one hangs: `[access_points.NAME]` with `datapath_id` and `port`"));
    }
    let at = |table: &super::file::AccessPointTable| AccessPoint {
        datapath_id: table.datapath_id.0,
        port: PortNo(table.port.0),
        rate: table.rate.map(|rate| rate.0),
        vlan: table.vlan.map(|vlan| vlan.0),
        uplink: table.uplink.map(|port| PortNo(port.0)),
    };
    let access_points = file.access_points.0.iter().map(|(_, table)| at(table)).collect();
    Ok(Fabric { access_points, ..Fabric::default() })
}

fn not_tcp(table: &NotTcpTable) -> NotTcp {
    let treatment = |word: TreatmentWord| match word {
        TreatmentWord::Pass => Treatment::Pass,
        TreatmentWord::Hold => Treatment::Hold,
        TreatmentWord::Drop => Treatment::Drop,
    };
    NotTcp {
        udp: treatment(table.udp),
        quic: treatment(table.quic.unwrap_or(table.udp)),
        icmp: treatment(table.icmp),
        other: treatment(table.other),
    }
}

fn never_hold(file: &File) -> Checked<BTreeSet<EthAddr>> {
    let address = |text: &Located<String>| {
        super::super::association::address(text).map_err(|why| {
            Problem::at(text.span.clone(), why).expected("expected an address such as \"02:00:0a:00:00:01\"")
        })
    };
    file.never_hold.iter().map(address).collect()
}
