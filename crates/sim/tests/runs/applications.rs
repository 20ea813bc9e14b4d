//! What applications do, and what an outage does to them.

use crate::support::{OUTAGE, result, scenario, set, with};
use handfast_core::Duration;
use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, RunError, run};

/// Two hosts and one link; flows are added.
const PAIR: &str = r#"
duration = "10s"
[nodes]
a = {kind = "host"}
b = {kind = "host"}
[[links]]
between = ["a", "b"]
rate = "8Mbit/s"
delay = "10ms"
queue = "100pkt"
"#;

#[test]
fn a_transfer_delivers_its_bytes_and_closes() {
    let scenario = with(PAIR, "[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = {transfer = \"1MB\"}");
    for scheme in ["tahoe", "reno", "newreno", "sack", "cubic", "linux"] {
        let flow = &result(&scenario, scheme, 1).flows[0];
        assert_eq!(
            (flow.metrics.delivered_bytes().unwrap(), flow.outcome),
            (1_000_000, "closed"),
            "{scheme}"
        );
        assert!(flow.end_s.unwrap() < 2.0, "{scheme}: {flow:?}");
        assert!(
            flow.metrics.goodput_bps().unwrap() <= flow.metrics.limit_bps().unwrap() * 1.01,
            "{scheme}: {flow:?}"
        );
        assert!(flow.metrics.idle_s().unwrap() < 0.5, "{scheme}: {flow:?}");
    }
}

#[test]
fn a_paced_flow_delivers_what_is_written_when_it_is_written() {
    let app = "app = {paced = {size = \"1kB\", interval = \"100ms\"}}\nstop = \"5s\"";
    let flow =
        &result(&with(PAIR, &format!("[[flows]]\nfrom = \"a\"\nto = \"b\"\n{app}")), "sack", 1).flows[0];
    // At 0 s, 100 ms, … up to but not at 5 s.
    assert_eq!((flow.metrics.delivered_bytes().unwrap(), flow.outcome), (50_000, "closed"));
    assert!((flow.metrics.idle_s().unwrap() - 0.1).abs() < 0.02, "{flow:?}");
    assert_eq!(flow.metrics.limit_bps().map(f64::round), Some(80_000.0));
}

#[test]
fn a_bulk_flow_that_is_stopped_is_soon_over() {
    let flow =
        &result(&with(PAIR, "[[flows]]\nfrom = \"a\"\nto = \"b\"\nstop = \"5s\""), "cubic", 1).flows[0];
    assert_eq!(flow.outcome, "closed");
    assert!((5.0..6.0).contains(&flow.end_s.unwrap()), "{flow:?}");
}

#[test]
fn a_reader_that_is_slower_than_the_link_sets_the_pace() {
    let flows =
        "[tcp]\nreceive_buffer = \"64kB\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\nread_rate = \"1Mbit/s\"";
    for scheme in ["reno", "linux"] {
        let flow = &result(&with(PAIR, flows), scheme, 1).flows[0];
        let goodput = flow.metrics.goodput_bps().unwrap();
        assert!((0.97e6..1.03e6).contains(&goodput), "{scheme}: {flow:?}");
        // A closed window is no loss.
        assert_eq!(
            (flow.metrics.lost_segments(), flow.metrics.timeouts()),
            (Some(0), Some(0)),
            "{scheme}: {flow:?}"
        );
    }
}

#[test]
fn an_outage_is_seen_by_the_flow_that_crosses_it() {
    let scenario = scenario(OUTAGE);
    for scheme in ["tahoe", "reno", "newreno", "sack", "cubic", "linux"] {
        let run = result(&scenario, scheme, 2);
        let [handover] = &run.handovers[..] else { panic!("{:?}", run.handovers) };
        assert_eq!((handover.station.as_str(), handover.link.as_str()), ("phone", "radio"));
        assert!((4.0..4.5).contains(&handover.down_s));
        assert!((handover.up_s.unwrap() - handover.down_s - 2.0).abs() < 1e-9);
        let stall = handover.stall_s.unwrap();
        // The RTO has been doubled some four times: the next probe comes within two seconds more.
        assert!((0.02..3.5).contains(&stall), "{scheme}: {stall}");
        let flow = &run.flows[0];
        // Nothing arrives from when the air is empty until data comes again.
        assert!((flow.metrics.idle_s().unwrap() - (2.0 + stall)).abs() < 0.05, "{scheme}: {flow:?}");
        assert!(flow.metrics.timeouts() >= Some(2), "{scheme}: {flow:?}");
        assert_eq!(run.aggregate.stall_s(), Some(stall));
        assert!(run.aggregate.goodput_bps() < run.aggregate.limit_bps(), "{scheme}: {:?}", run.aggregate);
    }
}

