//! Packets sprayed over paths of equal length overtake each other; SDTP asks for little of what only comes late.

use std::fmt::Write;

use handfast_sim::RunResult;

use crate::support::{counted, result, scenario};

/// Two ways between s1 and s4 of which one takes 4 ms longer, and no losses.
fn network() -> String {
    let mut text = String::from(
        "duration = \"5s\"\n[nodes]\na = {kind = \"host\"}\nb = {kind = \"host\"}\ns2 = {kind = \"switch\"}\n\
         s1 = {kind = \"switch\", role = \"split\"}\ns3 = {kind = \"switch\"}\ns4 = {kind = \"switch\", role = \"split\"}\n\
         ctl = {kind = \"controller\", role = \"controller\"}\n",
    );
    for (from, to, ms) in
        [("a", "s1", 5), ("s1", "s2", 3), ("s2", "s4", 3), ("s1", "s3", 5), ("s3", "s4", 5), ("s4", "b", 5)]
    {
        writeln!(
            text,
            "[[links]]\nname = \"{from}-{to}\"\nbetween = [\"{from}\", \"{to}\"]\nrate = \"20Mbit/s\"\ndelay = \"{ms}ms\""
        )
        .unwrap();
    }
    let sdtp = "{kind = \"sdtp\", at = \"role:controller\", placement = \"given\"}";
    let spray = "{kind = \"spray\", at = \"role:split\"}";
    text + &format!(
        "[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = {{transfer = \"4MB\"}}\n\
         [schemes.reno]\nsender = \"reno\"\nagents = [{spray}]\n\
         [schemes.sdtp]\nsender = \"reno\"\nagents = [{sdtp}, {spray}]\n\
         [schemes.one-path]\nsender = \"reno\"\n"
    )
}

fn took_ms(run: &RunResult) -> u64 {
    let flow = &run.flows[0];
    ((flow.end_s.expect("it is through") - flow.start_s.expect("it began")) * 1e3) as u64
}

#[test]
fn what_overtakes_looks_lost_to_a_host_and_not_across_sdtp() {
    let network = scenario(&network());
    let [reno, sdtp, one_path] = ["reno", "sdtp", "one-path"].map(|scheme| result(&network, scheme, 1));
    // RFC 5681 §3.2: three duplicate acknowledgments, of packets that have only come late.
    assert!(reno.flows[0].metrics.retransmitted_segments().unwrap() > 4);
    assert_eq!(sdtp.flows[0].metrics.retransmitted_segments(), Some(0));
    // Reno waits for timeouts on one path too, where its slow start overruns the queue.
    assert!(took_ms(&sdtp) < took_ms(&reno).min(took_ms(&one_path)));
}

#[test]
fn a_node_learns_how_late_packets_come_and_asks_for_few_of_them() {
    let run = result(&scenario(&network()), "sdtp", 1);
    let packets = counted(&run, "sprayed");
    let asked = counted(&run, "requests_count") + counted(&run, "requests_time");
    assert!(packets > 4_000, "{packets}");
    assert!(asked < packets / 50, "{asked} requests of {packets} packets, and nothing was lost");
}
