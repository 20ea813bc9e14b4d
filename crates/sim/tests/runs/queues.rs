//! Queue disciplines: what they do to the delay that a full queue adds.

use handfast_assist::{Agent, Verdict, View};
use handfast_core::Instant;
use handfast_net::{Outbox, Port};
use handfast_results::metrics::Values;
use handfast_results::result::RunResult;
use handfast_scenario::{self as scenario, AgentKind};
use handfast_sim::series::{Collected, NoSeries};
use handfast_sim::{Control, Options, Plugins, run_with};
use handfast_wire::Packet;

use crate::series::columns;
use crate::support::{OUTAGE, bytes, edited, result, scenario, set};

/// Two downloads over a link of 20 Mbit/s with this queue; 20 ms each way.
fn downloads(queue: &str) -> String {
    format!(
        r#"
duration = "30s"
[nodes]
server = {{kind = "host"}}
router = {{kind = "switch"}}
client = {{kind = "host"}}
[[links]]
between = ["server", "router"]
rate = "1Gbit/s"
delay = "5ms"
[[links]]
between = ["router", "client"]
rate = "20Mbit/s"
delay = "15ms"
queue = {queue}
[[flows]]
from = "server"
to = "client"
[[flows]]
from = "server"
to = "client"
"#
    )
}

/// Two downloads over the air at 54 Mbit/s with this queue.
fn on_the_air(queue: &str) -> String {
    let text = edited(&downloads(queue), "router = {kind = \"switch\"}", "router = {kind = \"ap\"}");
    let text = edited(&text, "client = {kind = \"host\"}", "client = {kind = \"station\"}");
    edited(&text, "rate = \"20Mbit/s\"", "rate = \"54Mbit/s\"\nair = {standard = \"802.11g\"}")
}

const DROP_TAIL: &str = "\"1000pkt\"";
const CODEL: &str = "{discipline = \"codel\", limit = \"1000pkt\"}";

/// Bytes in the queue towards the client in the last two thirds of the run: their median, over `bps` as milliseconds.
fn median_delay_ms(series: &Collected, bps: f64) -> f64 {
    let queues = columns(series, "queues");
    let rows = queues["queue"].iter().zip(&queues["time_s"]).zip(&queues["queue_bytes"]);
    // The second link's first direction.
    let held = rows.filter(|((queue, at), _)| **queue as u32 == 2 && **at > 10.0).map(|(_, &bytes)| bytes);
    let mut held: Vec<f64> = held.collect();
    assert!(held.len() > 500, "{}", held.len());
    held.sort_by(f64::total_cmp);
    held[held.len() / 2] * 8e3 / bps
}

fn delay_and_goodput(text: &str, bps: f64) -> (f64, f64) {
    let options = Options { seed: 1, series: true, ..Options::default() };
    let (_, series) = bytes(&scenario(text), "linux", &options);
    let run = result(&scenario(text), "linux", 1);
    (median_delay_ms(&series, bps), goodput(&run))
}

fn goodput(run: &RunResult) -> f64 {
    run.flows.iter().map(|flow| flow.metrics.goodput_bps().unwrap()).sum::<f64>() / 1e6
}

/// Drop-tail fills its queue; `CoDel` keeps the delay near its target of 5 ms at nearly the same goodput.
fn compare(way: impl Fn(&str) -> String) {
    // On the air too about 20 Mbit/s of packets leave (`air.rs`).
    let (bloated, full) = delay_and_goodput(&way(DROP_TAIL), 20e6);
    let (controlled, most) = delay_and_goodput(&way(CODEL), 20e6);
    assert!(bloated > 200.0, "{bloated} ms");
    assert!((1.0..15.0).contains(&controlled), "{controlled} ms");
    assert!(most > 0.9 * full, "{most} of {full} Mbit/s");
}

#[test]
fn codel_keeps_the_delay_low_on_a_link() {
    compare(downloads);
}

#[test]
fn codel_keeps_the_delay_low_on_the_air() {
    compare(on_the_air);
}

