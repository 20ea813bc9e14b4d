//! Which channels packets fly through, found before the run begins.

use handfast_core::Instant;
use handfast_plan::Paths;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, reverse};

use crate::engine::fast_path::pages::large_vec;
use crate::engine::fast_path::tandem::leading;
use crate::engine::fast_path::transit::Transit;
use crate::run::network::Network;

impl Network {
    /// Finds the channels that packets fly through, and which of them are in tandem; before time 0, when everything has its
    /// place. There is none where each packet is looked at on every hop. Where a station roams, the next hop is found when a
    /// packet lands. Agents keep the links at their nodes from being in tandem, and captures keep packets from flying through
    /// theirs.
    pub(crate) fn find_transits(&mut self, paths: &Paths, timeline: &Timeline, end: Instant) {
        self.end = end;
        if self.inspection.looks_closer() {
            return;
        }
        let roams = timeline.outages.iter().any(|outage| outage.station.is_some());
        let channels = self.links.len();
        let changing = timeline.changing(channels);
        let still = |id: ChannelId| {
            let captured = [id, reverse(id)]
                .iter()
                .any(|&id| self.inspection.captures_at(self.topology.departure(id).0));
            !changing[id] && !captured && !self.links[id].on_air.is_somewhere()
        };
        let mut leads = vec![false; channels];
        for id in leading(paths, channels, |id| !roams && still(id) && self.only_flows_enter(id)) {
            leads[id] = true;
        }
        let transit = |id: ChannelId| {
            let channel = &self.links[id];
            let shows = roams || !self.chains.at(channel.to as usize).is_empty();
            if still(id) {
                Transit::of(channel.link.foreseen(), channel.timer.rank(), channel.to, leads[id], shows)
            } else {
                Transit::Queued
            }
        };
        let mut transits = large_vec(channels);
        transits.extend((0..channels).map(transit));
        if transits.iter().any(Transit::is_foreseen) {
            self.links.set_transits(transits);
        }
    }

