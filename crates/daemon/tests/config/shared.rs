//! What operators get is what was simulated: the keys that a scenario's controller and `handfastd` have in common take the same
//! values, refuse the same ones in the same words, and have the same defaults.

use handfast_assist::sdn::spec::{Sdn, SdnTable};
use handfast_assist::sdn::{Config, Policy, Release};
use handfast_daemon::config::Settings;
use handfast_document::{DocumentError, Table};
use handfast_scenario::{AgentKind, Scenario};

/// A scenario's controller with these keys, and with the access points of `beside`.
fn simulated(keys: &str, beside: Config) -> Result<Config, DocumentError> {
    let policy = if keys.starts_with("policy") { "" } else { "policy = \"spurious\"\n" };
    let file = format!(
        r#"
        duration = "1s"
        flows = [{{from = "host", to = "phone"}}]
        [nodes]
        host = {{kind = "host"}}
        ap = {{kind = "ap"}}
        phone = {{kind = "station"}}
        boss = {{kind = "controller", role = "controller"}}
        [[links]]
        between = ["host", "ap"]
        rate = "10Mbit/s"
        delay = "1ms"
        [[links]]
        between = ["ap", "phone"]
        rate = "54Mbit/s"
        delay = "1ms"
        [schemes.helped]
        sender = "linux"
        [[schemes.helped.agents]]
        kind = "sdn"
        at = "role:controller"
        {policy}{keys}"#
    );
    let scenario = Scenario::parse(&file, "test.toml", &[])?;
    let AgentKind::Sdn(sdn) = &scenario.schemes[0].agents[0].kind else { panic!("another agent") };
    Ok(sdn.config(beside.fabric))
}

/// That of an operator who says the same.
fn deployed(keys: &str) -> Result<Config, DocumentError> {
    let file = format!(
        r#"{keys}
        association_socket = "/run/handfast.sock"
        [access_points.ap1]
        datapath_id = "0000000000000001"
        port = 2
        rate = "54Mbit/s"
        "#
    );
    Ok(Settings::parse(&file, "handfastd.toml")?.controller)
}

fn nothing_said() -> Config {
    deployed("").unwrap_or_else(|error| panic!("{error}"))
}

/// All that a scenario and a file of the daemon can both say.
fn told(config: &Config) -> String {
    format!("{:?} {:?} {:?} {:?}", config.policy, config.release, config.limits, config.hold_expiry)
}

/// The values to try for a key: right ones, and wrong ones.
fn values(key: &str) -> &'static [&'static str] {
    const SIZES: &[&str] = &["\"1B\"", "\"0B\"", "\"3MB\"", "\"2KiB\"", "\"3\"", "3", "\"3Mbit/s\"", "{}"];
    match key {
        "policy" => &["\"bare\"", "\"spurious\"", "\"spurios\"", "3"],
        "release" => &["\"paced\"", "\"unpaced\"", "\"fast\"", "3"],
        "release_rate" => &["\"54Mbit/s\"", "\"1bit/s\"", "\"0bit/s\"", "\"54Mbps\"", "54"],
        "release_burst" | "hold_per_connection" | "hold_per_station" | "hold_total" => SIZES,
        "hold_expiry" => {
            &["\"1s\"", "\"1500ms\"", "\"65000s\"", "\"999ms\"", "\"0s\"", "\"65001s\"", "\"-1s\"", "10"]
        }
        _ => panic!("`{key}` is new: say which values are right and which are wrong"),
    }
}

/// What is wrong, without the place.
fn words(error: &DocumentError) -> Vec<&str> {
    let place = |line: &&str| line.contains("-->") || line.contains(" | ") && !line.contains('^');
    error.message.lines().filter(|line| !place(line)).map(str::trim_start).map(after_carets).collect()
}

fn after_carets(line: &str) -> &str {
    line.rsplit_once('^').map_or(line, |(_, label)| label)
}

#[test]
fn every_key_takes_and_refuses_the_same_values() {
    let shared = SdnTable::KEYS.iter().filter(|key| !Sdn::NETWORK_KEYS.contains(key));
    let (mut taken, mut refused) = (0, 0);
    for key in shared.clone() {
        for value in values(key) {
            let line = format!("{key} = {value}\n");
            match (simulated(&line, nothing_said()), deployed(&line)) {
                (Ok(simulated), Ok(deployed)) => {
                    assert_eq!(told(&simulated), told(&deployed), "{line}");
                    taken += 1;
                }
                (Err(simulated), Err(deployed)) => {
                    assert_eq!(words(&simulated)[0], words(&deployed)[0], "{line}");
                    assert_eq!(words(&simulated), words(&deployed), "{line}");
                    refused += 1;
                }
                (one, other) => panic!("{line}: {one:?} in a scenario, {other:?} in the daemon's file"),
            }
        }
    }
    assert_eq!(shared.count() + Sdn::NETWORK_KEYS.len(), SdnTable::KEYS.len());
    assert!(taken > 20 && refused > 20, "{taken} {refused}");
}

#[test]
fn keys_that_depend_on_another_do_so_in_both() {
    for keys in [
        "release = \"unpaced\"\nrelease_rate = \"1Mbit/s\"",
        "release = \"unpaced\"\nrelease_burst = \"3kB\"",
    ] {
        let errors = [simulated(keys, nothing_said()), deployed(keys)].map(Result::unwrap_err);
        assert_eq!(words(&errors[0]), words(&errors[1]));
    }
}

#[test]
fn a_scenario_and_the_daemon_have_the_same_defaults() {
    let (simulated, deployed) = (simulated("", nothing_said()).unwrap(), nothing_said());
    // A scenario says its policy, since it compares several. Where an operator says none, it is this one.
    assert_eq!(deployed.policy, Policy::Spurious);
    assert_eq!(told(&simulated), told(&deployed));
    assert!(matches!(deployed.release, Release::Paced { burst: Release::BURST, .. }));
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

#[test]
fn keys_of_a_simulated_network_are_refused() {
    for key in Sdn::NETWORK_KEYS {
        assert!(SdnTable::KEYS.contains(key), "{key}");
        let error = deployed(&format!("{key} = \"1s\"")).unwrap_err();
        assert_eq!(words(&error)[0], format!("error: `{key}` is a key of scenarios only"));
    }
    // An older name of a key that both files have would be read, not refused.
    assert_eq!(Sdn::OLDER_NETWORK_KEYS, SdnTable::OLDER_KEYS);
    let error = deployed("news = \"never\"").unwrap_err();
    assert_eq!(words(&error)[0], "error: `news` is a key of scenarios only");
}

#[test]
fn older_names_mean_the_same() {
    for (older, today) in [
        ("release = {rate = \"24Mbit/s\"}", "release_rate = \"24Mbit/s\""),
        (
            "release = {rate = \"24Mbit/s\", burst = \"15kB\"}",
            "release_rate = \"24Mbit/s\"\nrelease_burst = \"15kB\"",
        ),
        ("limits.per_connection = \"1MB\"", "hold_per_connection = \"1MB\""),
        ("limits.per_station = \"2MB\"", "hold_per_station = \"2MB\""),
        ("limits.total = \"3MB\"", "hold_total = \"3MB\""),
    ] {
        let [older, today] =
            [older, today].map(|keys| deployed(keys).unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(told(&older), told(&today));
        assert_ne!(told(&today), told(&nothing_said()));
    }
}
