//! From tables to the model: names to indices, defaults filled in, everything checked.

pub(crate) mod access;
mod agents;
mod air;
mod airtime;
mod cellular;
mod course;
mod events;
mod flows;
mod generate;
mod generated;
mod links;
mod names;
mod network;
mod nodes;
mod paths;
mod queue;
mod radios;
mod ride;
mod schemes;
mod standard;
mod traces;
mod transport;
mod wlan;

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant};

use crate::file::{File, Located, TimeSpan};
use crate::hash;
use crate::model::{NodeId, NodeKind, Scenario};
use handfast_document::Source;
use handfast_document::positive;
use handfast_document::{Checked, Problem, Span};

use flows::Flows;
use generated::Generated;
use links::Links;
use network::Network;
use nodes::Nodes;
use radios::Radios;
pub(crate) use traces::MOST_TOGETHER;
use traces::Traces;

/// The scenario that the tables describe.
pub(crate) fn resolve(file: &File, source: &Source<'_>) -> Checked<Scenario> {
    let duration = positive(&file.duration, "duration")?;
    let mut nodes = Nodes::of_file(&file.nodes)?;
    // Generated nodes come first: the file's own links and flows may lead to them. Its links and flows stand before those that
    // are generated all the same.
    let (mut made_links, mut made_flows) = (Links::new(Traces::new(source.folder())), Flows::new(duration));
    let mut generated =
        Generated { nodes: &mut nodes, links: &mut made_links, flows: &mut made_flows, roams: Vec::new() };
    generate::generate(&mut generated, &file.generate)?;
    let roams = generated.roams;
    let mut links = Links::of_file(&file.links, &nodes, made_links.take_traces())?;
    links.append(made_links)?;
    let mut flows = Flows::of_file(&file.flows, &nodes, duration)?;
    flows.append(made_flows)?;
    let air = air::resolve(file, &nodes, &mut links)?;
    paths::check(&nodes, &links, &flows)?;
    let radios = Radios::resolve(&file.nodes, &mut nodes, &links)?;
    if let Some(air) = &air {
        air::associate(air, file, &mut nodes)?;
    }
    let moving: BTreeSet<_> = air.iter().flat_map(|air| &air.stations).map(|station| station.node).collect();
    let on_air = airtime::resolve(&nodes, &links, &moving)?;
    access::resolve(&nodes, &mut links)?;
    let network =
        Network { nodes: &nodes, links: &links, radios: &radios, flows: &flows, duration, moving: &moving };
    let events = events::resolve(file.events.iter().chain(&roams), &network)?;
    let (schemes, profiles) = schemes::resolve(file, &nodes)?;
    let all: Vec<_> = schemes.iter().chain(&profiles).cloned().collect();
    flows.check_schemes(&all)?;
    let captures = file.capture.iter().map(|name| nodes.find(name)).collect::<Checked<_>>()?;
    let networks = networks(file, &nodes)?;
    let trace_files = links.trace_files();
    let mut scenario = Scenario {
        name: file.name.as_ref().map_or_else(|| source.stem(), |name| &**name).to_owned(),
        description: file.description.clone(),
        hash: String::new(),
        duration,
        nodes: nodes.list,
        links: links.list,
        traces: links.traced,
        trace_files,
        flows: flows.list,
        events,
        schemes,
        profiles,
        captures,
        radio: air,
        on_air,
        subnets: file.subnets,
        networks,
        sample_interval: sample_interval(file.sample_interval.as_ref(), duration)?,
    };
    scenario.hash = hash::hash(&scenario);
    Ok(scenario)
}

/// The IP networks that access points name.
fn networks(file: &File, nodes: &Nodes) -> Checked<BTreeMap<NodeId, String>> {
    let mut networks = BTreeMap::new();
    for (name, table) in &file.nodes.0 {
        let Some(network) = &table.network else { continue };
        let id = nodes.find(&Located { span: name.span.clone(), value: name.value.0.clone() })?;
        if nodes.list[id].kind != NodeKind::AccessPoint {
            let problem = Problem::at(network.span.clone(), format!("`{}` is no access point", name.value.0));
            return Err(problem.expected("only for nodes of kind \"ap\""));
        }
        if file.subnets {
            let title = "`network` beside `subnets`: a station cannot both keep its address and change it";
            return Err(Problem::at(network.span.clone(), title).help("leave out one of them"));
        }
        networks.insert(id, network.value.0.clone());
    }
    Ok(networks)
}

fn nonzero(duration: Duration, span: &Span, key: &str) -> Checked<Duration> {
    let zero = || Problem::at(span.clone(), format!("`{key}` is zero")).expected("expected a longer time");
    if duration == Duration::ZERO { Err(zero()) } else { Ok(duration) }
}

/// The spacing of samples: as given, or so that a run has at most 10,000 of each series.
fn sample_interval(given: Option<&Located<TimeSpan>>, duration: Duration) -> Checked<Duration> {
    const FEWEST: u64 = 10_000;
    const MOST: u64 = 1_000_000;
    let Some(given) = given else {
        return Ok((duration / FEWEST).max(Duration::from_millis(10)));
    };
    let interval = positive(given, "sample_interval")?;
    let samples = duration.as_nanos() / interval.as_nanos();
    if samples > MOST {
        let title = format!("that makes {samples} samples of each series; at most {MOST} are taken");
        return Err(Problem::at(given.span.clone(), title));
    }
    Ok(interval)
}

/// `at` as a moment of the run; `what` happens then.
fn moment(at: &Located<TimeSpan>, duration: Duration, what: &str) -> Checked<Instant> {
    let moment = Instant::ZERO + at.value.0;
    if at.value.0 < duration {
        return Ok(moment);
    }
    let problem = Problem::at(at.span.clone(), format!("{what} after the end of the run"));
    Err(problem.expected(format!("expected less than `duration`, {duration}")))
}
