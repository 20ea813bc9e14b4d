//! Several agents at one node.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use handfast_assist::{Agent, LinkEvent, Verdict, View};
use handfast_core::Instant;
use handfast_net::{Outbox, Port};
use handfast_scenario::{self as scenario, AgentKind, Scenario};
use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, Plugins, run_with};

use crate::support::{OUTAGE, edited, with};

/// What the lookers have seen: packets by port, and events of links.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    packets: BTreeMap<Port, u64>,
    events: Vec<LinkEvent>,
}

struct Looker(Arc<Mutex<Seen>>);

impl Agent for Looker {
    fn look(&mut self, _: Instant, port: Port, _: &View<'_>, _: &mut Outbox) -> Verdict {
        *self.0.lock().unwrap().packets.entry(port).or_default() += 1;
        Verdict::Pass
    }

    fn on_link_event(&mut self, _: Instant, _: Port, event: LinkEvent, _: &mut Outbox) {
        self.0.lock().unwrap().events.push(event);
    }
}

/// Takes every packet, and sends it on.
struct Copier;

impl Agent for Copier {
    fn look(&mut self, _: Instant, _: Port, _: &View<'_>, _: &mut Outbox) -> Verdict {
        Verdict::Take
    }
}

fn helped(agents: &str) -> Scenario {
    let scheme = |agents: &str| {
        format!(
            "[schemes.help]\nsender = {{profile = \"sack\", eln = true}}\nreceiver = {{profile = \"sack\", eln = true}}\nagents = [{agents}]"
        )
    };
    with(&edited(OUTAGE, "loss = 1e-3", "loss = 1e-2"), &scheme(agents))
}

const SNOOP: &str = "{kind = \"snoop\", at = \"role:base-station\"}";
const ELN: &str = "{kind = \"eln\", at = \"role:base-station\"}";

/// The result as JSON, and what was seen; `own` says which agents of the test come before and behind those of the scheme.
fn run(scenario: &Scenario, own: [&[&str]; 2]) -> (String, Seen) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let theirs = Arc::clone(&seen);
    let plugins = Plugins::new()
        .with("look", Box::new(move |_, _, _, _| Box::new(Looker(Arc::clone(&theirs)))))
        .with("copy", Box::new(|_, _, _, _| Box::new(Copier)));
    let mut scenario = scenario.clone();
    let ap = scenario.nodes.iter().position(|node| node.role.is_some()).unwrap();
    let agents = |kinds: &[&str]| -> Vec<scenario::Agent> {
        kinds
            .iter()
            .map(|&kind| scenario::Agent { kind: AgentKind::Plugin(kind.to_owned()), at: vec![ap] })
            .collect()
    };
    let [before, behind] = own.map(agents);
    let scheme = &mut scenario.schemes[0];
    scheme.agents = [before, std::mem::take(&mut scheme.agents), behind].concat();
    let options = Options { seed: 1, ..Options::default() };
    let scheme = &scenario.schemes[0];
    let result = run_with(&plugins, &scenario, scheme, &options, &Control::new(), &mut NoSeries);
    let result = result.unwrap().to_json();
    drop(plugins);
    (result, Arc::into_inner(seen).unwrap().into_inner().unwrap())
}

#[test]
fn agents_that_only_look_or_copy_change_nothing() {
    for agents in ["", SNOOP, ELN] {
        let scenario = helped(agents);
        let (alone, _) = run(&scenario, [&[], &[]]);
        for own in [[&["look"][..], &[]], [&["look", "copy"], &["copy", "look"]]] {
            assert_eq!(run(&scenario, own).0, alone, "{agents} {own:?}");
        }
    }
}

/// With every packet sent through bytes no link is flown through: each packet waits in its link.
#[test]
fn agents_see_the_same_where_links_are_flown_through() {
    for agents in [SNOOP, ELN, "{kind = \"ack-filter\", at = \"role:base-station\"}"] {
        let scheme = format!(
            "[schemes.help]\nsender = {{profile = \"sack\", eln = true}}\n\
             receiver = {{profile = \"sack\", eln = true}}\nagents = [{agents}]"
        );
        // Without losses and events packets fly; the queue before the radio overflows.
        let (calm, _) = OUTAGE.split_once("[[events]]").unwrap();
        let scenario = with(&edited(calm, "loss = 1e-3", ""), &scheme);
        let run = |verify_wire| {
            let options = Options { seed: 1, verify_wire, ..Options::default() };
            let (control, plugins) = (Control::new(), Plugins::new());
            let scheme = &scenario.schemes[0];
            run_with(&plugins, &scenario, scheme, &options, &control, &mut NoSeries).unwrap()
        };
        let flown = run(false);
        assert!(flown.aggregate.lost_segments() > Some(0), "{agents}");
        assert_eq!(flown.to_json(), run(true).to_json(), "{agents}");
    }
}

#[test]
fn snoop_and_eln_at_one_base_station_are_no_error() {
    let [both, snoop, eln] = [format!("{SNOOP}, {ELN}"), SNOOP.to_owned(), ELN.to_owned()]
        .map(|agents| run(&helped(&agents), [&[], &[]]).0);
    assert!(both != snoop && both != eln);
}

#[test]
fn who_comes_behind_sees_what_those_before_have_sent_by_the_port_it_would_have_come_by() {
    let scenario = helped(SNOOP);
    let [before, behind] = [[&["look"][..], &[]], [&[], &["look"]]].map(|own| run(&scenario, own).1);
    let (wired, radio) = (Port(0), Port(1));
    // Snoop repeats what the radio loses, and drops duplicate acknowledgments.
    assert!(behind.packets[&wired] > before.packets[&wired], "{before:?} {behind:?}");
    assert!(behind.packets[&radio] < before.packets[&radio], "{before:?} {behind:?}");
    assert_eq!(before.packets.len(), 2);
    assert_eq!(behind.packets.len(), 2);
    assert_eq!(before.events, [LinkEvent::Down, LinkEvent::Up]);
}

/// A looker at a host sees what its endpoints send and get.
#[test]
fn at_a_host_its_own_packets_come_by_the_local_port() {
    let mut scenario = helped("");
    let phone = scenario.nodes.iter().position(|node| node.name == "phone").unwrap();
    let role = scenario.nodes.iter_mut().find_map(|node| node.role.take());
    scenario.nodes[phone].role = role;
    let (_, seen) = run(&scenario, [&["look"], &[]]);
    assert!(seen.packets[&Port::LOCAL] > 100 && seen.packets[&Port(0)] > 100, "{seen:?}");
}
