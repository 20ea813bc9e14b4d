//! What a run with an SDN controller needs besides its links: a switch that obeys, and what the controller is told.

use std::collections::BTreeMap;

use handfast_core::{BitRate, Bytes, Duration};
use handfast_plan::fabric::{Fabric, datapath_of, port_no};
use handfast_plan::topology::Topology;
use handfast_scenario::{AgentKind, NodeId, Release, Scenario, Scheme, Sdn, SdnPolicy};
use serde::Serialize;

use crate::names::interface_of;

/// The switch that Open vSwitch is, and the configuration of the `handfastd controller` that commands it. Both run in the
/// switch's namespace.
#[derive(Clone, Debug, Serialize)]
pub struct Controlled {
    /// The switch: index into [`crate::Plan::nodes`].
    pub switch: NodeId,
    /// Its datapath id.
    pub datapath_id: u64,
    /// Its interfaces, and their `OpenFlow` numbers.
    pub ports: BTreeMap<String, u32>,
    /// The daemon's configuration, but for its sockets: TOML.
    pub configuration: String,
}

/// As docs/reference/handfastd.md has it.
#[derive(Serialize)]
struct Configuration<'a> {
    mode: &'static str,
    policy: &'static str,
    hold_expiry: String,
    hold_per_connection: String,
    hold_per_station: String,
    hold_total: String,
    release: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    release_rate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release_burst: Option<String>,
    access_points: BTreeMap<&'a str, Place>,
}

#[derive(Serialize)]
struct Place {
    datapath_id: String,
    port: u32,
}

/// The SDN agent of a scheme, if it has one.
pub(crate) fn sdn_of(scheme: &Scheme) -> Option<&Sdn> {
    scheme.agents.iter().find_map(|agent| match &agent.kind {
        AgentKind::Sdn(sdn) => Some(sdn),
        _ => None,
    })
}

impl Controlled {
    /// What a scheme's SDN agent needs; [`None`]: it has none.
    ///
    /// # Errors
    /// What the lab cannot do, in one sentence.
    pub(crate) fn of(
        scenario: &Scenario,
        scheme: &Scheme,
        topology: &Topology,
    ) -> Result<Option<Self>, String> {
        let Some(sdn) = sdn_of(scheme) else { return Ok(None) };
        if sdn.low_ack.is_some() {
            let why = "`tx_failures`: the lab's access points are bridges, and count no frames";
            return Err(format!("scheme `{}`: {why}", scheme.name));
        }
        let fabric = Fabric::new(scenario, topology)?;
        let &[switch] = &fabric.switches[..] else {
            let count = fabric.switches.len();
            return Err(format!("{count} switches: the lab's controller commands one so far"));
        };
        let port = |(number, attachment): (u32, &handfast_plan::topology::Attachment)| {
            (interface_of(scenario, attachment.out as usize), port_no(number))
        };
        let ports = (0..).zip(topology.ports(switch)).map(port).collect();
        let configuration = configuration(scenario, sdn, &fabric)?;
        Ok(Some(Self { switch, datapath_id: datapath_of(switch), ports, configuration }))
    }
}

fn configuration(scenario: &Scenario, sdn: &Sdn, fabric: &Fabric) -> Result<String, String> {
    let place = |at: &handfast_plan::fabric::Attached| {
        let datapath_id = format!("{:016x}", datapath_of(at.switch));
        (scenario.nodes[at.ap].name.as_str(), Place { datapath_id, port: at.port })
    };
    let (release, release_rate, release_burst) = release(sdn.release, fabric);
    let file = Configuration {
        mode: "act",
        policy: match sdn.policy {
            SdnPolicy::Bare => "bare",
            SdnPolicy::Spurious => "spurious",
            SdnPolicy::ZeroWindow => return Err(Sdn::ZERO_WINDOW_IS_SIMULATED.to_owned()),
        },
        hold_expiry: span(sdn.hold_expiry),
        hold_per_connection: size(sdn.hold_per_connection),
        hold_per_station: size(sdn.hold_per_station),
        hold_total: size(sdn.hold_total),
        release,
        release_rate,
        release_burst,
        access_points: fabric.access_points.iter().map(place).collect(),
    };
    toml::to_string(&file).map_err(|error| format!("the controller's configuration: {error}"))
}

/// The word for the release, its rate and its burst.
fn release(release: Release, fabric: &Fabric) -> (&'static str, Option<String>, Option<String>) {
    match release {
        Release::Unpaced => ("unpaced", None, None),
        Release::Paced { rate, burst } => {
            let slowest = fabric.access_points.iter().map(|at| at.rate).min().unwrap_or_default();
            let rate: BitRate = rate.unwrap_or(slowest);
            ("paced", Some(format!("{}bit/s", rate.as_bps())), Some(size(burst)))
        }
    }
}

pub(crate) fn size(Bytes(bytes): Bytes) -> String {
    format!("{bytes}B")
}

pub(crate) fn span(span: Duration) -> String {
    format!("{}ns", span.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::testing;

    const FILE: &str = include_str!("../../../scenarios/wifi-roam.toml");

    #[test]
    fn the_switch_and_its_controller_are_described() {
        let scenario = Scenario::parse(FILE, "wifi-roam.toml", &[]).unwrap();
        let topology = Topology::new(&scenario);
        let scheme = scenario.scheme("spurious").unwrap();
        let controlled = Controlled::of(&scenario, scheme, &topology).unwrap().unwrap();
        let ports: Vec<_> = controlled.ports.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        assert_eq!(ports, [("link0", 1), ("link1", 2), ("link2", 3)]);
        assert_eq!((controlled.switch, controlled.datapath_id), (1, 2));
        for line in
            ["policy = \"spurious\"", "release_rate = \"54000000bit/s\"", "[access_points.ap2]", "port = 3"]
        {
            assert!(controlled.configuration.contains(line), "{}", controlled.configuration);
        }
        let linux = scenario.scheme("linux").unwrap();
        assert!(Controlled::of(&scenario, linux, &topology).unwrap().is_none());
    }

    #[test]
    fn a_release_says_its_rate() {
        let scenario = testing::roam(&[]);
        let fabric = Fabric::new(&scenario, &Topology::new(&scenario)).unwrap();
        let given = Release::Paced { rate: Some(BitRate::from_bps(7)), burst: Bytes(1500) };
        let paced = ("paced", Some("7bit/s".to_owned()), Some("1500B".to_owned()));
        assert_eq!(release(given, &fabric), paced);
        assert_eq!(release(Release::Unpaced, &fabric), ("unpaced", None, None));
    }
}