    /// Whether the flows' paths say who enters a channel. What agents make may come by any link, and then where the channel
    /// begins two nodes must be the only neighbours: what enters it came by the one other link.
    fn only_flows_enter(&self, id: ChannelId) -> bool {
        let (node, _) = self.topology.departure(id);
        let agents = !self.chains.is_empty() || self.notifiers.is_some() || self.layers.is_some();
        !agents || (self.chains.at(node).is_empty() && self.topology.ports(node).len() <= 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::agents::plugin::Plugins;
    use crate::run::build;
    use crate::run::layout::Layout;
    use handfast_plan::Streams;
    use handfast_plan::topology::Topology;
    use handfast_scenario::Scenario;

    /// The channels of a chain of three links in tandem with the next, where the agents, events and options are these.
    fn relayed(more: &str, scheme: &str, options: &Options) -> Vec<ChannelId> {
        channels_that(more, scheme, options, Transit::is_tandem)
    }

    /// A link beside the chain, with a host at its end.
    const LEFT: &str = "[nodes.t]\nkind = \"switch\"\n[nodes.u]\nkind = \"host\"\n\
        [[links]]\nbetween = [\"t\", \"u\"]\nrate = \"10Mbit/s\"\ndelay = \"1ms\"";

    fn link(a: &str, b: &str) -> String {
        format!("[[links]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"10Mbit/s\"\ndelay = \"1ms\"")
    }

    /// The channels whose transit satisfies `such`.
    fn channels_that(
        more: &str,
        scheme: &str,
        options: &Options,
        such: impl Fn(&Transit) -> bool,
    ) -> Vec<ChannelId> {
        const CHAIN: &str = r#"
            duration = "3s"
            capture = ["r"]
            flows = [{from = "a", to = "m"}]
            [nodes]
            a = {kind = "host"}
            r = {kind = "switch"}
            s = {kind = "ap", role = "base-station"}
            m = {kind = "station", role = "mobile"}
            [[links]]
            between = ["a", "r"]
            rate = "10Mbit/s"
            delay = "1ms"
            name = "first"
            [[links]]
            between = ["r", "s"]
            rate = "10Mbit/s"
            delay = "1ms"
            name = "second"
            [[links]]
            between = ["s", "m"]
            rate = "10Mbit/s"
            delay = "1ms"
            loss = 0.1
        "#;
        let text = format!("{CHAIN}\n{more}");
        let scenario = Scenario::parse(&text, "chain.toml", &[]).unwrap();
        let topology = Topology::new(&scenario);
        let timeline = Timeline::new(&scenario, options.seed);
        let paths = handfast_plan::paths(&scenario, &topology, &timeline).unwrap();
        let starts = handfast_plan::starts(&scenario, options.seed);
        let streams = Streams::of(&scenario);
        let layout = Layout { paths: &paths, timeline: &timeline, starts: &starts, streams: &streams };
        let scheme = scenario.scheme(scheme).unwrap();
        let mut network =
            build::network(&scenario, scheme, topology, &layout, options, &Plugins::new()).unwrap();
        network.find_transits(&paths, &timeline, Instant::ZERO + scenario.duration);
        (0..network.links.len()).filter(|&id| network.links.transit(id).is_some_and(&such)).collect()
    }

    #[test]
    fn a_chain_is_in_tandem_as_far_as_nothing_is_lost_on_the_way() {
        // Each link has a channel there, and back. What comes back by the last link may be lost on it.
        assert_eq!(relayed("", "sack", &Options::default()), [0, 2, 3]);
    }

    #[test]
    fn packets_fly_where_none_is_lost_on_the_way_and_nothing_is_done_to_the_link() {
        let open = |more: &str| channels_that(more, "sack", &Options::default(), Transit::is_foreseen);
        assert_eq!(open(""), [0, 1, 2, 3]);
        let down = |link: &str| {
            let event = "[[events]]\nat = \"1s\"\ndo = \"outage\"\ngap = \"1s\"";
            format!("{event}\nlink = \"{link}\"")
        };
        assert_eq!(open(&down("first")), [2, 3]);
        assert_eq!(open(&down("second")), [0, 1]);
    }

    #[test]
    fn where_somebody_looks_or_something_happens_each_link_is_for_itself() {
        let plain = Options::default();
        let folder = std::env::temp_dir().join(format!("handfast-tandem-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let wired = Options { verify_wire: true, ..plain.clone() };
        let captured = Options { capture_dir: Some(folder.clone()), ..plain.clone() };
        for options in [&wired, &captured] {
            assert!(relayed("", "sack", options).is_empty(), "{options:?}");
        }
        // The node that is captured has the first two links.
        let open = channels_that(LEFT, "sack", &captured, Transit::is_foreseen);
        assert_eq!(open, [6, 7]);
        std::fs::remove_dir_all(&folder).unwrap();
        let down =
            |link: &str| format!("[[events]]\nat = \"1s\"\ndo = \"outage\"\nlink = \"{link}\"\ngap = \"1s\"");
        assert!(relayed(&down("second"), "sack", &plain).is_empty());
        assert_eq!(relayed(&down("first"), "sack", &plain), [2], "and 3 leads to the first");
    }

    #[test]
    fn agents_end_tandems_at_their_node_and_nowhere_else() {
        let helped = |agent: &str| format!("{LEFT}\n[schemes.helped]\nsender = \"sack\"\nagents = [{agent}]");
        let snoop = helped("{kind = \"snoop\", at = \"role:base-station\"}");
        let vho = helped("{kind = \"vho\", at = \"role:mobile\"}");
        let plain = Options::default();
        assert_eq!(relayed(&snoop, "helped", &plain), [0], "2 ends where Snoop looks, 3 begins there");
        assert_eq!(channels_that(&snoop, "helped", &plain, Transit::is_foreseen), [0, 1, 2, 3, 6, 7]);
        assert_eq!(channels_that(&snoop, "helped", &plain, Transit::lands_at_node), [2]);
        assert_eq!(relayed(&vho, "helped", &plain), [0, 2, 3]);
        // A third link at the second switch: what an agent makes may come by that.
        let joined = format!("{snoop}\n{}", link("r", "t"));
        assert!(relayed(&joined, "helped", &plain).is_empty());
    }

    #[test]
    fn where_a_station_roams_packets_fly_by_wire_and_no_link_is_in_tandem() {
        let roam = r#"
            [nodes.t]
            kind = "ap"
            [[links]]
            between = ["r", "t"]
            rate = "10Mbit/s"
            delay = "1ms"
            [[links]]
            between = ["t", "m"]
            rate = "10Mbit/s"
            delay = "1ms"
            [[events]]
            at = "1s"
            do = "handover"
            station = "m"
            to = "t"
            gap = "100ms"
        "#;
        let plain = Options::default();
        assert!(relayed(roam, "sack", &plain).is_empty());
        // The wires, but not the radio links, which the handover changes.
        assert_eq!(channels_that(roam, "sack", &plain, Transit::lands_at_node), [0, 1, 2, 3, 6, 7]);
    }
}
