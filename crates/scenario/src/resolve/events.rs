//! Events.

use handfast_core::{Db, Duration, Instant};
use handfast_net::DownMode;

use super::course::Course;
use super::flows::count;
use super::network::Network;
use super::{moment, nonzero, paths, positive};
use crate::file::{EventKind, EventTable, Located, Mode, Phase};
use crate::model::{Action, Directions, Event, FULL_SINR, Fade, LinkId, LinkTrace, NodeId, radio};
use handfast_document::{Checked, Problem, Span};

/// At most so many events, repetitions included.
const MOST: usize = 100_000;

/// The events of the file, repetitions written out, by time.
pub(super) fn resolve<'t>(
    tables: impl Iterator<Item = &'t EventTable>,
    network: &Network<'_>,
) -> Checked<Vec<Event>> {
    let mut events: Vec<(Event, &EventTable)> = Vec::new();
    for table in tables {
        let action = action(table, network)?;
        let phase = table.phase.as_ref().map_or(Ok(Duration::ZERO), |phase| phase_span(phase, network))?;
        let fade = fade(table, &action, network)?;
        let longer = table.gap.as_ref().map_or(Duration::ZERO, |gap| gap.value.longer());
        for at in moments(table, network.duration)? {
            if events.len() >= MOST {
                return Err(Problem::at(table.at.span.clone(), format!("more than {MOST} events")));
            }
            events.push((Event { at, phase, longer, action: action.clone(), fade }, table));
        }
    }
    one_rate(&events)?;
    events.sort_by_key(|(event, _)| event.at);
    let mut course = Course::new(network);
    for (event, table) in &events {
        course.take(event, table)?;
    }
    Ok(events.into_iter().map(|(event, _)| event).collect())
}

/// A fade takes from the rate that the file gives: an event that sets another one would contradict it.
fn one_rate(events: &[(Event, &EventTable)]) -> Checked<()> {
    let fading = |link| {
        let fades = |event: &Event| match event.action {
            Action::Fade { link, .. } | Action::Outage { link, .. } => event.fade.is_some().then_some(link),
            _ => None,
        };
        events.iter().any(|(event, _)| fades(event) == Some(link))
    };
    for (event, table) in events {
        if let Action::SetRate { link, .. } = event.action
            && fading(link)
        {
            let span = table.link.as_ref().map_or(&table.at.span, |link| &link.span);
            return Err(Problem::at(span.clone(), "the rate of a link whose signal fades")
                .expected("its rate falls and rises with its signal"));
        }
    }
    Ok(())
}

fn action(table: &EventTable, network: &Network<'_>) -> Checked<Action> {
    let kind = table.kind.value.0;
    check_keys(table)?;
    if kind == EventKind::Handover {
        let name = needed(table.station.as_ref(), table, "station")?;
        let station = network.nodes.find_station(name)?;
        if network.moving.contains(&station) {
            let title = format!("station `{}` moves: its handovers follow from where it is", name.value);
            return Err(Problem::at(name.span.clone(), title).help("leave out the event, or `mobility`"));
        }
        if !network.nodes.list[station].more_aps.is_empty() {
            let title = format!("station `{}` has a radio for each of its access points", name.value);
            let problem = Problem::at(name.span.clone(), title);
            return Err(problem.help("let the link of one go, `do = \"outage\"`, or give it one `ap`"));
        }
        let to = network.radios.find(station, needed(table.to.as_ref(), table, "to")?, network.nodes)?;
        let drain = drains(table, station, network)?;
        // Of zero: the new association begins as the old one ends.
        let gap = if drain { Duration::ZERO } else { needed(table.gap.as_ref(), table, "gap")?.value.from };
        return Ok(Action::Handover { station, to, gap, drain });
    }
    if kind == EventKind::Restart {
        return Ok(Action::Restart {
            node: network.nodes.find_linked(needed(table.node.as_ref(), table, "node")?)?,
        });
    }
    let link = network.links.find(needed(table.link.as_ref(), table, "link")?)?;
    let directions = table.direction.as_ref().map_or(Directions::Both, |said| said.value.0);
    Ok(match kind {
        EventKind::Fade => Action::Fade { link, gap: needed(table.gap.as_ref(), table, "gap")?.value.from },
        EventKind::Outage | EventKind::Handover | EventKind::Restart => {
            let gap = needed(table.gap.as_ref(), table, "gap")?;
            let gap = nonzero(gap.value.from, &gap.span, "gap")?;
            let ends = radio(&network.nodes.list, network.links.list[link].between);
            if ends.is_some_and(|(station, _)| network.moving.contains(&station)) {
                let title = "an outage of a radio link of a station that moves";
                return Err(Problem::at(table.at.span.clone(), title)
                    .expected("such a link is down where its station is not"));
            }
            let mode = outage_mode(table)?;
            if mode == DownMode::Hold && network.links.is_on_air(link) {
                let span = table.mode.as_ref().map_or(&table.at.span, |mode| &mode.span);
                return Err(Problem::at(span.clone(), "a link on the air holds nothing while it is down")
                    .expected("expected \"drop\""));
            }
            Action::Outage { link, gap, mode }
        }
        EventKind::Rate => {
            let rate = needed(table.rate.as_ref(), table, "rate")?;
            if network.links.is_on_air(link) {
                return Err(Problem::at(
                    rate.span.clone(),
                    "the rate of a link on the air does not change by events",
                )
                .help("let a station move: without `rate` it follows the signal"));
            }
            refuse_traced(network, (link, directions), &rate.span, "rate", LinkTrace::has_rate)?;
            Action::SetRate { link, directions, rate: rate.value.0 }
        }
        EventKind::Delay => {
            let delay = needed(table.delay.as_ref(), table, "delay")?;
            refuse_traced(network, (link, directions), &delay.span, "delay", LinkTrace::has_delay)?;
            Action::SetDelay { link, directions, delay: delay.value.0 }
        }
    })
}

