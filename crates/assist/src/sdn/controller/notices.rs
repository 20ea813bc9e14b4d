//! What access points say of stations: whether it is new, and what follows from it.

use handfast_core::Instant;
use handfast_wire::openflow::EthAddr;

use super::Controller;
use crate::sdn::station::Station;
use crate::sdn::{ApId, Config, Ignored, Notice, Outbox, Record, StationId, Steering, What};

impl Controller {
    /// An access point that never said hello reports a station.
    pub fn on_notice(&mut self, now: Instant, notice: Notice, out: &mut Outbox) {
        if self.session(notice.ap).is_some() {
            return self.ignored(notice.ap, notice.station, Ignored::Unnumbered, out);
        }
        self.on_numbered(now, notice, out);
    }

    /// A report of a station whose association has a number.
    pub(super) fn on_numbered(&mut self, now: Instant, notice: Notice, out: &mut Outbox) {
        if let Err(why) = self.apply(now, notice, out) {
            self.ignored(notice.ap, notice.station, why, out);
        }
    }

    pub(super) fn ignored(&mut self, ap: ApId, address: EthAddr, why: Ignored, out: &mut Outbox) {
        self.shared.counters.ignored_notices += 1;
        let vlan = self.shared.config.fabric.access_point(ap).and_then(|at| at.vlan);
        out.record(Record::Ignored { station: StationId { address, vlan }, why });
    }

    fn apply(&mut self, now: Instant, notice: Notice, out: &mut Outbox) -> Result<(), Ignored> {
        let Notice { station: address, ap, epoch, what } = notice;
        let Some(at) = self.shared.config.fabric.access_point(ap) else {
            return Err(Ignored::UnknownAccessPoint);
        };
        if self.is_protected(now, address) {
            return Err(Ignored::Protected);
        }
        let id = StationId { address, vlan: at.vlan };
        let Some(station) = self.stations.get(&id) else { return self.add_station(now, id, notice, out) };
        judge(&notice, station.epoch(), station.is_at(ap), station.is_away())?;
        self.shared.full =
            self.agenda.away() - usize::from(station.diverts()) >= self.shared.config.limits.away;
        self.with(id, |station, shared| match what {
            What::Associated => station.arrive(now, ap, epoch, shared, out),
            What::Disassociated => station.leave(now, epoch, shared, out),
            What::Delivered(packets) => station.delivered(packets),
        });
        Ok(())
    }

    /// Nothing is kept at switches for a station that is present: it can be forgotten. The one of which nothing was heard for the
    /// longest goes; whether there was one.
    fn forget_one_that_is_present(&mut self, now: Instant, out: &mut Outbox) -> bool {
        if self.shared.config.steering != Steering::Overlay {
            return false;
        }
        let present = |id: &StationId| self.stations.get(id).is_some_and(Station::is_present);
        let oldest = self.agenda.by_deadline().map(|(_, id)| id).find(present);
        if let Some(id) = oldest {
            self.forget(now, id, out);
        }
        oldest.is_some()
    }

    /// Whether it is a gateway or a server, by the configuration or by what it has sent of late.
    fn is_protected(&self, now: Instant, address: EthAddr) -> bool {
        let Config { never_hold, remember, .. } = &self.shared.config;
        never_hold.contains(&address) || self.infrastructure.contains(now, address, *remember)
    }

    /// How many stations have an address.
    pub(super) fn sharing_address(&self, address: EthAddr) -> usize {
        self.stations.range(StationId::with_address(address)).count()
    }

    /// Tells the stations of an address whether there are several.
    pub(super) fn update_sharing(&mut self, address: EthAddr, out: &mut Outbox) {
        let alone = self.sharing_address(address) < 2;
        let all: Vec<StationId> =
            self.stations.range(StationId::with_address(address)).map(|(&id, _)| id).collect();
        for id in all {
            self.with(id, |station, shared| station.is_alone(alone, shared, out));
        }
    }

    /// The number of an association whose access point numbers none: it follows from what was heard last. That of an end that
    /// another access point tells of is an older one.
    pub fn implied_epoch(&self, now: Instant, address: EthAddr, ap: ApId, what: What) -> u64 {
        let vlan = self.shared.config.fabric.access_point(ap).and_then(|at| at.vlan);
        let id = StationId { address, vlan };
        let station = self.stations.get(&id);
        let departed = || self.departed.last(now, id, self.shared.config.remember);
        let Some(last) = station.map(Station::epoch).or_else(departed) else { return 1 };
        let there = station.is_some_and(|station| station.is_at(ap));
        match what {
            What::Associated if !there => last.saturating_add(1),
            What::Disassociated if !there => last.saturating_sub(1),
            _ => last,
        }
    }

    /// The first report of a station, or the first since it was forgotten.
    fn add_station(
        &mut self,
        now: Instant,
        id: StationId,
        notice: Notice,
        out: &mut Outbox,
    ) -> Result<(), Ignored> {
        let Notice { ap, epoch, what, .. } = notice;
        match self.departed.last(now, id, self.shared.config.remember) {
            Some(last) => judge(&notice, last, false, true)?,
            None if epoch > HIGHEST_FIRST => return Err(Ignored::TooFar),
            None => {}
        }
        if self.stations.len() >= self.shared.config.limits.stations
            && !self.forget_one_that_is_present(now, out)
        {
            return Err(Ignored::TooManyStations);
        }
        self.shared.full = self.agenda.away() >= self.shared.config.limits.away;
        self.shared.alone = self.sharing_address(id.address) == 0;
        let station = match what {
            What::Associated => Station::associated(now, id, ap, epoch, &mut self.shared, out),
            What::Disassociated => Station::away(now, id, ap, epoch, &mut self.shared, out),
            // Of a station that is not known it says nothing.
            What::Delivered(_) => return Ok(()),
        };
        self.departed.forget(id);
        self.agenda.insert(id, &station, self.shared.config.datagrams.age);
        self.stations.insert(id, station);
        self.update_sharing(id.address, out);
        Ok(())
    }
}

/// How far an association's number may lie beyond that of the one before. Numbers may be times: as nanoseconds, this is three
/// days.
const FURTHEST: u64 = 1 << 48;
/// The highest number of the first association that is heard of. As nanoseconds, this is the year 2116: whatever comes
/// first, there is room for more.
const HIGHEST_FIRST: u64 = 1 << 62;

/// Whether a report says something new of a station whose last known association is `last`. `there`: it is where it comes from;
/// `away`: that association has ended.
fn judge(notice: &Notice, last: u64, there: bool, away: bool) -> Result<(), Ignored> {
    let Notice { epoch, what, .. } = *notice;
    match what {
        _ if epoch > last.saturating_add(FURTHEST) => Err(Ignored::TooFar),
        What::Associated if epoch == last && there => Err(Ignored::Duplicate),
        // Its end was reported: this is the late report of its begin.
        What::Associated if epoch <= last => Err(Ignored::Stale),
        What::Disassociated if epoch < last => Err(Ignored::Stale),
        What::Disassociated if epoch == last && away => Err(Ignored::Duplicate),
        What::Delivered(_) if epoch != last => Err(Ignored::Stale),
        _ => Ok(()),
    }
}
