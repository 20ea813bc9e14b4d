//! What the tables mean together.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use handfast_assist::sdn::{
    AccessPoint, Claim, Config, DatagramLimits, Fabric, Limits, Mode, NotTcp, Policy, Release, Steering,
    Treatment, spec,
};
use handfast_core::{Bytes, Duration};
use handfast_document::{Checked, Located, Name, Problem, TimeSpan, missing_key};
use handfast_wire::openflow::{EthAddr, PortNo};

use super::Settings;
use super::file::{AccessPointTable, File, NotTcpTable, TreatmentWord};
use super::shared::Shared;
use crate::process::{listen_address, socket_path};
use crate::services::words::ModeWord;

/// The registered port of OpenFlow (IANA), on this machine only.
const LISTEN: &str = "127.0.0.1:6653";
const SWITCHES: usize = 64;
const WRITE_BUFFER: Bytes = Bytes(32_000_000);
const SUMMARY_INTERVAL: Duration = Duration::from_secs(60);

pub(super) fn settings(file: &File, shared: &Shared) -> Checked<Settings> {
    let listen = listen(file)?;
    let Some(socket) = &file.association_socket else { return Err(missing_key(0..0, "association_socket")) };
    let fabric = fabric(file)?;
    every_rate(&fabric, shared)?;
    let defaults = shared.sdn.config(fabric);
    let least = Duration::from_millis(1);
    let second = Duration::from_secs(1);
    let controller = Config {
        mode: match word(file.mode.as_ref()) {
            ModeWord::Observe => Mode::Observe,
            ModeWord::Act => Mode::Act,
        },
        steering: Steering::Overlay,
        not_tcp: not_tcp(file.not_tcp.as_ref()),
        // When it began is said when it begins.
        claim: Some(Claim { began: 0, shares: word(file.beside_master.as_ref()) }),
        never_hold: never_hold(file)?,
        limits: limits(file, defaults.limits),
        datagrams: datagrams(file)?,
        priority: file.priority.as_ref().map_or(defaults.priority, |priority| priority.0),
        settle: time(file.settle.as_ref(), defaults.settle, least)?,
        echo_interval: time(file.echo_interval.as_ref(), defaults.echo_interval, least * 100)?,
        ..defaults
    };
    let switches = file.limits.as_ref().and_then(|limits| limits.switches);
    Ok(Settings {
        listen,
        tls: file.tls.as_ref().map(|tls| tls.value.clone()),
        association_socket: socket_path(socket)?.into(),
        write_buffer: write_buffer(file, &controller)?,
        controller,
        access_points: access_points(file).map(|(name, _)| name.value.0.clone()).collect(),
        switches: switches.map_or(SWITCHES, |count| count.0),
        log: word(file.log.as_ref()).into(),
        summary_interval: time(file.summary_interval.as_ref(), SUMMARY_INTERVAL, second)?,
    })
}

/// A value, or the default of its type.
fn word<T: Copy + Default>(given: Option<&Located<T>>) -> T {
    given.map_or_else(T::default, |given| given.value)
}

fn listen(file: &File) -> Checked<SocketAddr> {
    let default = Located { span: 0..0, value: LISTEN.to_owned() };
    let text = file.listen.as_ref().unwrap_or(&default);
    let risk = "whoever reaches it can pass for a switch and read what is held";
    listen_address(text, file.tls.is_some() || word(file.insecure_listen.as_ref()), risk)
}

/// A paced release has a rate for each access point: the daemon has no radio to ask.
fn every_rate(fabric: &Fabric, shared: &Shared) -> Checked<()> {
    let spec::Release::Paced { rate: None, .. } = shared.sdn.release else { return Ok(()) };
    // `bare` holds nothing.
    if shared.sdn.policy == Policy::Bare || fabric.access_points.iter().all(|at| at.rate.is_some()) {
        return Ok(());
    }
    Err(missing_key(0..0, "release_rate")
        .help("say what the radio carries: `release_rate = \"54Mbit/s\"`; `release = \"unpaced\"` overflows its queue"))
}

/// The bounds of what scenarios do not bound, beside those that they do.
fn limits(file: &File, shared: Limits) -> Limits {
    let Some(table) = &file.limits else { return shared };
    Limits {
        connections: table.connections.map_or(shared.connections, |count| count.0),
        stations: table.stations.map_or(shared.stations, |count| count.0),
        away: table.away.map_or(shared.away, |count| count.0),
        ..shared
    }
}

fn datagrams(file: &File) -> Checked<DatagramLimits> {
    let defaults = DatagramLimits::default();
    let age = time(file.datagram_age.as_ref(), defaults.age, Duration::ZERO)?;
    let Some(table) = &file.limits else { return Ok(DatagramLimits { age, ..defaults }) };
    Ok(DatagramLimits {
        age,
        count: table.datagrams.map_or(defaults.count, |count| count.0),
        per_station: table.datagram_bytes.map_or(defaults.per_station, |size| size.0),
        total: table.datagram_total.map_or(defaults.total, |size| size.0),
    })
}

/// Without pace all that is held for a station goes to its switch at once: a buffer that does not take it would make the
/// daemon close the connection just when it is needed.
fn write_buffer(file: &File, controller: &Config) -> Checked<Bytes> {
    let given = file.limits.as_ref().and_then(|limits| limits.write_buffer.as_ref());
    let size = given.map_or(WRITE_BUFFER, |size| size.0);
    let unpaced = controller.policy == Policy::Spurious && controller.release == Release::Unpaced;
    let held = Bytes(controller.limits.per_station.0 + controller.datagrams.per_station.0);
    let least = if unpaced { held } else { Bytes(1_000_000) };
    if size < least {
        let span = given.map_or(0..0, |size| size.span.clone());
        return Err(Problem::at(span, format!("expected a write buffer of at least {least}")).help(
            "an unpaced release sends all that `hold_per_station` and `datagram_bytes` allow at once",
        ));
    }
    Ok(size)
}

fn time(given: Option<&Located<TimeSpan>>, default: Duration, least: Duration) -> Checked<Duration> {
    let Some(given) = given else { return Ok(default) };
    let time = given.0;
    let most = Config::LONGEST_TIMEOUT;
    if (least..=most).contains(&time) {
        return Ok(time);
    }
    Err(Problem::at(given.span.clone(), format!("expected a time from {least} to {most}")))
}

fn fabric(file: &File) -> Checked<Fabric> {
    if access_points(file).next().is_none() {
        return Err(Problem::at(0..0, "there is no access point")
            .help("say where each one hangs: `[access_points.NAME]` with `datapath_id` and `port`"));
    }
    let at = |table: &AccessPointTable| AccessPoint {
        datapath_id: table.datapath_id.0,
        port: PortNo(table.port.0),
        rate: table.rate.map(|rate| rate.0),
        vlan: table.vlan.map(|vlan| vlan.0),
        uplink: table.uplink.map(|port| PortNo(port.0)),
    };
    let access_points = access_points(file).map(|(_, table)| at(table)).collect();
    Ok(Fabric { access_points, ..Fabric::default() })
}

/// Names and tables of the access points.
fn access_points(file: &File) -> impl Iterator<Item = &(Located<Name>, AccessPointTable)> {
    file.access_points.iter().flat_map(|table| &table.value.0)
}

fn not_tcp(table: Option<&Located<NotTcpTable>>) -> NotTcp {
    let Some(table) = table else { return NotTcp::PASS };
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
    file.never_hold.iter().flat_map(|all| &all.value).map(address).collect()
}
