//! Quick-Start in whole runs: the LTE network of [vho] §4.1, and routers between.

use crate::support::{bytes, result, scenario};
use handfast_scenario::Scenario;
use handfast_sim::{Options, RunResult};

/// 400 packets to a phone; `loss` on the radio.
fn network(loss: &str) -> Scenario {
    scenario(&format!(
        "duration = \"20s\"\n\
         [nodes]\nserver = {{kind = \"host\", role = \"sender\"}}\nr1 = {{kind = \"switch\", role = \"core\"}}\n\
         lte = {{kind = \"ap\", role = \"base-station\"}}\nphone = {{kind = \"station\"}}\n\
         [[links]]\nbetween = [\"server\", \"r1\"]\nrate = \"100Mbit/s\"\ndelay = \"5ms\"\n\
         [[links]]\nbetween = [\"r1\", \"lte\"]\nrate = \"100Mbit/s\"\ndelay = \"5ms\"\n\
         [[links]]\nbetween = [\"lte\", \"phone\"]\nrate = \"50Mbit/s\"\ndelay = \"15ms\"\nqueue = \"125pkt\"\n\
         forward = {{loss = {loss}}}\n\
         [[flows]]\nfrom = \"server\"\nto = \"phone\"\napp = {{transfer = \"579000B\"}}\n\
         [tcp]\nreceive_buffer = \"8MB\"\n\
         [schemes.plain]\nsender = \"sack\"\nreceiver = \"sack\"\n\
         [schemes.nobody]\nsender = {{profile = \"sack\", quick_start = \"50Mbit/s\"}}\nreceiver = \"sack\"\n\
         [schemes.all]\nsender = {{profile = \"sack\", quick_start = \"50Mbit/s\"}}\nreceiver = \"sack\"\n\
         agents = [{{kind = \"quick-start\", at = \"role:sender\"}}, {{kind = \"quick-start\", at = \"role:core\"}}, \
         {{kind = \"quick-start\", at = \"role:base-station\"}}]\n\
         [schemes.routers]\nsender = {{profile = \"sack\", quick_start = \"50Mbit/s\"}}\nreceiver = \"sack\"\n\
         agents = [{{kind = \"quick-start\", at = \"role:core\"}}, {{kind = \"quick-start\", at = \"role:base-station\"}}]\n\
         [schemes.some]\nsender = {{profile = \"sack\", quick_start = \"50Mbit/s\"}}\nreceiver = \"sack\"\n\
         agents = [{{kind = \"quick-start\", at = \"role:base-station\"}}]\n"
    ))
}

/// How long the transfer took, in milliseconds.
fn took(run: &RunResult) -> u64 {
    let flow = &run.flows[0];
    ((flow.end_s.expect("it is through") - flow.start_s.expect("it began")) * 1e3) as u64
}

#[test]
fn a_window_that_all_routers_approve_saves_round_trips() {
    let network = network("0");
    let plain = result(&network, "plain", 1);
    for scheme in ["all", "routers"] {
        let run = result(&network, scheme, 1);
        assert_eq!(run.aggregate.lost_segments(), Some(0), "{scheme}");
        // Of 50 Mbit/s 40.96 are approved: 400 packets take 117 ms of them, and 100 ms of handshake and the last round trip.
        assert!(
            took(&run) < 250 && took(&plain) > 350,
            "{scheme}: {} ms, {} without",
            took(&run),
            took(&plain)
        );
    }
}

#[test]
fn one_router_that_does_not_understand_is_a_refusal() {
    let network = network("0");
    let plain = result(&network, "plain", 1);
    for scheme in ["nobody", "some"] {
        let run = result(&network, scheme, 1);
        // Eight bytes of an option in two packets, and that the first data need not open the window: their ACK may be delayed.
        assert!(
            took(&run).abs_diff(took(&plain)) <= 45,
            "{scheme}: {} ms, {} without",
            took(&run),
            took(&plain)
        );
        assert_eq!(run.aggregate.cwnd_min_pkt(), plain.aggregate.cwnd_min_pkt());
    }
}

#[test]
fn a_loss_in_the_approved_window_is_answered_by_the_default() {
    let run = result(&network("{list = [20, 60]}"), "all", 1);
    assert_eq!(run.aggregate.retransmitted_segments(), Some(2));
    assert_eq!(run.aggregate.timeouts(), Some(0));
    // cwnd went back to the initial window (RFC 3390).
    assert_eq!(run.aggregate.cwnd_min_pkt(), result(&network("0"), "plain", 1).aggregate.cwnd_min_pkt());
    let smooth = result(&network("0"), "all", 1);
    assert!(took(&run) > took(&smooth) + 50, "{} ms, {} without", took(&run), took(&smooth));
}