/// What a trace says does not change by events.
fn refuse_traced(
    network: &Network<'_>,
    (link, directions): (LinkId, Directions),
    span: &Span,
    key: &str,
    says: impl Fn(&LinkTrace) -> bool,
) -> Checked<()> {
    if network.links.is_traced(link, directions, says) {
        let title = format!("the link follows a trace, which says its {key}");
        return Err(Problem::at(span.clone(), title).help("leave out the event, or `trace`"));
    }
    Ok(())
}

/// How weak a signal gets where the event does not say: about where receivers lose a link of LTE (3GPP TS 36.133 §7.6, Qout).
const WEAK: Db = Db(-5_000);

/// What the signal does about an event.
fn fade(table: &EventTable, action: &Action, network: &Network<'_>) -> Checked<Option<Fade>> {
    let link = match *action {
        Action::Fade { link, .. } => {
            needed(table.fade.as_ref(), table, "fade")?;
            Some(link)
        }
        Action::Outage { link, .. } => Some(link),
        _ => None,
    };
    let Some(ramp) = &table.fade else {
        return match &table.sinr {
            Some(sinr) => {
                Err(Problem::at(sinr.span.clone(), "`sinr` without `fade`").expected("needs `fade`"))
            }
            None => Ok(None),
        };
    };
    let air = |link: &LinkId| network.links.is_on_air(*link);
    let of_station = table.station.as_ref().and_then(|name| network.nodes.find_station(name).ok());
    let of_station =
        of_station.into_iter().flat_map(|station| network.radios.of(station)).map(|(_, link)| link);
    let of_station: Vec<LinkId> = of_station.copied().collect();
    for &link in link.iter().chain(&of_station) {
        refuse_traced(network, (link, Directions::Both), &ramp.span, "rate", LinkTrace::has_rate)?;
    }
    if link.iter().chain(&of_station).any(air) {
        return Err(Problem::at(
            ramp.span.clone(),
            "the signal of a link on the air follows from its station's place",
        )
        .help("let the station move, or leave out `fade`"));
    }
    if action.drains() {
        return Err(Problem::at(
            ramp.span.clone(),
            "`fade` means nothing to a handover that drains: no link goes",
        ));
    }
    let sinr = table.sinr.as_ref().map_or(WEAK, |sinr| sinr.value.0);
    if sinr >= FULL_SINR {
        let span = table.sinr.as_ref().map_or(&ramp.span, |sinr| &sinr.span);
        return Err(
            Problem::at(span.clone(), "no fade").expected("expected less than 20 dB, a link's full signal")
        );
    }
    Ok(Some(Fade { ramp: ramp.value.0, sinr }))
}

fn outage_mode(table: &EventTable) -> Checked<DownMode> {
    match table.mode.as_ref().map(|mode| (mode.value.0, &mode.span)) {
        None | Some((Mode::Drop, _)) => Ok(DownMode::Drop),
        Some((Mode::Hold, _)) => Ok(DownMode::Hold),
        Some((Mode::Drain, span)) => {
            Err(Problem::at(span.clone(), "an outage of a link that still delivers")
                .expected("expected \"drop\" or \"hold\"; \"drain\" is a handover's"))
        }
    }
}

/// Whether what is on the old link of a handover still arrives.
fn drains(table: &EventTable, station: NodeId, network: &Network<'_>) -> Checked<bool> {
    let Some(mode) = &table.mode else { return Ok(false) };
    let wrong = |title: &str, expected: &str| Err(Problem::at(mode.span.clone(), title).expected(expected));
    match mode.value.0 {
        Mode::Drop => return Ok(false),
        Mode::Hold => return wrong("nothing waits for a handover", "expected \"drop\" or \"drain\""),
        Mode::Drain => {}
    }
    if let Some(gap) = &table.gap {
        let title = "`gap` means nothing to a handover that drains: both links are there";
        return Err(Problem::at(gap.span.clone(), title).help("leave out `gap`, or `mode`"));
    }
    for &(_, link) in network.radios.of(station) {
        if network.links.is_on_air(link) {
            return wrong("a station with links on the air has one radio", "expected \"drop\"");
        }
        let of = &network.links.list[link];
        if of.forward.queue.limit().is_none() || of.backward.queue.limit().is_none() {
            let title = format!("link `{}` has an unlimited queue, which may never drain", of.name);
            return wrong(&title, "expected links with a limit to their `queue`");
        }
    }
    Ok(true)
}

