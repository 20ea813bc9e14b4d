//! Events.

use handfast_core::{Duration, Instant};
use handfast_net::DownMode;

use super::flows::{Flows, count};
use super::links::Links;
use super::nodes::Nodes;
use super::{moment, paths, positive};
use crate::file::{EventKind, EventTable, Located, Phase};
use crate::model::{Action, Event, Way};
use handfast_document::{Checked, Problem, Span};

/// At most so many events, repetitions included.
const MOST: usize = 100_000;

/// What events refer to.
pub(super) struct Network<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) links: &'a Links,
    pub(super) flows: &'a Flows,
    pub(super) duration: Duration,
}

/// The events of the file, repetitions written out, by time.
pub(super) fn resolve(tables: &[EventTable], network: &Network<'_>) -> Checked<Vec<Event>> {
    let mut events: Vec<(Event, &Span)> = Vec::new();
    for table in tables {
        let action = action(table, network.links)?;
        let phase = table.phase.as_ref().map_or(Ok(Duration::ZERO), |phase| phase_span(phase, network))?;
        for at in moments(table, network.duration)? {
            if events.len() >= MOST {
                return Err(Problem::at(table.at.span.clone(), format!("more than {MOST} events")));
            }
            events.push((Event { at, phase, action: action.clone() }, &table.at.span));
        }
    }
    events.sort_by_key(|(event, _)| event.at);
    no_outage_within_another(&events, network.links)?;
    Ok(events.into_iter().map(|(event, _)| event).collect())
}

fn action(table: &EventTable, links: &Links) -> Checked<Action> {
    let link = links.find(&table.link)?;
    let kind = table.kind.value.0;
    only_for(kind, EventKind::Outage, table.gap.as_ref().map(|gap| &gap.span), "gap")?;
    only_for(kind, EventKind::Outage, table.mode.as_ref().map(|mode| &mode.span), "mode")?;
    only_for(kind, EventKind::Rate, table.rate.as_ref().map(|rate| &rate.span), "rate")?;
    only_for(kind, EventKind::Delay, table.delay.as_ref().map(|delay| &delay.span), "delay")?;
    if let (EventKind::Outage, Some(direction)) = (kind, &table.direction) {
        return Err(Problem::at(direction.span.clone(), "an outage is always of both directions"));
    }
    let way = table.direction.as_ref().map_or(Way::Both, |way| way.value.0);
    Ok(match kind {
        EventKind::Outage => {
            let gap = positive(needed(table.gap.as_ref(), table, "gap")?, "gap")?;
            let mode = table.mode.as_ref().map_or(DownMode::Drop, |mode| mode.value.0);
            Action::Outage { link, gap, mode }
        }
        EventKind::Rate => {
            Action::SetRate { link, way, rate: needed(table.rate.as_ref(), table, "rate")?.value.0 }
        }
        EventKind::Delay => {
            Action::SetDelay { link, way, delay: needed(table.delay.as_ref(), table, "delay")?.value.0 }
        }
    })
}

/// A key that only events of one kind take.
fn only_for(kind: EventKind, takes: EventKind, span: Option<&Span>, key: &str) -> Checked<()> {
    match span {
        Some(span) if kind != takes => {
            let title = format!("`{key}` means nothing to an event that does `{}`", kind.word());
            Err(Problem::at(span.clone(), title).expected(format!("only for `{}`", takes.word())))
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

/// An outage that may begin while its link is still gone has no clear end.
fn no_outage_within_another(events: &[(Event, &Span)], links: &Links) -> Checked<()> {
    let mut back: Vec<Option<Instant>> = vec![None; links.list.len()];
    for (event, span) in events {
        let Action::Outage { link, gap, .. } = event.action else { continue };
        if let Some(back) = back[link].filter(|&back| event.at < back) {
            let title = format!(
                "link `{}` is still gone then: the outage before ends at {back}",
                links.list[link].name
            );
            return Err(Problem::at((*span).clone(), title));
        }
        back[link] = Some(event.at + event.phase + gap);
    }
    Ok(())
}