#[test]
fn the_option_crosses_a_real_wire_at_every_hop() {
    for loss in ["0", "{list = [20, 60]}"] {
        let network = network(loss);
        for scheme in ["all", "some"] {
            let plain = Options { seed: 3, ..Options::default() };
            let wired = Options { verify_wire: true, ..plain.clone() };
            assert!(bytes(&network, scheme, &plain) == bytes(&network, scheme, &wired), "{scheme}");
        }
    }
}

/// Four downloads of 400 packets over the LTE network, and a handoff to it from EGPRS: [vho] §4.1 and §4.2.
fn told(flows: &str) -> Scenario {
    scenario(&format!(
        "duration = \"12s\"\n\
         [nodes]\nserver = {{kind = \"host\", role = \"router\"}}\nr = {{kind = \"switch\", role = \"router\"}}\n\
         egprs = {{kind = \"ap\", role = \"router\"}}\nlte = {{kind = \"ap\", role = \"router\"}}\n\
         phone = {{kind = \"station\", role = \"mobile\", ap = \"lte\"}}\n\
         [[links]]\nbetween = [\"server\", \"r\"]\nrate = \"100Mbit/s\"\ndelay = \"10ms\"\n\
         [[links]]\nbetween = [\"r\", \"egprs\"]\nrate = \"1Gbit/s\"\ndelay = \"0s\"\n\
         [[links]]\nbetween = [\"r\", \"lte\"]\nrate = \"1Gbit/s\"\ndelay = \"0s\"\n\
         [[links]]\nbetween = [\"egprs\", \"phone\"]\nrate = \"200kbit/s\"\ndelay = \"300ms\"\nqueue = \"10pkt\"\n\
         [[links]]\nbetween = [\"lte\", \"phone\"]\nrate = \"50Mbit/s\"\ndelay = \"15ms\"\nqueue = \"125pkt\"\n\
         [[flows]]\nfrom = \"server\"\nto = \"phone\"\n{flows}\n\
         [tcp]\nreceive_buffer = \"8MB\"\n\
         [schemes.plain]\nsender = \"sack\"\nreceiver = \"sack\"\n\
         [schemes.abest]\nsender = {{profile = \"sack\", estimate = \"pair-chirp\"}}\nreceiver = \"sack\"\n\
         agents = [{{kind = \"vho\", at = \"role:mobile\"}}]\n\
         [schemes.qs]\nsender = {{profile = \"sack\", quick_start = \"access\"}}\nreceiver = \"sack\"\n\
         agents = [{{kind = \"vho\", at = \"role:mobile\"}}, {{kind = \"quick-start\", at = \"role:router\"}}]\n"
    ))
}

#[test]
fn an_estimate_ends_slow_start_before_the_queue_overflows() {
    let network = told("count = 4\napp = {transfer = \"579200B\"}");
    assert!(result(&network, "plain", 1).aggregate.lost_segments().unwrap() > 100);
    let run = result(&network, "abest", 1);
    assert_eq!((run.aggregate.lost_segments(), run.aggregate.timeouts()), (Some(0), Some(0)));
    let plain = Options { seed: 3, ..Options::default() };
    let wired = Options { verify_wire: true, ..plain.clone() };
    assert!(bytes(&network, "abest", &plain) == bytes(&network, "abest", &wired));
}

#[test]
fn after_a_handoff_to_a_faster_link_both_find_its_rate() {
    let away =
        "[[events]]\nat = \"10ms\"\ndo = \"handover\"\nstation = \"phone\"\nto = \"egprs\"\ngap = \"0s\"";
    let back =
        "[[events]]\nat = \"10s\"\ndo = \"handover\"\nstation = \"phone\"\nto = \"lte\"\nmode = \"drain\"";
    let network = told(&format!("start = \"100ms\"\n{away}\n{back}"));
    let delivered = |scheme| result(&network, scheme, 1).flows[0].metrics.delivered_bytes().unwrap();
    // RTO, cwnd and ssthresh are those of 200 kbit/s; two seconds of 50 Mbit/s are left.
    let (plain, abest, qs) = (delivered("plain"), delivered("abest"), delivered("qs"));
    assert!(abest > 2 * plain && qs > 2 * plain, "{plain}, {abest}, {qs}");
}
