//! Machines in the path that this crate does not know.

use std::collections::VecDeque;

use crate::support::{OUTAGE, set};
use handfast_core::{Duration, Instant};
use handfast_net::{Forwarder, Outbox, Port};
use handfast_scenario::{Agent, AgentKind, Scenario};
use handfast_sim::series::NoSeries;
use handfast_sim::{Control, Options, Plugins, RunError, RunResult, run_with};
use handfast_wire::{Body, Packet, Payload};

fn agent(kind: &str) -> Scenario {
    let mut scenario = with_agent(kind, "0");
    scenario.events.clear();
    scenario
}

/// The download with that loss on the radio, and the agent at the access point.
fn with_agent(kind: &str, loss: &str) -> Scenario {
    let changes = [("links.radio.loss", loss), ("schemes.help.sender", "sack")];
    let mut scenario = set(OUTAGE, &changes);
    let ap = scenario.nodes.iter().position(|node| node.role.is_some()).unwrap();
    // The file knows the kinds that are built in; the model any.
    scenario.schemes[0].agents = vec![Agent { kind: AgentKind::Plugin(kind.to_owned()), at: vec![ap] }];
    scenario
}

fn run_agent(scenario: &Scenario, plugins: &Plugins) -> Result<RunResult, RunError> {
    let (options, control) = (Options { seed: 1, ..Options::default() }, Control::new());
    run_with(plugins, scenario, &scenario.schemes[0], &options, &control, &mut NoSeries)
}

/// Loses every n-th segment with payload.
struct EveryNth {
    n: u64,
    seen: u64,
}

impl Forwarder for EveryNth {
    fn on_packet(&mut self, _: Instant, _: Port, packet: Packet, out: &mut Outbox) {
        let has_payload = matches!(&packet.body, Body::Tcp(segment) if !segment.payload.is_empty());
        self.seen += u64::from(has_payload);
        if has_payload && self.seen.is_multiple_of(self.n) {
            out.discard(packet);
        } else {
            out.forward(packet);
        }
    }

    fn on_timer(&mut self, _: Instant, _: &mut Outbox) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// Holds every packet back for a while.
struct Hold {
    by: Duration,
    held: VecDeque<(Instant, Packet)>,
}

impl Forwarder for Hold {
    fn on_packet(&mut self, now: Instant, _: Port, packet: Packet, _: &mut Outbox) {
        self.held.push_back((now + self.by, packet));
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        let due = self.held.iter().take_while(|(due, _)| *due <= now).count();
        self.held.drain(..due).for_each(|(_, packet)| out.forward(packet));
    }

    fn deadline(&self) -> Option<Instant> {
        self.held.front().map(|&(due, _)| due)
    }
}

#[test]
fn an_agent_that_loses_segments_is_seen_in_the_books() {
    let plugins =
        Plugins::new().with("every-nth", Box::new(|_, _, _, _| Box::new(EveryNth { n: 100, seen: 0 })));
    let result = run_agent(&agent("every-nth"), &plugins).unwrap();
    let flow = &result.flows[0];
    let lost = flow.metrics.lost_segments().unwrap();
    assert!(lost > 20, "{flow:?}");
    // The queue loses some as well; at the agent every hundredth is lost.
    assert!(lost >= (flow.metrics.data_segments_sent().unwrap() - 60) / 100, "{flow:?}");
    assert!(flow.metrics.retransmitted_segments() >= Some(lost - 5), "{flow:?}");
}

#[test]
fn an_agent_with_a_timer_delays_the_round_trip() {
    let hold = |millis| {
        let by = Duration::from_millis(millis);
        let maker = move |_: &Scenario, _: &_, _, _| {
            Box::new(Hold { by, held: VecDeque::new() }) as Box<dyn handfast_assist::Agent>
        };
        let result = run_agent(&agent("hold"), &Plugins::new().with("hold", Box::new(maker))).unwrap();
        result.flows[0].metrics.first_byte_s().unwrap() - result.flows[0].start_s.unwrap()
    };
    // SYN, SYN-ACK and the first segment pass the agent once each.
    let added = hold(50) - hold(10);
    assert!((added - 0.12).abs() < 1e-6, "{added}");
}

/// Sends on as bytes what it sees of a flow, as a switch that had it with a controller does; of one byte in so many bits are
/// wrong.
struct ThroughBytes {
    wrong_after: Option<u64>,
}

impl Forwarder for ThroughBytes {
    fn on_packet(&mut self, _: Instant, _: Port, mut packet: Packet, out: &mut Outbox) {
        if let Body::Tcp(segment) = &mut packet.body
            && segment.seq.0 % 3 > 0
        {
            let mut bytes = segment.payload.to_bytes().to_vec();
            if let (Some(left), Some(last)) = (&mut self.wrong_after, bytes.last_mut()) {
                *left = left.saturating_sub(1);
                *last ^= u8::from(*left == 0);
            }
            segment.payload = Payload::Bytes(bytes.into());
        }
        out.forward(packet);
    }

    fn on_timer(&mut self, _: Instant, _: &mut Outbox) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

fn through_bytes(wrong_after: Option<u64>) -> Result<RunResult, RunError> {
    run_agent(
        &with_agent("bytes", "0.01"),
        &Plugins::new().with("bytes", Box::new(move |_, _, _, _| Box::new(ThroughBytes { wrong_after }))),
    )
}

#[test]
fn payload_may_arrive_as_bytes_among_what_is_synthetic() {
    let result = through_bytes(None).unwrap();
    let flow = &result.flows[0];
    // Some went as bytes and came again as synthetic payload, and the other way round.
    assert!(
        flow.metrics.retransmitted_segments() > Some(50)
            && flow.metrics.delivered_bytes().unwrap() > 1_000_000,
        "{flow:?}"
    );
}

#[test]
fn one_wrong_byte_is_caught() {
    let error = through_bytes(Some(200)).unwrap_err();
    assert!(matches!(error, RunError::WrongByte { position, .. } if position > 100_000), "{error}");
}

#[test]
fn an_agent_of_unknown_kind_is_an_error() {
    let error = run_agent(&agent("snooop"), &Plugins::new()).unwrap_err();
    assert_eq!(error.to_string(), "scheme `help`: the simulator has no agent of kind `snooop`");
}

/// Wants to act now, for ever.
struct Restless;

impl Forwarder for Restless {
    fn on_packet(&mut self, _: Instant, _: Port, packet: Packet, out: &mut Outbox) {
        out.forward(packet);
    }

    fn on_timer(&mut self, _: Instant, _: &mut Outbox) {}

    fn deadline(&self) -> Option<Instant> {
        Some(Instant::from_millis(1000))
    }
}

#[test]
#[should_panic(expected = "an agent at 1s wants to act at 1s again")]
fn a_deadline_that_is_not_in_the_future_is_a_bug() {
    let plugins = Plugins::new().with("restless", Box::new(|_, _, _, _| Box::new(Restless)));
    let _ = run_agent(&agent("restless"), &plugins);
}
