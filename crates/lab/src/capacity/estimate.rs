//! How much a scenario would ask of the packet loop.

use handfast_plan::change::Change;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::Topology;
use handfast_plan::{Paths, Reroute};
use handfast_scenario::{App, Flow, Scenario, Scheme};

/// The load of a run of `scenario` under `scheme`, as [`estimate`] says.
///
/// # Errors
/// One sentence where the scenario cannot be run.
pub fn load(scenario: &Scenario, scheme: &Scheme) -> Result<f64, String> {
    // Seeds draw when things happen, and of how fast links are nothing that counts here: of drawn traces the fastest does.
    let timeline = Timeline::new(scenario, 0);
    let mut paths = handfast_plan::paths(scenario, &Topology::new(scenario), &timeline)?;
    let mut most = estimate(scenario, &timeline, &paths, scheme.sender.mss);
    for reroutes in std::mem::take(&mut paths.reroutes).into_iter().filter(|reroutes| !reroutes.is_empty()) {
        for Reroute { flow, forward, backward } in reroutes {
            (paths.forward[flow], paths.backward[flow]) = (forward, backward);
        }
        most = most.max(estimate(scenario, &timeline, &paths, scheme.sender.mss));
    }
    Ok(most)
}

/// Frames a second that the loop would move at the most in a run of `scenario`, whose flows send segments of `mss` octets.
/// Every link that a frame crosses counts.
///
/// A bulk flow fills the slowest link of its path; a paced one writes what it writes; flows that share a link share its rate.
/// Receivers acknowledge every second segment (RFC 9293 §3.8.6.3). What comes from other nodes is not known here. A cellular radio wakes
/// the loop at each slot: slots count as frames, our choice.
fn estimate(scenario: &Scenario, timeline: &Timeline, paths: &Paths, mss: u16) -> f64 {
    let most = highest_rates(scenario, timeline);
    // An acknowledgement is 40 bytes of headers and 12 of timestamps.
    let (data, ack) = (f64::from(mss) + 40.0, 52.0);
    let mut loads = vec![0.0; most.len()];
    for (flow, (there, back)) in scenario.flows.iter().zip(paths.forward.iter().zip(&paths.backward)) {
        let segments = segments_per_s(flow, there, &most, mss, data);
        for &channel in there {
            loads[channel as usize] += segments * data;
        }
        for &channel in back {
            loads[channel as usize] += segments / 2.0 * ack;
        }
    }
    // In bytes, so that what shares a link is cut to its rate; then back to frames, in each flow's own proportion.
    let share = |channel: u32| (most[channel as usize] / 8.0 / loads[channel as usize].max(1.0)).min(1.0);
    let flows = scenario.flows.iter().zip(paths.forward.iter().zip(&paths.backward));
    let frames: f64 = flows
        .map(|(flow, (there, back))| {
            let segments = segments_per_s(flow, there, &most, mss, data);
            let narrowest = there.iter().chain(back).map(|&channel| share(channel)).fold(1.0, f64::min);
            segments * narrowest * (there.len() as f64 + back.len() as f64 / 2.0)
        })
        .sum();
    let used = |channel: &usize| loads[*channel] > 0.0;
    frames + (0..loads.len()).filter(used).map(|channel| slots_per_s(scenario, channel)).sum::<f64>()
}

/// Slots a second of a channel that is a cellular radio.
fn slots_per_s(scenario: &Scenario, channel: usize) -> f64 {
    let link = &scenario.links[channel / 2];
    let direction = if channel.is_multiple_of(2) { &link.forward } else { &link.backward };
    direction.access.as_ref().map_or(0.0, |access| 1.0 / access.slot.as_secs_f64())
}

fn segments_per_s(flow: &Flow, path: &[u32], most: &[f64], mss: u16, size: f64) -> f64 {
    let slowest = path.iter().map(|&channel| most[channel as usize]).fold(f64::INFINITY, f64::min);
    let full = if flow.app == App::Silent { 0.0 } else { slowest / 8.0 / size };
    flow.app.writes().map_or(full, |(size, interval)| {
        let segments = size.get().div_ceil(u64::from(mss.max(1))).max(1);
        (segments as f64 / interval.as_secs_f64()).min(full)
    })
}

/// For each channel the highest rate it ever has, in bit/s; where it follows a trace, of a tenth of a second.
fn highest_rates(scenario: &Scenario, timeline: &Timeline) -> Vec<f64> {
    let directions = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let mut most: Vec<_> = directions.map(|direction| direction.rate.as_bps()).collect();
    for (_, change) in timeline.changes() {
        if let Change::Rate(channel, rate) = change {
            most[channel] = most[channel].max(rate.as_bps());
        }
    }
    for (channel, peak) in handfast_plan::traces::peaks(scenario) {
        most[channel] = peak.as_bps();
    }
    most.into_iter().map(|bps| bps as f64).collect()
}

