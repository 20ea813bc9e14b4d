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
    release: ReleaseTable,
    limits: Limits,
    access_points: BTreeMap<&'a str, Place>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ReleaseTable {
    Word(&'static str),
    Paced { rate: String, burst: String },
}

#[derive(Serialize)]
struct Limits {
    per_connection: String,
    per_station: String,
    total: String,
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
    let bytes = |Bytes(bytes)| format!("{bytes}B");
    let file = Configuration {
        mode: "act",
        policy: match sdn.policy {
            SdnPolicy::Bare => "bare",
            SdnPolicy::Spurious => "spurious",
            SdnPolicy::ZeroWindow => {
                // `handfastd` would have to be told what each access point has delivered.
                return Err("the policy \"zwa\" runs in the simulator only".to_owned());
            }
        },
        hold_expiry: span(sdn.hold_expiry),
        release: release(sdn.release, fabric),
        limits: Limits {
            per_connection: bytes(sdn.hold_per_connection),
            per_station: bytes(sdn.hold_per_station),
            total: bytes(sdn.hold_total),
        },
        access_points: fabric.access_points.iter().map(place).collect(),
    };
    toml::to_string(&file).map_err(|error| format!("the controller's configuration: {error}"))
}

fn release(release: Release, fabric: &Fabric) -> ReleaseTable {
    match release {
        Release::Unpaced => ReleaseTable::Word("unpaced"),
        Release::Paced { rate, burst: Bytes(burst) } => {
            let slowest = fabric.access_points.iter().map(|at| at.rate).min().unwrap_or_default();
            let rate: BitRate = rate.unwrap_or(slowest);
            ReleaseTable::Paced { rate: format!("{}bit/s", rate.as_bps()), burst: format!("{burst}B") }
        }
    }
}

fn span(span: Duration) -> String {
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
        for line in ["policy = \"spurious\"", "rate = \"54000000bit/s\"", "[access_points.ap2]", "port = 3"] {
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
        let ReleaseTable::Paced { rate, burst } = release(given, &fabric) else { panic!() };
        assert_eq!((rate.as_str(), burst.as_str()), ("7bit/s", "1500B"));
        assert!(matches!(release(Release::Unpaced, &fabric), ReleaseTable::Word("unpaced")));
    }
}