#[test]
fn what_codel_drops_is_lost_and_sent_again() {
    let run = result(&scenario(&downloads(CODEL)), "linux", 1);
    for flow in &run.flows {
        assert!(flow.metrics.lost_segments() > Some(10), "{:?}", flow.metrics.lost_segments());
        assert!(
            flow.metrics.retransmitted_segments() > Some(10),
            "{:?}",
            flow.metrics.retransmitted_segments()
        );
    }
}

/// What disciplines dropped and marked of each flow.
fn managed(run: &RunResult) -> Vec<[Option<u64>; 2]> {
    let of = |metrics: &Values| [metrics.aqm_dropped_segments(), metrics.ce_marked_segments()];
    run.flows.iter().map(|flow| of(&flow.metrics)).chain([of(&run.aggregate)]).collect()
}

#[test]
fn drops_of_a_discipline_are_told_from_those_of_a_full_queue() {
    for way in [downloads, on_the_air] {
        let run = result(&scenario(&way(CODEL)), "linux", 1);
        // The queue is never full: all that is lost the discipline has dropped.
        for flow in &run.flows {
            assert!(flow.metrics.aqm_dropped_segments() > Some(10));
            assert_eq!(flow.metrics.aqm_dropped_segments(), flow.metrics.lost_segments());
        }
        let of_flows: u64 = managed(&run)[..2].iter().map(|of| of[0].unwrap()).sum();
        assert_eq!(managed(&run)[2], [Some(of_flows), Some(0)], "the senders do no ECN");
        // A queue that is too short for the windows is full besides.
        let short = "{discipline = \"codel\", limit = \"20pkt\"}";
        let run = result(&scenario(&way(short)), "linux", 1);
        let sum = |get: fn(&Values) -> Option<u64>| {
            run.flows.iter().map(|flow| get(&flow.metrics).unwrap()).sum::<u64>()
        };
        assert!(sum(Values::aqm_dropped_segments) < sum(Values::lost_segments));
        // Where no discipline decides there is nothing to count, and results are as they were.
        let plain = result(&scenario(&way(DROP_TAIL)), "linux", 1);
        assert_eq!(managed(&plain), [[None; 2]; 3]);
        assert!(!plain.to_json().contains("aqm"));
    }
}

/// Makes packets those of a sender that does ECN.
struct EcnCapable;

impl Agent for EcnCapable {
    fn look(&mut self, _: Instant, _: Port, _: &View<'_>, _: &mut Outbox) -> Verdict {
        Verdict::Take
    }

    fn on_packet(&mut self, _: Instant, _: Port, packet: Packet, out: &mut Outbox) {
        // RFC 3168 §5: ECT(0)
        out.forward(Packet { traffic_class: packet.traffic_class | 0b10, ..packet });
    }
}

#[test]
fn marks_are_counted_in_place_of_drops() {
    for way in [downloads, on_the_air] {
        let plugins = Plugins::new().with("ecn", Box::new(|_, _, _, _| Box::new(EcnCapable)));
        let mut scenario = scenario(&way(CODEL));
        scenario.schemes = vec![scenario.scheme("linux").unwrap().clone()];
        let at = scenario.nodes.iter().position(|node| node.name == "router").into_iter().collect();
        scenario.schemes[0].agents = vec![scenario::Agent { kind: AgentKind::Plugin("ecn".to_owned()), at }];
        let options = Options { seed: 1, ..Options::default() };
        let scheme = &scenario.schemes[0];
        let run = run_with(&plugins, &scenario, scheme, &options, &Control::new(), &mut NoSeries).unwrap();
        for [dropped, marked] in managed(&run) {
            assert_eq!(dropped, Some(0));
            assert!(marked > Some(10), "{marked:?}");
        }
    }
}

