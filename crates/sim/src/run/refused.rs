//! What the simulator refuses: combinations that cannot work.

use handfast_plan::timeline::Timeline;
use handfast_scenario::{AgentKind, NodeId, Protocol, Scenario, Scheme};

use crate::RunError;

/// Refuses what a scenario and a scheme ask for and the simulator does not have.
pub(crate) fn check(scenario: &Scenario, scheme: &Scheme) -> Result<(), RunError> {
    helpers_of_tcp(scenario, scheme).map_or(Ok(()), |why| Err(RunError::Scenario(why)))
}

/// Refuses what happens to a network and the simulator cannot do.
pub(crate) fn check_roams(scenario: &Scenario, timeline: &Timeline) -> Result<(), RunError> {
    let vertical = || timeline.outages.iter().filter(|outage| outage.vertical);
    if vertical().any(|outage| outage.drain) {
        let why =
            "a handover to another network with `mode = \"drain\"`: the address of the old link is gone";
        return Err(RunError::Scenario(why.to_owned()));
    }
    let moves = |node: NodeId| vertical().any(|outage| outage.station == Some(node));
    let mut flows = scenario.flows.iter().filter(|flow| flow.transport != Protocol::Tcp);
    let Some(flow) = flows.find(|flow| moves(flow.from) || moves(flow.to)) else { return Ok(()) };
    let station = &scenario.nodes[if moves(flow.from) { flow.from } else { flow.to }].name;
    Err(RunError::Scenario(format!(
        "flow `{}`: its station `{station}` gets another address, and an association knows those of its start (no RFC 5061); give the station a radio in each network, `ap = [\"…\", \"…\"]`",
        flow.name
    )))
}

/// Why an agent of the scheme cannot help: all but the socket layer speak TCP, and know one address of a station.
fn helpers_of_tcp(scenario: &Scenario, scheme: &Scheme) -> Option<String> {
    let speaks_tcp = |agent: &&handfast_scenario::Agent| !matches!(agent.kind, AgentKind::Iosl(_));
    let kind = scheme.agents.iter().find(speaks_tcp)?.kind.name();
    let scheme = &scheme.name;
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.transport != Protocol::Tcp) {
        return Some(format!(
            "scheme `{scheme}`: its agent `{kind}` helps TCP, and flow `{}` has another `transport`; leave the agent out, or let the flow use TCP",
            flow.name
        ));
    }
    let station = scenario.nodes.iter().find(|node| !node.more_aps.is_empty())?;
    Some(format!(
        "scheme `{scheme}`: its agent `{kind}` knows one address of a station, and `{}` has several; leave the agent out, or give the station one `ap`",
        station.name
    ))
}
