//! The scenarios that ship with handfast.

use handfast_core::{BitRate, Duration, Instant};
use handfast_scenario::{Action, App, DownMode, QueueLimit, Scenario};

fn shipped(name: &str) -> Scenario {
    let path = format!("{}/../../scenarios/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    Scenario::parse(&text, name, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn wifi_outage_is_what_the_first_issue_asks_for() {
    let scenario = shipped("wifi-outage.toml");
    assert_eq!(scenario.name, "wifi-outage");
    assert_eq!(scenario.duration, Duration::from_secs(30));
    let radio = &scenario.links[1];
    for (one, other) in
        [(&radio.forward, &scenario.links[0].forward), (&radio.backward, &scenario.links[0].backward)]
    {
        assert_eq!(one.rate, BitRate::from_bps(20_000_000));
        assert_eq!(one.delay + other.delay, Duration::from_millis(20));
        assert_eq!(one.queue, Some(QueueLimit::Packets(100)));
        assert!(one.losses.is_empty());
    }
    assert_eq!(scenario.flows.len(), 1);
    assert_eq!(scenario.flows[0].app, App::Bulk);
    let outage = Action::Outage { link: 1, gap: Duration::from_secs(3), mode: DownMode::Drop };
    assert_eq!(scenario.events.len(), 1);
    // The moment varies within one round trip, so that several seeds are several samples.
    assert_eq!(scenario.events[0].phase, Duration::from_millis(40));
    assert_eq!((scenario.events[0].at, &scenario.events[0].action), (Instant::from_millis(10_000), &outage));
    let schemes: Vec<&str> = scenario.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    assert_eq!(schemes, ["tahoe", "reno", "newreno", "sack", "cubic"]);
}
