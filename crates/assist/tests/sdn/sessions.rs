//! Agents that say hello: the controller numbers associations, and what an agent says is numbered in its session.

use std::collections::BTreeSet;

use handfast_assist::sdn::{ApId, Config, Controller, Ignored, Notice, Outbox, Policy, Record, Report, What};
use handfast_core::{Duration, Instant};
use handfast_wire::openflow::EthAddr;

use crate::config::{config, paced};

const A: EthAddr = [2, 0, 0, 0, 0, 1];
const B: EthAddr = [2, 0, 0, 0, 0, 2];
const C: EthAddr = [2, 0, 0, 0, 0, 3];

struct Talk {
    controller: Controller,
    out: Outbox,
    now: Instant,
    records: Vec<Record>,
}

impl Talk {
    fn new() -> Self {
        let config: Config = config(Policy::Spurious, paced());
        let mut controller = Controller::new(config);
        controller.began(1_000);
        Self { controller, out: Outbox::default(), now: Instant::from_millis(1), records: Vec::new() }
    }

    fn hello(&mut self, ap: u32, stations: &[EthAddr]) -> u64 {
        let stations: BTreeSet<EthAddr> = stations.iter().copied().collect();
        let session = self.controller.hello(self.now, ApId(ap), &stations, &mut self.out).unwrap();
        self.collect();
        session
    }

    fn report(&mut self, ap: u32, session: u64, seq: u64, station: EthAddr, what: What) {
        self.now += Duration::from_millis(100);
        let report = Report { ap: ApId(ap), session, seq, station, what };
        self.controller.on_report(self.now, report, &mut self.out);
        self.collect();
    }

    fn collect(&mut self) {
        self.records.extend(self.out.records());
        self.out.drain().for_each(drop);
    }

    /// Who came, as `+`, and who left, as `-`, since this was asked last; and what was ignored.
    fn heard(&mut self) -> String {
        let word = |record: Record| match record {
            Record::Associated { station, ap, epoch } => {
                Some(format!("+{}@{} #{epoch}", station.address[5], ap.0))
            }
            Record::Away { station, epoch } => Some(format!("-{} #{epoch}", station.address[5])),
            Record::Ignored { station, why } => Some(format!("!{} {why:?}", station.address[5])),
            _ => None,
        };
        self.records.drain(..).filter_map(word).collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn a_hello_says_who_is_there_and_who_is_not() {
    let mut talk = Talk::new();
    let session = talk.hello(0, &[A, B]);
    assert_eq!(talk.heard(), "+1@0 #1, +2@0 #1");
    talk.report(0, session, 1, B, What::Disassociated);
    talk.report(0, session, 2, C, What::Associated);
    assert_eq!(talk.heard(), "-2 #1, +3@0 #1");
    // The agent begins anew: one has left meanwhile, one is back, one was there all the time.
    talk.hello(0, &[B, C]);
    assert_eq!(talk.heard(), "-1 #1, +2@0 #2");
    let there = |station| talk.controller.implied_epoch(talk.now, station, ApId(0), What::Associated);
    assert_eq!([there(A), there(B), there(C)], [2, 2, 1]);
}

#[test]
fn a_hello_takes_no_station_from_another_access_point() {
    let mut talk = Talk::new();
    talk.hello(0, &[A]);
    let session = talk.hello(1, &[A, B]);
    assert_eq!(talk.heard(), "+1@0 #1, +2@1 #1");
    talk.hello(0, &[]);
    assert_eq!(talk.heard(), "-1 #1");
    talk.report(1, session, 1, A, What::Associated);
    assert_eq!(talk.heard(), "+1@1 #2");
    // The old access point tells of the end when the new one has told of the begin.
    let old = talk.hello(0, &[]);
    talk.report(0, old, 1, A, What::Disassociated);
    assert_eq!(talk.heard(), "!1 Stale");
}

#[test]
fn what_is_not_of_the_session_changes_nothing() {
    let mut talk = Talk::new();
    let old = talk.hello(0, &[A]);
    let session = talk.hello(0, &[A]);
    assert!(session > old);
    assert_eq!([0, 1].map(|ap| talk.controller.session(ApId(ap))), [Some(session), None]);
    talk.heard();
    talk.report(0, old, 1, A, What::Disassociated);
    talk.report(0, session, 1, A, What::Disassociated);
    talk.report(0, session, 1, A, What::Associated);
    talk.report(0, session, u64::MAX, A, What::Associated);
    let notice = Notice { station: A, ap: ApId(0), epoch: 2, what: What::Associated };
    talk.controller.on_notice(talk.now, notice, &mut talk.out);
    talk.collect();
    assert_eq!(talk.heard(), "!1 OldSession, -1 #1, !1 Repeated, !1 Missed, !1 Unnumbered");
    assert_eq!(talk.controller.counters().ignored_notices, 4);
    let next = Report { ap: ApId(0), session, seq: 2, station: A, what: What::Associated };
    assert_eq!(talk.controller.judge(&next), Ok(()));
    assert_eq!(talk.controller.judge(&Report { seq: 1, ..next }), Err(Ignored::Repeated));
    assert_eq!(talk.controller.hello(talk.now, ApId(9), &BTreeSet::new(), &mut talk.out), None);
}

#[test]
fn a_later_controller_begins_other_sessions() {
    let mut talk = Talk::new();
    let first = talk.hello(0, &[]);
    let mut later = Talk::new();
    later.controller.began(1_001);
    later.hello(0, &[]);
    later.report(0, first, 1, A, What::Associated);
    assert_eq!(later.heard(), "!1 OldSession");
}
