//! The air: access points with a place, stations that move, and the links between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use handfast_core::{Db, Dbm, Duration, Length, Stream};
use handfast_radio::Place;
use handfast_radio::airtime::Rates;
use handfast_radio::association::{AccessPoint, Config, Scan, Schedule};
use handfast_radio::mobility::{
    Area, Linear, Mobility, Motion, RandomWalk, RandomWaypoint, Recording, Speeds, Then,
};
use handfast_radio::signal::{Channel, Propagation, Transmitter};

use super::links::Links;
use super::nodes::Nodes;
use super::{nonzero, positive};
use crate::file::{At, File, Located, MobilityKind, NodeTable, PropagationKind, RadioTable, ScanKind};
use crate::model::{Link, Mobile, NodeId, NodeKind, Radio, radio};
use handfast_document::{Checked, Problem, Span};

/// What the tables say of the air; adds the links between stations that move and access points. [`None`]: nobody moves.
pub(super) fn resolve(file: &File, nodes: &Nodes, links: &mut Links) -> Checked<Option<Radio>> {
    let tables = || file.nodes.0.iter().enumerate().map(|(id, (_, table))| (id, table));
    for (id, table) in tables() {
        check_keys(nodes.list[id].kind, table)?;
    }
    let moving = tables().filter_map(|(id, table)| Some((id, table, table.mobility.as_ref()?)));
    let moving: Vec<_> = moving.collect();
    let (Some(air), Some(_)) = (&file.radio, moving.first()) else {
        let alone =
            moving.first().map(|(_, _, mobility)| (&mobility.span, "`mobility` without a table `[radio]`"));
        let alone =
            alone.or(file.radio.as_ref().map(|air| (&air.span, "`[radio]`, and no station that moves")));
        return alone
            .map_or(Ok(None), |(span, title)| Err(Problem::at(span.clone(), title).expected("needs both")));
    };
    let propagation = propagation(air)?;
    let placed =
        tables().filter(|(id, table)| nodes.list[*id].kind == NodeKind::AccessPoint && table.at.is_some());
    let access_points = placed
        .map(|(id, table)| Ok((id, access_point(table, &air.value, &propagation)?)))
        .collect::<Checked<Vec<_>>>()?;
    let stations =
        moving.into_iter().map(|(id, table, how)| mobile(id, table, how)).collect::<Checked<Vec<_>>>()?;
    let radio = Radio { propagation, association: association(&air.value)?, access_points, stations };
    link(&radio, air, nodes, links)?;
    Ok(Some(radio))
}

/// Associates each station that moves with the access point that it hears best at the start.
pub(super) fn associate(radio: &Radio, file: &File, nodes: &mut Nodes) -> Checked<()> {
    let aps: Vec<AccessPoint> = radio.access_points.iter().map(|&(_, at)| at).collect();
    for Mobile { node, at, mobility } in &radio.stations {
        let (name, table) = &file.nodes.0[*node];
        let (span, name) = (table.at.as_ref().map_or(&name.span, |at| &at.span), &name.value.0);
        // No movement draws where it begins.
        let start = Motion::new(mobility, *at, Stream::new(0, name)).place(handfast_core::Instant::ZERO);
        let first = Schedule::loudest(&aps, &radio.propagation, start).ok_or_else(|| {
            let title = format!("station `{name}` hears no access point at the start, at {start}");
            Problem::at(span.clone(), title)
                .expected("expected a place within the `range` of one that has a place `at`")
        })?;
        nodes.list[*node].ap = Some(radio.access_points[first].0);
    }
    Ok(())
}

/// No key stands where it means nothing.
fn check_keys(kind: NodeKind, table: &NodeTable) -> Checked<()> {
    let keys = [
        (
            "at",
            table.at.as_ref().map(|value| &value.span),
            kind == NodeKind::Station || kind == NodeKind::AccessPoint,
        ),
        ("channel", table.channel.as_ref().map(|value| &value.span), kind == NodeKind::AccessPoint),
        ("power", table.power.as_ref().map(|value| &value.span), kind == NodeKind::AccessPoint),
        ("range", table.range.as_ref().map(|value| &value.span), kind == NodeKind::AccessPoint),
        ("mobility", table.mobility.as_ref().map(|value| &value.span), kind == NodeKind::Station),
    ];
    let wrong =
        keys.into_iter().find_map(|(key, span, right)| span.filter(|_| !right).map(|span| (key, span)));
    if let Some((key, span)) = wrong {
        return Err(Problem::at(span.clone(), format!("`{key}` means nothing to a node of this kind")));
    }
    match (&table.ap, &table.mobility) {
        (Some(ap), Some(_)) => {
            let problem = Problem::at(ap.span.clone(), "a station that moves is with whom it hears best");
            Err(problem.help("leave out `ap`, or `mobility`"))
        }
        _ => Ok(()),
    }
}

