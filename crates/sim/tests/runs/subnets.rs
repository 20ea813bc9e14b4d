//! Layer-3 handovers: each access point is a subnet of its own, and a station keeps its address.

use crate::support::{result, set};
use handfast_scenario::Scenario;

const NETWORK: &str = include_str!("../../../../papers/sdn/network.toml");

/// The paper's network, cut into subnets or not, the handover there and back.
fn network(subnets: bool) -> Scenario {
    let roams = "{at = \"8s\", every = \"12s\", times = 3, gap = \"1s\"}";
    // A second connection, from the other correspondent, that opens when the station is away from home.
    let late =
        "[{name = \"late\", from = \"cn2\", to = \"mn1\", app = {transfer = \"200kB\"}, start = \"11s\"}]";
    let subnets = subnets.to_string();
    set(NETWORK, &[("generate.wlan.roams", roams), ("subnets", &subnets), ("flows", late)])
}

#[test]
fn without_a_controller_a_station_is_reached_at_home_only() {
    let lost = result(&network(true), "linux", 1);
    let kept = result(&network(false), "linux", 1);
    let stalls =
        |run: &handfast_sim::RunResult| run.handovers.iter().map(|h| h.stall_s.is_some()).collect::<Vec<_>>();
    assert_eq!(stalls(&kept), [true; 3]);
    // The third handover of three access points leads home.
    assert_eq!(stalls(&lost)[..2], [false; 2]);
    let bytes = |run: &handfast_sim::RunResult| run.aggregate.delivered_bytes;
    assert!(bytes(&lost) * 2 < bytes(&kept), "{} {}", bytes(&lost), bytes(&kept));
}

#[test]
fn a_controllers_rules_lead_to_an_address_that_was_kept() {
    for scheme in ["bare", "spurious", "zwa"] {
        let (subnets, bridged) = (result(&network(true), scheme, 1), result(&network(false), scheme, 1));
        let stalls = |run: &handfast_sim::RunResult| -> Vec<f64> {
            run.handovers.iter().map(|handover| handover.stall_s.unwrap()).collect()
        };
        for (there, here) in stalls(&subnets).into_iter().zip(stalls(&bridged)) {
            assert!(there < here + 0.5, "{scheme}: {there} {here}");
        }
        let late = |run: &handfast_sim::RunResult| {
            run.flows.iter().find(|flow| flow.flow == "late").unwrap().delivered_bytes
        };
        assert_eq!(late(&subnets), 200_000, "{scheme}: a connection that opens in a foreign subnet");
    }
}
