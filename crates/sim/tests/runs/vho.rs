//! Stations that tell senders of their access links, and handovers in which the old link drains.

use handfast_scenario::Scenario;
use handfast_sim::series::{DType, NoSeries};
use handfast_sim::{Control, Options, RunError, run};

use crate::support::{bytes, edited, result, scenario, set};

/// A host 10 ms from two access points; a station that goes from 54 Mbit/s and 4 ms to 6 Mbit/s and 50 ms.
const VERTICAL: &str = r#"
duration = "3s"
sample_interval = "1ms"
[nodes]
cn = {kind = "host"}
s1 = {kind = "switch"}
wlan = {kind = "ap"}
hsdpa = {kind = "ap"}
mn = {kind = "station", role = "mobile", ap = "wlan"}
[[links]]
between = ["cn", "s1"]
rate = "100Mbit/s"
delay = "10ms"
[[links]]
between = ["s1", "wlan"]
rate = "1Gbit/s"
delay = "0s"
[[links]]
between = ["s1", "hsdpa"]
rate = "1Gbit/s"
delay = "0s"
[[links]]
name = "fast"
between = ["wlan", "mn"]
rate = "54Mbit/s"
delay = "4ms"
queue = "36pkt"
[[links]]
name = "slow"
between = ["hsdpa", "mn"]
rate = "6Mbit/s"
delay = "50ms"
queue = "50pkt"
[[flows]]
from = "cn"
to = "mn"
[[events]]
at = "1s"
do = "handover"
station = "mn"
to = "hsdpa"
mode = "drain"
[tcp]
cwnd_clamp = "40pkt"
[schemes.told]
sender = {profile = "sack", vho = ["initial-ssthresh", "handoff-ssthresh"]}
agents = [{kind = "vho", at = "role:mobile"}]
[schemes.deaf]
sender = {profile = "sack", vho = ["initial-ssthresh", "handoff-ssthresh"]}
agents = [{kind = "vho", at = "role:mobile", loss = 1}]
"#;

fn vertical() -> Scenario {
    scenario(VERTICAL)
}

/// With other values of the notification that tells, or that is lost.
fn notified(scheme: &str, changes: &[(&str, &str)]) -> Scenario {
    let paths: Vec<_> = changes.iter().map(|(key, _)| format!("schemes.{scheme}.agents.0.{key}")).collect();
    let changes: Vec<_> = paths.iter().zip(changes).map(|(path, (_, value))| (&path[..], *value)).collect();
    set(VERTICAL, &changes)
}

