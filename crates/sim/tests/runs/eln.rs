//! [eln] in whole runs: table 1 of the paper.

use std::sync::Arc;

use handfast_scenario::Scenario;

use crate::support::{result, scenario};

fn network(loss: &str, more: &str) -> Scenario {
    scenario(&format!(
        "duration = \"60s\"\n\
         [nodes]\nfh = {{kind = \"host\"}}\nr = {{kind = \"switch\"}}\nmh = {{kind = \"station\"}}\n\
         bs1 = {{kind = \"ap\", role = \"base-station\"}}\nbs2 = {{kind = \"ap\", role = \"base-station\"}}\n\
         [[links]]\nbetween = [\"fh\", \"r\"]\nrate = \"1Gbit/s\"\ndelay = \"0s\"\n\
         [[links]]\nbetween = [\"r\", \"bs1\"]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n\
         [[links]]\nbetween = [\"r\", \"bs2\"]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n\
         [[links]]\nbetween = [\"bs1\", \"mh\"]\nrate = \"2Mbit/s\"\ndelay = \"2ms\"\nqueue = \"50pkt\"\nforward = {{loss = {loss}}}\n\
         [[links]]\nbetween = [\"bs2\", \"mh\"]\nrate = \"2Mbit/s\"\ndelay = \"2ms\"\nqueue = \"50pkt\"\n\
         [[flows]]\nfrom = \"fh\"\nto = \"mh\"\n{more}\n\
         [tcp]\nmss = 1024\n\
         [schemes.sack]\nsender = \"sack\"\nagents = [{{kind = \"eln\", at = \"role:base-station\"}}]\n\
         [schemes.eln]\nsender = {{profile = \"sack\", eln = true}}\nreceiver = {{profile = \"linux\", eln = true}}\n\
         agents = [{{kind = \"eln\", at = \"role:base-station\"}}]\n\
         [schemes.blind]\nsender = {{profile = \"sack\", eln = true}}\nreceiver = {{profile = \"linux\", eln = true}}\n"
    ))
}

/// Goodput in Mbit/s, fast retransmits and timeouts.
fn of(network: &Scenario, scheme: &str) -> (f64, u64, u64) {
    let run = result(network, scheme, 1);
    let flow = &run.flows[0];
    (
        flow.metrics.goodput_bps().unwrap() / 1e6,
        flow.metrics.fast_retransmits().unwrap(),
        flow.metrics.timeouts().unwrap(),
    )
}

#[test]
fn losses_of_the_radio_reduce_nothing() {
    // Less than the queue holds: nothing is discarded.
    let network = capped(network("1e-2", ""), 40);
    let (plain, reductions, _) = of(&network, "sack");
    let (helped, reduced, _) = of(&network, "eln");
    assert!(helped > 1.15 * plain, "{helped}, {plain}");
    assert!(reductions > 20 && reduced == 0, "{reductions}, {reduced}");
}

/// At most so many segments on their way.
fn capped(mut network: Scenario, segments: u32) -> Scenario {
    for scheme in &mut network.schemes {
        Arc::make_mut(&mut scheme.sender).cwnd_clamp = Some(segments);
    }
    network
}

#[test]
fn what_the_base_station_discards_is_congestion() {
    // The window grows until the queue overflows; nothing else is lost.
    let network = network("0", "");
    let (_, reductions, _) = of(&network, "sack");
    let (_, reduced, _) = of(&network, "eln");
    let (_, masked, _) = of(&network, "blind");
    assert!(reductions > 0 && reduced > 0, "{reductions}, {reduced}");
    assert_eq!(masked, 0, "without a base station that looks, every loss is the radio's");
}

#[test]
fn a_mobile_that_hears_another_base_station_says_so_and_the_window_stays() {
    let ride =
        "[generate.ride]\nstation = \"mh\"\ncells = [\"bs1\", \"bs2\"]\nspeed = \"60km/h\"\ngap = \"200ms\"";
    let network = capped(network("0", ride), 20);
    let window = |scheme: &str| result(&network, scheme, 1).aggregate.cwnd_mean_pkt().unwrap();
    assert_eq!(result(&network, "eln", 1).handovers.len(), 2);
    let (helped, plain) = (window("eln"), window("sack"));
    assert!(helped > plain && helped > 19.5, "{helped}, {plain}");
}