fn propagation(air: &Located<RadioTable>) -> Checked<Propagation> {
    let table = &air.value;
    let kind = table.propagation.unwrap_or(PropagationKind::TwoRayGround);
    if let Some(height) = &table.antenna_height {
        if !matches!(kind, PropagationKind::TwoRayGround) {
            let title = "`antenna_height` means nothing to this `propagation`";
            return Err(Problem::at(height.span.clone(), title));
        }
        above_zero(height.value.0, &height.span, "antenna_height")?;
    }
    let height = table.antenna_height.as_ref().map_or(Length(1_500), |height| height.value.0);
    Ok(match kind {
        PropagationKind::FreeSpace => Propagation::FreeSpace,
        PropagationKind::TwoRayGround => Propagation::TwoRayGround { access_point: height, station: height },
        PropagationKind::LogDistance(log) => {
            if !(1.0..=10.0).contains(&log.exponent) {
                let title = format!("`{}` is not an exponent from 1 to 10", log.exponent);
                return Err(Problem::at(air.span.clone(), title));
            }
            let reference = log.reference.map_or(Length(1_000), |reference| reference.0);
            above_zero(reference, &air.span, "reference")?;
            Propagation::LogDistance { exponent: log.exponent, reference }
        }
    })
}

fn above_zero(length: Length, span: &Span, key: &str) -> Checked<()> {
    let zero = || Problem::at(span.clone(), format!("`{key}` is zero")).expected("expected a longer length");
    if length == Length(0) { Err(zero()) } else { Ok(()) }
}

fn access_point(table: &NodeTable, air: &RadioTable, propagation: &Propagation) -> Checked<AccessPoint> {
    let number = table.channel.as_ref().map_or(1, |channel| channel.value);
    let channel = Channel::new(number).ok_or_else(|| {
        let span = table.channel.as_ref().map_or(0..0, |channel| channel.span.clone());
        Problem::at(span, format!("there is no channel {number}"))
            .expected("expected 1 to 13, or one of 5 GHz")
    })?;
    let power = table.power.as_ref().map_or(Dbm(20_000), |power| power.value.0);
    let transmitter = Transmitter { power, gains: air.gains.map_or(Db(0), |gains| gains.0), channel };
    let place = table.at.as_ref().map_or_else(Place::default, |at| at.value.0);
    Ok(match &table.range {
        Some(range) => AccessPoint::with_range(place, transmitter, propagation, range.value.0),
        None => AccessPoint { place, transmitter, minimum: Rates::G.minimum() },
    })
}

fn association(air: &RadioTable) -> Checked<Config> {
    let usual = Config::default();
    let passive = air.scan.is_some_and(|kind| kind.0 == ScanKind::Passive);
    let dwell = match &air.dwell {
        Some(dwell) => positive(dwell, "dwell")?,
        None if passive => Scan::PASSIVE,
        None => Scan::ACTIVE,
    };
    let channels = match &air.channels {
        Some(given) => channels(given)?,
        None => usual.scan.channels,
    };
    let interval = air.beacon_interval.as_ref().map(|span| positive(span, "beacon_interval")).transpose()?;
    let background = air.background_scan.map_or(usual.background_scan, |span| Some(span.0));
    Ok(Config {
        beacon_interval: interval.unwrap_or(usual.beacon_interval),
        beacons_lost: air.beacons_lost.map_or(usual.beacons_lost, |beacons| beacons.0),
        scan: Scan { channels, dwell },
        rescan: air.rescan.map_or(usual.rescan, |span| span.0),
        background_scan: background.filter(|&interval| interval > Duration::ZERO),
        roam_below: air.roam_below.map_or(usual.roam_below, |level| level.0),
        hysteresis: air.hysteresis.map_or(usual.hysteresis, |margin| margin.0),
        authentication: air.authentication.map_or(usual.authentication, |span| span.0),
        association: air.association.map_or(usual.association, |span| span.0),
    })
}

