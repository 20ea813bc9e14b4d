//! Agents that say hello, and number what they say.

use std::collections::BTreeSet;

use handfast_core::Instant;
use handfast_wire::openflow::EthAddr;

use super::Controller;
use crate::sdn::station::Station;
use crate::sdn::{ApId, Ignored, Notice, Outbox, Record, Report, StationId, What};

impl Controller {
    /// An agent begins to speak for an access point, whose stations are these and no others; the number of its session. A
    /// station that was believed to be at another access point stays there: which of the two is right, its next report says.
    pub fn hello(
        &mut self,
        now: Instant,
        ap: ApId,
        stations: &BTreeSet<EthAddr>,
        out: &mut Outbox,
    ) -> Option<u64> {
        let at = self.shared.config.fabric.access_point(ap)?;
        let session = self.sessions.begin(ap);
        out.record(Record::Hello { ap, session, stations: stations.len() });
        let here = self.stations.iter().filter(|(_, station)| station.is_at(ap));
        let gone: Vec<EthAddr> =
            here.map(|(id, _)| id.address).filter(|address| !stations.contains(address)).collect();
        for station in gone {
            self.number_and_apply(now, (ap, station, What::Disassociated), out);
        }
        for &station in stations {
            let known = self.stations.get(&StationId { address: station, vlan: at.vlan });
            if known.is_none_or(Station::is_away) {
                self.number_and_apply(now, (ap, station, What::Associated), out);
            }
        }
        Some(session)
    }

    /// The session of an access point whose agent has said hello.
    pub fn session(&self, ap: ApId) -> Option<u64> {
        self.sessions.of(ap)
    }

    /// Whether a report would count.
    ///
    /// # Errors
    /// Why it would not.
    pub fn judge(&self, report: &Report) -> Result<(), Ignored> {
        self.sessions.judge(report)
    }

    /// An agent that has said hello reports a station.
    pub fn on_report(&mut self, now: Instant, report: Report, out: &mut Outbox) {
        let Report { ap, station, what, .. } = report;
        match self.sessions.take(&report) {
            Ok(()) => self.number_and_apply(now, (ap, station, what), out),
            Err(why) => self.ignored(ap, station, why, out),
        }
    }

    fn number_and_apply(
        &mut self,
        now: Instant,
        (ap, station, what): (ApId, EthAddr, What),
        out: &mut Outbox,
    ) {
        let epoch = self.implied_epoch(now, station, ap, what);
        self.on_numbered(now, Notice { station, ap, epoch, what }, out);
    }
}
