//! The association socket: access points report stations, and each line is answered.

use std::collections::BTreeSet;
use std::net::IpAddr;

use handfast_assist::sdn::{ApId, Ignored, Mode, Notice, Report, What};
use handfast_io::line_socket::{Accepted, Line};
use handfast_io::{Clock, EventLoop, ReadOutcome, SourceId};
use handfast_wire::openflow::EthAddr;
use serde_json::{Value, json};
use tracing::{debug, warn};

use super::adapter::{ACCEPT_AGAIN, Adapter, Due};
use super::association::{LIMITS, LineError, Number, Request, too_long, unknown_access_point};
use super::conversation::Input;
use super::log;
use crate::process::log::mode_word;
use crate::services::Running;

impl Adapter {
    /// Takes everybody who has connected to the association socket.
    pub(super) fn accept_clients(&mut self, io: &mut EventLoop) {
        loop {
            match self.lines.accept(io) {
                Ok(Accepted::Client) => {}
                Ok(Accepted::OneTooMany(mut refused)) => {
                    let most = LIMITS.most_clients;
                    warn!(most, "association socket: connection refused: too many");
                    let error = format!("{most} connections are open here: close one and try again");
                    refused.answer(&json!({"error": error}));
                    refused.flush();
                }
                Ok(Accepted::Nobody) => return,
                Err(error) => {
                    warn!(%error, "association socket");
                    self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
                    return;
                }
            }
        }
    }

    /// Reads once, and answers the lines that are complete.
    pub(super) fn read_client(&mut self, id: SourceId) -> ReadOutcome {
        let (lines, outcome) = self.lines.read(id);
        for (number, line) in lines {
            let answer = self.answer(number, &line);
            self.lines.answer(id, &answer);
        }
        self.to_flush.insert(id);
        if outcome == ReadOutcome::End {
            // The client may have closed only its side.
            self.lines.close(id);
        }
        outcome
    }

    fn answer(&mut self, number: u64, line: &Line) -> Value {
        self.counts.lines += 1;
        let request = match line {
            Line::Complete(line) => Request::parse(line),
            Line::TooLong => Err(too_long()),
        };
        match request {
            Ok(Request::Status) => self.status(),
            Ok(Request::StationEvent { station, ap, number: numbered, what }) => match self.access_point(&ap)
            {
                Ok(ap) => self.station_event(station, ap, numbered, what),
                Err(error) => self.malformed(number, &error),
            },
            Ok(Request::Hello { ap, stations }) => match self.access_point(&ap) {
                Ok(ap) => self.hello(ap, stations),
                Err(error) => self.malformed(number, &error),
            },
            Ok(Request::Reload) => {
                self.reload();
                json!({"ok": true, "mode": mode_word(self.settings.controller.mode == Mode::Act)})
            }
            Ok(Request::Forget { station }) => {
                self.tell(Input::Forget(station));
                json!({"ok": true})
            }
            Err(error) => self.malformed(number, &error),
        }
    }

    /// The access point of a name.
    fn access_point(&self, name: &str) -> Result<ApId, LineError> {
        let names = &self.settings.access_points;
        let index = names.iter().position(|other| other == name);
        index.map(|index| ApId(index as u32)).ok_or_else(|| unknown_access_point(name, names))
    }

    fn hello(&mut self, ap: ApId, stations: BTreeSet<EthAddr>) -> Value {
        self.tell(Input::Hello(ap, stations));
        json!({"ok": true, "session": self.machine.session(ap)})
    }

    fn station_event(&mut self, station: EthAddr, ap: ApId, number: Number, what: What) -> Value {
        debug!(ap = ap.0, ?number, ?what, "event");
        let ignored = match number {
            Number::Report { session, seq } => {
                let report = Report { ap, session, seq, station, what };
                let judged = self.machine.judge(&report);
                self.tell(Input::Report(report));
                judged
            }
            Number::None | Number::Epoch(_) if self.machine.session(ap).is_some() => {
                self.tell(Input::Notice(Notice { station, ap, epoch: 0, what }));
                Err(Ignored::Unnumbered)
            }
            Number::None | Number::Epoch(_) => {
                let implied = || self.machine.implied_epoch(Clock::SYSTEM.now(), station, ap, what);
                let epoch = if let Number::Epoch(epoch) = number { epoch } else { implied() };
                self.tell(Input::Notice(Notice { station, ap, epoch, what }));
                return json!({"ok": true, "epoch": epoch});
            }
        };
        ignored.map_or_else(|why| json!({"error": log::reason(why)}), |()| json!({"ok": true}))
    }

    /// `line`: its number on its connection.
    fn malformed(&mut self, line: u64, error: &LineError) -> Value {
        self.counts.malformed_lines += 1;
        let error = error.to_string();
        let what = "association socket: line refused";
        if self.limiter.allows(Clock::SYSTEM.now(), what, IpAddr::from([0, 0, 0, 0])) {
            warn!(error, "association socket: line refused");
        }
        json!({"error": error, "line": line})
    }
}
