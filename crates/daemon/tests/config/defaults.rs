//! What operators get is what was simulated: where a scenario and `handfastd` say nothing, both controllers are told the same.

use handfast_assist::sdn::{Config, Fabric, Policy, Release};
use handfast_daemon::config::Settings;
use handfast_scenario::{AgentKind, Scenario};

/// A scenario's controller.
fn simulated() -> Config {
    const SCENARIO: &str = r#"
        duration = "1s"
        flows = [{from = "host", to = "phone"}]
        [nodes]
        host = {kind = "host"}
        ap = {kind = "ap"}
        phone = {kind = "station"}
        boss = {kind = "controller", role = "controller"}
        [[links]]
        between = ["host", "ap"]
        rate = "10Mbit/s"
        delay = "1ms"
        [[links]]
        between = ["ap", "phone"]
        rate = "54Mbit/s"
        delay = "1ms"
        [schemes.spurious]
        sender = "linux"
        agents = [{kind = "sdn", at = "role:controller", policy = "spurious", release_rate = "54Mbit/s"}]
    "#;
    let scenario = Scenario::parse(SCENARIO, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let AgentKind::Sdn(sdn) = &scenario.schemes[0].agents[0].kind else { panic!() };
    sdn.config(Fabric::default())
}

/// That of an operator who has said as little.
fn deployed() -> Config {
    const FILE: &str = r#"
        association_socket = "/run/handfast.sock"
        release = {rate = "54Mbit/s"}
        [access_points.ap1]
        datapath_id = "0000000000000001"
        port = 2
    "#;
    Settings::parse(FILE, "handfastd.toml").unwrap_or_else(|error| panic!("{error}")).controller
}

#[test]
fn a_scenario_and_the_daemon_have_the_same_defaults() {
    let (simulated, deployed) = (simulated(), deployed());
    assert_eq!(deployed.policy, Policy::Spurious);
    assert_eq!(simulated.policy, deployed.policy);
    assert_eq!(simulated.release, deployed.release);
    assert!(matches!(deployed.release, Release::Paced { burst: Release::BURST, .. }));
    assert_eq!(simulated.limits, deployed.limits);
    assert_eq!(simulated.datagrams, deployed.datagrams);
    let times = |config: &Config| {
        let &Config {
            hold_expiry, remember, path_timeout, settle, divert_timeout, idle, echo_interval, ..
        } = config;
        [hold_expiry, remember, path_timeout, settle, divert_timeout, idle, echo_interval]
    };
    assert_eq!(times(&simulated), times(&deployed));
    assert_eq!(simulated.priority, deployed.priority);
}