#[test]
fn an_outage_beyond_the_end_has_no_end() {
    let run = result(&set(OUTAGE, &[("events.0.at", "11s")]), "sack", 1);
    assert_eq!((run.handovers[0].up_s, run.handovers[0].stall_s), (None, None));
    assert_eq!(run.aggregate.stall_s(), None);
}

#[test]
fn what_cannot_be_known_is_null() {
    let run = result(&with(PAIR, "[[flows]]\nfrom = \"a\"\nto = \"b\"\nstart = \"9.999s\""), "sack", 1);
    let json = run.to_json();
    for key in
        ["goodput_bps", "stall_s", "time_to_full_rate_s", "idle_s", "first_byte_s", "srtt_s", "cwnd_mean_pkt"]
    {
        assert!(json.contains(&format!("\"{key}\":null")), "{key} in {json}");
    }
    assert!(json.contains("\"environment\":null"));
}

#[test]
fn a_flow_without_a_path_is_an_error() {
    let mut scenario = with(PAIR, "[[flows]]\nfrom = \"a\"\nto = \"b\"");
    scenario.links.clear();
    let scheme = scenario.scheme("sack").unwrap();
    let error = run(&scenario, scheme, &Options::default(), &Control::new(), &mut NoSeries).unwrap_err();
    assert_eq!(error.to_string(), "flow `a-b`: no path from `a` to `b`");
}

#[test]
fn a_run_can_be_cancelled_and_watched() {
    let mut scenario = with(PAIR, "[[flows]]\nfrom = \"a\"\nto = \"b\"");
    scenario.duration = Duration::from_secs(1_000_000);
    let control = Control::new();
    let scheme = scenario.scheme("sack").unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&scenario, scheme, &Options::default(), &control, &mut NoSeries));
        while control.progress() == 0.0 {
            std::thread::yield_now();
        }
        control.cancel();
        assert!(matches!(run.join().unwrap(), Err(RunError::Cancelled)));
    });
    assert!((0.0..1.0).contains(&control.progress()));
}

#[test]
fn odd_scenarios_have_results() {
    let flow = |more: &str| format!("[[flows]]\nfrom = \"a\"\nto = \"b\"\n{more}");
    let event = |more: &str| format!("{}\n[[events]]\nlink = \"a-b\"\nat = \"1s\"\n{more}", flow(""));
    let mut odd: Vec<_> = [
        "read_rate = \"1bit/s\"",
        "app = {transfer = \"1B\"}",
        "app = {paced = {size = \"1B\", interval = \"1us\"}}\nstop = \"50ms\"",
        "app = {paced = {size = \"4GB\", interval = \"1s\"}}",
        "start = \"9.99s\"",
        "start = \"1s\"\nstop = \"1000000001ns\"",
    ]
    .map(|more| with(PAIR, &flow(more)))
    .into();
    odd.extend(
        [
            "do = \"rate\"\nrate = \"1bit/s\"",
            "do = \"rate\"\nrate = \"1000Gbit/s\"",
            "do = \"delay\"\ndelay = \"0s\"",
            "do = \"outage\"\ngap = \"1ns\"",
            "do = \"outage\"\ngap = \"100s\"\nmode = \"hold\"",
        ]
        .map(|more| with(PAIR, &event(more))),
    );
    let pair = format!("{PAIR}{}", flow(""));
    let links = [("rate", "1bit/s"), ("queue", "1pkt"), ("queue", "1500B"), ("delay", "0s"), ("loss", "1.0")];
    odd.extend(links.map(|(key, value)| set(&pair, &[(&format!("links.a-b.{key}"), value)])));
    for scenario in &odd {
        for scheme in ["tahoe", "linux"] {
            let run = result(scenario, scheme, 1);
            let flow = &run.flows[0];
            let most = flow.metrics.limit_bps().unwrap() * 10.0 / 8.0;
            assert!(run.valid && flow.metrics.delivered_bytes().unwrap() as f64 <= most + 1500.0, "{flow:?}");
            assert!(flow.metrics.lost_segments() <= flow.metrics.data_segments_sent(), "{flow:?}");
        }
    }
}

#[test]
fn a_transfer_of_nothing_is_done_at_once() {
    let mut scenario = with(PAIR, "[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = {transfer = \"1B\"}");
    scenario.flows[0].app = handfast_scenario::App::Transfer(handfast_core::Bytes(0));
    let flow = &result(&scenario, "sack", 1).flows[0];
    assert_eq!(
        (flow.outcome, flow.metrics.delivered_bytes().unwrap(), flow.metrics.goodput_bps()),
        ("closed", 0, None)
    );
}