/// No key stands where it means nothing.
fn check_keys(table: &EventTable) -> Checked<()> {
    use EventKind::{Delay, Fade, Handover, Outage, Rate, Restart};
    let kind = table.kind.value.0;
    only_for(kind, &[Outage, Rate, Delay, Fade], table.link.as_ref().map(|link| &link.span), "link")?;
    only_for(kind, &[Restart], table.node.as_ref().map(|node| &node.span), "node")?;
    only_for(kind, &[Handover], table.station.as_ref().map(|station| &station.span), "station")?;
    only_for(kind, &[Handover], table.to.as_ref().map(|to| &to.span), "to")?;
    only_for(kind, &[Outage, Handover, Fade], table.gap.as_ref().map(|gap| &gap.span), "gap")?;
    only_for(kind, &[Outage, Handover, Fade], table.fade.as_ref().map(|fade| &fade.span), "fade")?;
    only_for(kind, &[Outage, Handover, Fade], table.sinr.as_ref().map(|sinr| &sinr.span), "sinr")?;
    only_for(kind, &[Outage, Handover], table.mode.as_ref().map(|mode| &mode.span), "mode")?;
    only_for(kind, &[Rate], table.rate.as_ref().map(|rate| &rate.span), "rate")?;
    only_for(kind, &[Delay], table.delay.as_ref().map(|delay| &delay.span), "delay")?;
    if let (Outage, Some(direction)) = (kind, &table.direction) {
        return Err(Problem::at(direction.span.clone(), "an outage is always of both directions"));
    }
    only_for(kind, &[Rate, Delay], table.direction.as_ref().map(|direction| &direction.span), "direction")
}

/// A key that only events of some kinds take.
fn only_for(kind: EventKind, takes: &[EventKind], span: Option<&Span>, key: &str) -> Checked<()> {
    match span {
        Some(span) if !takes.contains(&kind) => {
            let title = format!("`{key}` means nothing to an event that does `{}`", kind.word());
            let words: Vec<String> = takes.iter().map(|takes| format!("`{}`", takes.word())).collect();
            Err(Problem::at(span.clone(), title).expected(format!("only for {}", words.join(", "))))
        }
        _ => Ok(()),
    }
}

fn needed<'t, T>(value: Option<&'t Located<T>>, table: &EventTable, key: &str) -> Checked<&'t Located<T>> {
    value.ok_or_else(|| {
        let title = format!(
            "the key `{key}` is missing: an event that does `{}` needs it",
            table.kind.value.0.word()
        );
        Problem::at(table.kind.span.clone(), title).expected(format!("needs `{key}`"))
    })
}

/// When the event happens: once, or every so often.
fn moments(table: &EventTable, duration: Duration) -> Checked<Vec<Instant>> {
    let first = moment(&table.at, duration, "the event is")?;
    let (every, every_span, times) = match (&table.every, &table.times) {
        (None, None) => return Ok(vec![first]),
        (None, Some(times)) => {
            return Err(Problem::at(times.span.clone(), "`times` without `every`").expected("needs `every`"));
        }
        (Some(every), times) => (positive(every, "every")?, every.span.clone(), times),
    };
    let end = Instant::ZERO + duration;
    let fitting = end.since(first).as_nanos().div_ceil(every.as_nanos());
    let times = match times {
        Some(times) => u64::from(count(Some(times), MOST)?),
        None => fitting,
    };
    if times > fitting || times > MOST as u64 {
        let title = format!("{times} repetitions, where {} fit the run", fitting.min(MOST as u64));
        let span = table.times.as_ref().map_or(&every_span, |times| &times.span);
        return Err(Problem::at(span.clone(), title));
    }
    Ok((0..times).map(|k| first + every * k).collect())
}

fn phase_span(phase: &Located<Phase>, network: &Network<'_>) -> Checked<Duration> {
    let random = match phase.value {
        Phase::Within(span) => return Ok(span),
        Phase::Random => network.flows.list.first(),
    };
    let round_trip =
        random.and_then(|flow| paths::round_trip(network.nodes, &network.links.list, flow.from, flow.to));
    match round_trip {
        Some(span) if span > Duration::ZERO => Ok(span),
        _ => {
            let problem = Problem::at(phase.span.clone(), "the round trip of the first flow takes no time");
            Err(problem.expected("expected a duration such as \"20ms\" here"))
        }
    }
}
