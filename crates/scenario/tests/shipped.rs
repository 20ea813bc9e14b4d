//! The scenarios that ship with handfast.

use handfast_core::{BitRate, Duration, Instant};
use handfast_scenario::{Action, AgentKind, App, DownMode, Queue, Release, Scenario, SdnPolicy};

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
        assert_eq!(one.queue, Queue::packets(100));
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

#[test]
fn wifi_roam_holds_its_queue_before_the_switch_and_its_radio_behind() {
    let scenario = shipped("wifi-roam.toml");
    let node = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
    let path = &scenario.links[0];
    assert_eq!(path.between, [node("cn"), node("s1")]);
    for way in [&path.forward, &path.backward] {
        assert_eq!((way.rate, &way.queue), (BitRate::from_bps(20_000_000), &Queue::packets(100)));
    }
    // What a controller releases at once must find room at the radio.
    for air in [3, 4] {
        assert_eq!(scenario.links[air].forward.queue, Queue::packets(100));
    }
    let each_way: Duration = [0, 1, 3]
        .iter()
        .map(|&link: &usize| scenario.links[link].forward.delay)
        .fold(Duration::ZERO, |a, b| a + b);
    assert_eq!(each_way, Duration::from_millis(20));
    assert_eq!(scenario.nodes[node("mn")].ap, Some(node("ap1")));
    let gap = Duration::from_secs(3);
    assert_eq!(
        scenario.events[0].action,
        Action::Handover { station: node("mn"), to: node("ap2"), gap, drain: false }
    );
    assert_eq!(scenario.events[0].phase, Duration::from_millis(40));
    let told = scenario.schemes.iter().map(|scheme| {
        let [agent] = &scheme.agents[..] else { panic!("{scheme:?}") };
        let AgentKind::Sdn(sdn) = &agent.kind else { panic!("{agent:?}") };
        assert_eq!((&agent.at[..], sdn.notification.as_millis()), (&[node("ctl")][..], 2));
        (&scheme.name[..], scheme.sender_profile, sdn.policy, sdn.release == Release::Unpaced)
    });
    let (bare, spurious) = (SdnPolicy::Bare, SdnPolicy::Spurious);
    let expected = [
        ("bare", "linux", bare, false),
        ("spurious", "linux", spurious, false),
        ("unpaced", "linux", spurious, true),
        ("rto-max", "rto-max", bare, false),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
