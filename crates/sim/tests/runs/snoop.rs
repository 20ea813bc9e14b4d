//! Snoop in whole runs: the network of [eln], table 1.

use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, run};

use crate::support::{result, scenario, set};

fn network(loss: &str) -> String {
    format!(
        "duration = \"100s\"\n\
         [nodes]\nfh = {{kind = \"host\"}}\nbs = {{kind = \"ap\", role = \"base-station\"}}\nmh = {{kind = \"station\"}}\n\
         [[links]]\nbetween = [\"fh\", \"bs\"]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n\
         [[links]]\nbetween = [\"bs\", \"mh\"]\nrate = \"2Mbit/s\"\ndelay = \"2ms\"\nqueue = \"50pkt\"\nforward = {{loss = {loss}}}\n\
         [[flows]]\nfrom = \"fh\"\nto = \"mh\"\n\
         [tcp]\nmss = 1024\ncwnd_clamp = \"20pkt\"\n\
         [schemes.newreno]\nsender = \"newreno\"\n\
         [schemes.snoop]\nsender = \"newreno\"\nagents = [{{kind = \"snoop\", at = \"role:base-station\"}}]\n\
         [schemes.snoop-sack]\nsender = \"sack\"\nagents = [{{kind = \"snoop\", at = \"role:base-station\"}}]\n"
    )
}

#[test]
fn snoop_hides_losses_of_the_radio_from_the_sender() {
    let network = scenario(&network("1e-2"));
    let run = |scheme| {
        let run = result(&network, scheme, 1);
        (run.aggregate.goodput_bps().unwrap() / 1e6, run.aggregate.retransmitted_segments().unwrap())
    };
    let (plain, by_sender) = run("newreno");
    for scheme in ["snoop", "snoop-sack"] {
        let (snooped, rest) = run(scheme);
        // 2 Mbit/s less headers and one packet in a hundred twice are 1.90; each repair waits behind what is in the queue.
        assert!(snooped > 1.70 && snooped > 1.2 * plain, "{scheme}: {snooped}, {plain}");
        assert!(rest * 10 < by_sender, "{scheme}: {rest} repeated end to end, {by_sender} without");
    }
}

/// An access point that repairs towards a host further away, which is no station.
fn wired(role: &str) -> handfast_scenario::Scenario {
    let text = network("1e-2").replace(
        "mh = {kind = \"station\"}",
        "mh = {kind = \"host\", role = \"mobile\"}\ns = {kind = \"switch\"}",
    );
    let text = text.replace("between = [\"bs\", \"mh\"]", "between = [\"bs\", \"s\"]");
    let last = "[[links]]\nbetween = [\"s\", \"mh\"]\nrate = \"10Mbit/s\"\ndelay = \"1ms\"\n[[flows]]";
    let agent = format!("at = \"role:base-station\", mobiles = \"{role}\"}}]");
    scenario(&text.replace("[[flows]]", last).replace("at = \"role:base-station\"}]", &agent))
}

#[test]
fn snoop_may_repair_towards_hosts_further_away() {
    let network = wired("mobile");
    let [plain, snooped] = ["newreno", "snoop"].map(|scheme| {
        let run = result(&network, scheme, 1);
        (run.aggregate.goodput_bps().unwrap() / 1e6, run.aggregate.retransmitted_segments().unwrap())
    });
    assert!(snooped.0 > 1.2 * plain.0, "{snooped:?}, {plain:?}");
    assert!(snooped.1 * 10 < plain.1, "{snooped:?}, {plain:?}");
}

#[test]
fn a_role_that_no_host_plays_is_an_error() {
    let network = wired("nobody");
    let scheme = network.scheme("snoop").unwrap();
    let error = run(&network, scheme, &Options::default(), &Control::new(), &mut NoSeries).unwrap_err();
    assert!(error.to_string().contains("no host plays this role"), "{error}");
}

#[test]
fn without_losses_snoop_changes_nothing() {
    let network = scenario(&network("0"));
    let bytes = |scheme| result(&network, scheme, 1).aggregate.delivered_bytes().unwrap();
    assert_eq!(bytes("newreno"), bytes("snoop"));
}

#[test]
fn a_loss_before_the_base_station_is_the_senders_to_repair() {
    let lossy = set(&network("0"), &[("links.fh-bs.forward.loss", "{list = [200]}")]);
    let run = result(&lossy, "snoop", 1);
    assert_eq!(run.aggregate.lost_segments(), Some(1));
    assert_eq!(run.aggregate.retransmitted_segments(), Some(1));
    assert_eq!(run.aggregate.timeouts(), Some(0));
}

#[test]
fn two_losses_in_a_window_cost_two_repairs_and_no_more() {
    let cost = |scheme| {
        let bytes = |loss| result(&scenario(&network(loss)), scheme, 1).aggregate.delivered_bytes().unwrap();
        bytes("0") - bytes("{list = [3000, 3002]}")
    };
    let (snooped, plain) = (cost("snoop-sack"), cost("sack"));
    // Two segments twice over the radio, and what their repairs displace.
    assert!(
        snooped <= 4 * 1_024,
        "{snooped} B: what the mobile gets twice must not be answered with more of it"
    );
    assert!(2 * snooped < plain, "{snooped} B with Snoop, {plain} B without");
}