/// Whether the machine carries the scenario.
///
/// # Errors
/// One sentence that says what to do.
pub fn check_load(estimate: f64, capacity_frames_per_s: f64) -> Result<(), String> {
    if estimate <= capacity_frames_per_s {
        return Ok(());
    }
    Err(format!(
        "this scenario would move about {estimate:.0} frames a second through the packet loop, and this machine carries \
         {capacity_frames_per_s:.0} (`handfast lab measure` measures again): lower the rates of its links, or run it with \
         `--backend sim`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::{BitRate, Bytes, Duration};
    use handfast_net::cell::Profile;
    use handfast_net::trace::{Generator, Way};
    use handfast_plan::testing::{self, Net};
    use handfast_scenario::LinkTrace;

    /// With segments of 1,460 octets.
    fn load_of(scenario: &Scenario) -> f64 {
        load(scenario, &scenario.schemes[0]).unwrap()
    }

    #[test]
    fn a_bulk_flow_fills_its_slowest_link_on_every_hop() {
        // 12 Mbit/s are 1,000 packets of 1,500 bytes; on two hops, and half as many acknowledgements back.
        let net = Net::new("hsh").rate(0, 1, 12_000_000).rate(1, 2, 100_000_000).bulk(0, 2);
        assert!((load_of(&net.build()) - 3_000.0).abs() < 1.0);
    }

    /// What the loop does at a slot it does whether or not a packet comes up: 1,000 slots a second each way of LTE, 2,000 of NR.
    #[test]
    fn slots_of_a_radio_that_carries_something_count() {
        let net = || Net::new("hsh").rate(0, 1, 12_000_000).rate(1, 2, 100_000_000).bulk(0, 2);
        let with = |access: Option<Profile>| {
            let mut scenario = net().build();
            let link = &mut scenario.links[1];
            let access = access.map(Box::new);
            (link.forward.access, link.backward.access) = (access.clone(), access);
            load_of(&scenario)
        };
        let frames = with(None);
        assert!((with(Some(Profile::lte())) - frames - 2_000.0).abs() < 0.01);
        assert!((with(Profile::nr(Profile::SLOT_30_KHZ)) - frames - 4_000.0).abs() < 0.01);
        let mut silent = net().build();
        silent.flows[0].app = App::Silent;
        silent.links[1].forward.access = Some(Box::new(Profile::lte()));
        assert!(load_of(&silent) < 0.01);
    }

    /// Whatever is drawn.
    #[test]
    fn a_drawn_trace_counts_with_its_fastest() {
        let mut scenario = Net::new("hh").rate(0, 1, 12_000_000).bulk(0, 1).build();
        let (generator, way) = (Generator::Mmwave, Way::Down);
        scenario.traces.insert((0, 0), LinkTrace::Drawn { generator, way });
        // 1 Gbit/s in the clear at most, and half as many acknowledgements, which at 12 Mbit/s have no room for all.
        let all: f64 = 1e9 / 8.0 / 1500.0;
        let acks = 12e6 / 8.0 / 52.0 * 2.0;
        assert!((load_of(&scenario) - all.min(acks) * 1.5).abs() < 1.0, "{}", load_of(&scenario));
    }

    #[test]
    fn flows_share_a_link() {
        let scenario = testing::dumbbell(4);
        let alone = 100e6 / 8.0 / 1500.0 * 4.5;
        let load = load_of(&scenario);
        assert!((load - alone).abs() < 0.01 * alone, "{load} {alone}");
    }

    #[test]
    fn the_busiest_path_of_a_station_counts() {
        // 1,000 packets a second at the server; the second access point is behind another switch.
        let fast = 90_000_000;
        let net = || {
            let net = Net::new("hsaams").rate(0, 1, 12_000_000).rate(1, 2, fast).rate(1, 5, fast);
            net.rate(5, 3, fast).rate(2, 4, fast).rate(3, 4, fast).bulk(0, 4)
        };
        assert!((load_of(&net().build()) - 4_500.0).abs() < 1.0);
        let roam = net().handover(1000, 4, 3, 0).handover(2000, 4, 2, 0);
        assert!((load_of(&roam.build()) - 6_000.0).abs() < 1.0);
    }

    #[test]
    fn a_paced_flow_moves_what_it_writes_and_a_later_rate_counts() {
        let mut scenario = Net::new("hh").rate(0, 1, 12_000_000).bulk(0, 1).build();
        let interval = Duration::from_millis(10);
        scenario.flows[0].app = App::Paced { size: Bytes(3_000), interval };
        assert!((load_of(&scenario) - 450.0).abs() < 1.0, "three segments 100 times a second");
        scenario.flows[0].app = App::Silent;
        assert!(load_of(&scenario).abs() < f64::EPSILON);
        scenario.flows[0].app = App::Bulk;
        let rate = BitRate::from_bps(120_000_000);
        let action = handfast_scenario::Action::SetRate {
            link: 0,
            directions: handfast_scenario::Directions::Both,
            rate,
        };
        scenario.events = vec![handfast_scenario::Event::new(handfast_core::Instant::ZERO, action)];
        assert!((load_of(&scenario) - 15_000.0).abs() < 1.0);
    }

    #[test]
    fn too_much_is_refused_with_a_way_out() {
        assert_eq!(check_load(1_000.0, 1_000.0), Ok(()));
        let why = check_load(120_000.4, 50_000.0).unwrap_err();
        assert!(
            why.contains("120000 frames") && why.contains("50000") && why.contains("lab measure"),
            "{why}"
        );
    }
}
