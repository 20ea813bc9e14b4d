//! The access points' side: lines come, and are answered.

use std::collections::BTreeSet;
use std::io;

use handfast_assist::sdn::{ApId, Class, Counters, Ignored, Notice, Policy, Report, TableUse, What};
use handfast_wire::openflow::EthAddr;
use mio::{Interest, Token};
use serde_json::{Map, Value, json};
use tracing::{debug, warn};

use super::line_client::LineClient;
use super::{ACCEPT_AGAIN, Daemon, Found};
use crate::association::{LineError, Number, Request, unknown_access_point};
use crate::clock;
use crate::conversation::Input;
use crate::log;

/// How many may be at the association socket at once.
pub(super) const MOST_CLIENTS: usize = 64;

impl Daemon {
    /// Takes everybody who has connected to the association socket.
    pub(super) fn accept_clients(&mut self) {
        loop {
            match self.association.accept() {
                Ok((mut stream, _)) if self.clients.len() < MOST_CLIENTS => {
                    let number = self.number();
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    match self.poll.registry().register(&mut stream, Token(number), interest) {
                        Ok(()) => drop(self.clients.insert(number, LineClient::new(stream))),
                        Err(error) => warn!(%error, "association socket"),
                    }
                }
                Ok((stream, _)) => {
                    warn!(most = MOST_CLIENTS, "association socket: connection refused: too many");
                    let error = format!("{MOST_CLIENTS} connections are open here: close one and try again");
                    let mut refused = LineClient::new(stream);
                    refused.answer(&json!({"error": error}));
                    refused.flush();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    warn!(%error, "association socket");
                    self.accept_again = Some(clock::now() + ACCEPT_AGAIN);
                    return;
                }
            }
        }
    }

    /// Reads once, and answers what is whole.
    pub(super) fn read_client(&mut self, number: usize) -> Found {
        let Some(client) = self.clients.get_mut(&number) else { return Found::Nothing };
        let mut requests = Vec::new();
        let found = client.read(&mut requests).unwrap_or(Found::End);
        for (line, request) in requests {
            let answer = self.answer(line, request);
            if let Some(client) = self.clients.get_mut(&number) {
                client.answer(&answer);
            }
        }
        self.writable.insert(number);
        if found == Found::End
            && let Some(mut client) = self.clients.remove(&number)
        {
            // He may have closed only his side.
            client.flush();
        }
        found
    }

    fn answer(&mut self, line: u64, request: Result<Request, LineError>) -> Value {
        self.counts.lines += 1;
        match request {
            Ok(Request::Status) => self.status(),
            Ok(Request::News { station, ap, number, what }) => match self.place(&ap) {
                Ok(ap) => self.news(station, ap, number, what),
                Err(error) => self.malformed(line, &error),
            },
            Ok(Request::Hello { ap, stations }) => match self.place(&ap) {
                Ok(ap) => self.hello(ap, stations),
                Err(error) => self.malformed(line, &error),
            },
            Ok(Request::Reload) => {
                self.reload();
                json!({"ok": true, "mode": log::word(self.settings.controller.mode)})
            }
            Ok(Request::Forget { station }) => {
                self.tell(Input::Forget(station));
                json!({"ok": true})
            }
            Err(error) => self.malformed(line, &error),
        }
    }

    /// The access point of a name.
    fn place(&self, name: &str) -> Result<ApId, LineError> {
        let names = &self.settings.access_points;
        let index = names.iter().position(|other| other == name);
        index.map(|index| ApId(index as u32)).ok_or_else(|| unknown_access_point(name, names))
    }

    fn hello(&mut self, ap: ApId, stations: BTreeSet<EthAddr>) -> Value {
        self.tell(Input::Hello(ap, stations));
        json!({"ok": true, "session": self.machine.session(ap)})
    }

    fn news(&mut self, station: EthAddr, ap: ApId, number: Number, what: What) -> Value {
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
                let implied = || self.machine.implied_epoch(clock::now(), station, ap, what);
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
        if self.often.may(
            clock::now(),
            "association socket: line refused",
            std::net::IpAddr::from([0, 0, 0, 0]),
        ) {
            warn!(error, "association socket: line refused");
        }
        json!({"error": error, "line": line})
    }

    /// How full the table of each switch is, whoever made its entries.
    fn tables(&self) -> Map<String, Value> {
        let table = |datapath_id: u64| {
            let TableUse { entries, most } = self.machine.table_use(datapath_id);
            (format!("{datapath_id:016x}"), json!({"entries": entries, "most": most}))
        };
        self.machine.switches().into_iter().map(table).collect()
    }

    fn status(&self) -> Value {
        let config = &self.settings.controller;
        let links = self.links.iter().map(|(conn, link)| {
            json!({"conn": conn, "peer": link.peer().to_string(), "waiting_bytes": link.waiting()})
        });
        let ready = self.machine.switches().into_iter().map(|datapath_id| format!("{datapath_id:016x}"));
        json!({
            "ok": true,
            "mode": log::word(config.mode),
            "plan": self.settings.plan().lines().collect::<Vec<_>>(),
            "policy": match config.policy {
                Policy::Bare => "bare",
                Policy::Spurious => "spurious",
                Policy::ZeroWindow => "zwa",
            },
            "links": links.collect::<Vec<_>>(),
            "switches": ready.collect::<Vec<_>>(),
            "tables": self.tables(),
            "held_bytes": self.machine.held().0,
            "held_datagram_bytes": self.machine.held_datagrams().0,
            "connections": self.machine.connections(),
            "lines": self.counts.lines,
            "malformed_lines": self.counts.malformed_lines,
            "links_closed": self.counts.closed,
            "unsendable": self.counts.unsendable,
            "log_lines_dropped": self.log.dropped(),
            "counters": counters(self.machine.counters()),
        })
    }
}

fn counters(counters: &Counters) -> Value {
    let mut all: Map<String, Value> =
        counters.totals().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    let by_class = |counts: &[u64; Class::COUNT]| {
        Class::NAMES.iter().zip(counts).map(|(name, &count)| ((*name).to_owned(), count.into())).collect()
    };
    all.insert("dropped_other".to_owned(), Value::Object(by_class(&counters.dropped_other)));
    all.insert("passed_other".to_owned(), Value::Object(by_class(&counters.passed_other)));
    Value::Object(all)
}