/// When ssthresh of the first flow, in segments, is which: its changes, in milliseconds.
fn thresholds(scenario: &Scenario, scheme: &str) -> Vec<(u64, u64)> {
    let options = Options { series: true, ..Options::default() };
    let (_, series) = bytes(scenario, scheme, &options);
    let (_, columns) = series.tables().next().expect("flows");
    let column = |name: &str, dtype: DType| {
        let (_, _, bytes) = columns.iter().find(|c| c.0 == name && c.1 == dtype).expect("a column");
        bytes.chunks_exact(dtype.size()).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let times = column("time_s", DType::F64);
    let (flows, values) = (column("flow", DType::U32), column("ssthresh_pkt", DType::F32));
    let mut changes: Vec<(u64, u64)> = Vec::new();
    for ((time, value), _) in times.into_iter().zip(values).zip(flows).filter(|(_, flow)| flow == &[0; 4]) {
        let ms = (f64::from_le_bytes(time.try_into().unwrap()) * 1000.0).round() as u64;
        let packets = f32::from_le_bytes(value.try_into().unwrap()).round() as u64;
        // None at the beginning.
        if packets > 0 && changes.last().is_none_or(|last| last.1 != packets) {
            changes.push((ms, packets));
        }
    }
    changes
}

#[test]
fn a_notification_comes_before_the_first_data_and_one_way_over_the_new_link_after_a_handoff() {
    // Round trip 28 ms: the SYN is back at 28 ms. 54 Mbit/s and 8 ms are 36 packets, 6 Mbit/s and 100 ms are 50.
    assert_eq!(thresholds(&vertical(), "told"), [(29, 36), (1061, 50)]);
}

#[test]
fn its_own_delay_comes_on_top() {
    let late = notified("told", &[("delay", "20ms")]);
    assert_eq!(thresholds(&late, "told"), [(49, 36), (1081, 50)]);
}

#[test]
fn a_lost_notification_changes_nothing() {
    assert_eq!(thresholds(&vertical(), "deaf"), []);
    assert_eq!(result(&vertical(), "deaf", 1).flows, result(&vertical(), "sack", 1).flows);
    let again = notified("deaf", &[("loss", "0.9"), ("repeat", "100"), ("repeat_after", "1ms")]);
    assert_eq!(thresholds(&again, "deaf").last().unwrap().1, 50, "one of a hundred came through");
}

#[test]
fn two_flows_share_what_they_are_told_of() {
    let two = set(VERTICAL, &[("flows.0.count", "2")]);
    let seen: Vec<_> = thresholds(&two, "told").into_iter().map(|(_, packets)| packets).collect();
    assert_eq!(seen, [18, 25]);
}

#[test]
fn a_link_that_is_back_is_told_of() {
    let outage = ("events.0", "{at = \"1s\", do = \"outage\", link = \"fast\", gap = \"1s\"}");
    let at_once = set(VERTICAL, &[outage, ("schemes.told.sender.vho", "[\"retransmit\"]")]);
    let stall = |scenario: &Scenario, scheme: &str| result(scenario, scheme, 1).handovers[0].stall_s.unwrap();
    // The notification is 14 ms on its way, and the segment as long.
    assert!((0.028..0.029).contains(&stall(&at_once, "told")), "{}", stall(&at_once, "told"));
    assert!(stall(&at_once, "sack") > 0.2);
}

#[test]
fn what_is_on_a_link_that_drains_arrives() {
    for [from, to] in [["cn", "mn"], ["mn", "cn"]] {
        let mut gone = 0;
        // The window comes in a burst: somewhere in a round trip of 28 ms it is on the link.
        for at in (1000..1028).step_by(7) {
            let at = format!("{at}ms");
            let changes = [("flows.0.from", from), ("flows.0.to", to), ("events.0.at", &at)];
            let all = result(&set(VERTICAL, &changes), "sack", 1).aggregate;
            assert_eq!((all.lost_segments, all.timeouts), (Some(0), Some(0)), "from {from}");
            assert!(all.idle_s.unwrap() < 0.15, "from {from}: {:?}", all.idle_s);
            let drops = set(&edited(VERTICAL, "mode = \"drain\"", "gap = \"0s\""), &changes);
            gone += result(&drops, "sack", 1).aggregate.lost_segments.unwrap();
        }
        assert!(gone > 4, "from {from}: {gone}");
    }
}

#[test]
fn who_comes_to_the_old_access_point_late_still_gets_by() {
    // With a long wire to the first access point packets are on it as the station goes.
    let far = set(VERTICAL, &[("links.s1-wlan.delay", "5ms")]);
    assert_eq!(result(&far, "sack", 1).aggregate.lost_segments, Some(0));
}

#[test]
fn a_handover_that_drains_leads_back_as_well() {
    let back = format!(
        "{VERTICAL}[[events]]\nat = \"2s\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"wlan\"\ngap = \"100ms\"\n"
    );
    let seen = thresholds(&scenario(&back), "told");
    assert_eq!(seen[..2], [(29, 36), (1061, 50)]);
    assert!(seen[2..].iter().any(|&(at, packets)| at == 2115 && packets == 36), "{seen:?}");
}

#[test]
fn through_the_wire_at_every_hop_nothing_changes() {
    let plain = Options { seed: 3, ..Options::default() };
    let wired = Options { verify_wire: true, ..plain.clone() };
    assert!(bytes(&vertical(), "told", &plain) == bytes(&vertical(), "told", &wired));
}

#[test]
fn a_controller_s_paths_do_not_drain() {
    let bare =
        "{sender = \"sack\", agents = [{kind = \"sdn\", at = \"role:controller\", policy = \"bare\"}]}";
    let controller = ("nodes.ctl", "{kind = \"controller\", role = \"controller\"}");
    let scenario = set(VERTICAL, &[controller, ("schemes.sdn", bare)]);
    let scheme = scenario.scheme("sdn").unwrap();
    let failed = run(&scenario, scheme, &Options::default(), &Control::new(), &mut NoSeries);
    assert!(matches!(&failed, Err(RunError::Scenario(why)) if why.contains("drain")), "{failed:?}");
}