fn channels(given: &Located<Vec<u8>>) -> Checked<Vec<Channel>> {
    let wrong = || {
        Problem::at(given.span.clone(), "expected a list of channels such as [1, 6, 11]")
            .expected("expected numbers from 1 to 13, or of 5 GHz")
    };
    let channels: Option<Vec<_>> = given.value.iter().map(|&number| Channel::new(number)).collect();
    channels.filter(|channels| !channels.is_empty()).ok_or_else(wrong)
}

fn mobile(node: NodeId, table: &NodeTable, how: &Located<MobilityKind>) -> Checked<Mobile> {
    let mobility = mobility(how)?;
    let at = match (&table.at, &mobility) {
        (Some(at), _) => at.value.0,
        (None, Mobility::Trace(trace)) => trace.start(),
        (None, _) => {
            let problem =
                Problem::at(how.span.clone(), "a station that moves, and no place `at` which it begins");
            return Err(problem.expected("needs `at`"));
        }
    };
    Ok(Mobile { node, at, mobility })
}

fn mobility(how: &Located<MobilityKind>) -> Checked<Mobility> {
    let span = &how.span;
    Ok(match &how.value {
        MobilityKind::Still => Mobility::Still,
        MobilityKind::Linear(line) => Mobility::Linear(Linear {
            towards: line.towards.0,
            speed: line.speed.0,
            then: line.then.map_or(Then::Stop, |then| then.0),
        }),
        MobilityKind::RandomWalk(walk) => {
            let every = walk.every.map_or(Duration::from_secs(10), |every| every.0);
            Mobility::RandomWalk(RandomWalk {
                area: area(&walk.area, span)?,
                speed: speeds(walk.slowest.map(|pace| pace.0), walk.speed.0, span)?,
                every: nonzero(every, span, "every")?,
            })
        }
        MobilityKind::RandomWaypoint(way) => {
            let speed = speeds(way.slowest.map(|pace| pace.0), way.speed.0, span)?;
            if speed.0.as_mm_per_hour() == 0 {
                let problem = Problem::at(span.clone(), "with a speed of zero it never arrives");
                return Err(problem.expected("expected a `slowest` above zero"));
            }
            let pause = way.pause.map_or(Duration::ZERO, |pause| pause.0);
            Mobility::RandomWaypoint(RandomWaypoint { area: area(&way.area, span)?, speed, pause })
        }
        MobilityKind::Trace(trace) => {
            let wrong = |why: String| Problem::at(span.clone(), format!("the trace: {why}"));
            let recording = Recording::parse(&trace.text).map_err(|error| wrong(error.to_string()))?;
            let station = recording.trace(trace.station);
            let station = station.ok_or_else(|| wrong(format!("it has no station {}", trace.station)))?;
            Mobility::Trace(Arc::new(station.clone()))
        }
    })
}

fn area(corners: &[At], span: &Span) -> Checked<Area> {
    match corners {
        [a, b] => Ok(Area::new(a.0, b.0)),
        _ => Err(Problem::at(span.clone(), "an area has two corners, such as [[0, 0], [100, 50]]")),
    }
}

fn speeds(
    slowest: Option<handfast_core::Speed>,
    speed: handfast_core::Speed,
    span: &Span,
) -> Checked<Speeds> {
    let slowest = slowest.unwrap_or(speed);
    if slowest > speed {
        return Err(Problem::at(
            span.clone(),
            format!("`slowest`, {slowest}, is faster than `speed`, {speed}"),
        ));
    }
    Ok(Speeds(slowest, speed))
}

/// A link from each access point to each station that moves, where the file has none of its own.
fn link(air: &Radio, table: &Located<RadioTable>, nodes: &Nodes, links: &mut Links) -> Checked<()> {
    let of = |link: &Link| radio(&nodes.list, link.between);
    let known: BTreeSet<_> = links.list.iter().filter_map(of).collect();
    let shape = &table.value.link;
    for station in &air.stations {
        for &(ap, _) in &air.access_points {
            if known.contains(&(station.node, ap)) {
                continue;
            }
            let name = format!("{}-{}", nodes.list[ap].name, nodes.list[station.node].name);
            links.add_alike(name, [ap, station.node], shape, table.value.air.as_ref())?;
        }
    }
    Ok(())
}