/// Schemes whose senders and receivers do ECN.
const CAPABLE: &str = r#"
[schemes.cubic-ecn]
sender = {profile = "cubic", ecn = true}
receiver = {profile = "linux", ecn = true}
[schemes.linux-ecn]
sender = {profile = "linux", ecn = true}
receiver = {profile = "linux", ecn = true}
[schemes.alone]
sender = {profile = "linux", ecn = true}
"#;

#[test]
fn who_does_ecn_loses_nothing_to_a_discipline_and_keeps_its_delay() {
    for queue in [CODEL, "\"fq-codel\""] {
        for scheme in ["cubic-ecn", "linux-ecn"] {
            let text = downloads(queue) + CAPABLE;
            let run = result(&scenario(&text), scheme, 1);
            let said = format!("{queue}, {scheme}: {:?}", managed(&run));
            for flow in &run.flows {
                assert!(flow.metrics.ce_marked_segments() > Some(10), "{said}");
            }
            assert_eq!(lost(&run), 0, "{said}");
            assert!(goodput(&run) > 15.0, "{said}: {}", goodput(&run));
        }
        let run = result(&scenario(&(downloads(queue) + CAPABLE)), "alone", 1);
        assert_eq!(managed(&run)[2][1], Some(0), "the receiver has not agreed");
    }
}

fn lost(run: &RunResult) -> u64 {
    run.flows.iter().map(|flow| flow.metrics.lost_segments().unwrap()).sum()
}

#[test]
fn red_marks_below_its_upper_threshold_and_drops_above() {
    let queue = "{discipline = \"red\", min = \"15pkt\", max = \"45pkt\"}";
    let text = downloads(queue) + CAPABLE;
    let [marked, dropped] = ["linux-ecn", "linux"].map(|scheme| result(&scenario(&text), scheme, 1));
    assert!(managed(&marked)[2][1] > Some(50), "{:?}", managed(&marked));
    assert_eq!(managed(&dropped)[2][1], Some(0));
    // Slow start may take the average above the threshold in both; afterwards only who does no ECN loses.
    assert!(lost(&marked) < lost(&dropped) / 2, "{} {}", lost(&marked), lost(&dropped));
    assert!(goodput(&marked) > 15.0 && goodput(&dropped) > 15.0);
    let (delay, _) = delay_and_goodput(&downloads(queue), 20e6);
    assert!((3.0..30.0).contains(&delay), "{delay} ms");
}

#[test]
fn flow_queueing_gives_who_comes_later_its_share() {
    let share = |queue: &str| {
        // The second flow is the last table.
        let text = downloads(queue) + "start = \"3s\"\n";
        let run = result(&scenario(&text), "linux", 1);
        let [first, second] = [0, 1].map(|flow: usize| run.flows[flow].metrics.goodput_bps().unwrap());
        second / first
    };
    // Both are measured from their own beginning: the first has had 3 of 30 s alone.
    let (shared, fair) = (share(DROP_TAIL), share("\"fq-codel\""));
    assert!((0.8..1.0).contains(&fair), "{fair}");
    assert!(shared < fair, "{shared}, {fair}");
}

#[test]
fn fq_codel_keeps_the_delay_low_too() {
    for way in [downloads as fn(&str) -> String, on_the_air] {
        let (controlled, most) = delay_and_goodput(&way("\"fq-codel\""), 20e6);
        assert!((0.5..20.0).contains(&controlled), "{controlled} ms");
        assert!(most > 15.0, "{most} Mbit/s");
    }
}

#[test]
fn an_outage_of_a_link_under_codel_ends() {
    let run = |queue: &str| {
        result(&set(OUTAGE, &[("links.radio.queue", queue)]), "linux", 1).flows[0]
            .metrics
            .goodput_bps()
            .unwrap()
            / 1e6
    };
    let (drop_tail, codel) = (run("\"50pkt\""), run("\"codel\""));
    // 10 of 12 s of 10 Mbit/s, with losses; drop-tail has 7.6, CoDel with fewer packets under way 5.0.
    assert!(codel > 3.0 && drop_tail > 3.0, "{codel} {drop_tail}");
}
