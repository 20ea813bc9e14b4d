//! The ID-oriented socket layer over Multipath TCP, after [iosl]: each sub-flow has an ID of its own, under which the layer stores what
//! its path had.
//!
//! Where the radio under a sub-flow of the sender goes, the layer suspends that sub-flow: what it has out leaves by the others at once. Where
//! the receiver's radio goes, its layer says so with `REMOVE_ADDR`. What the path had, another sub-flow gets; a sub-flow that was
//! suspended has it again when its radio is back.

use std::collections::BTreeMap;

use handfast_core::{BitRate, Instant};
use handfast_mptcp::{Connection, Event, SubflowId, SubflowStatus};
use handfast_tcp::{IoslRules, Resumption, StoredPath};

use super::paths::Paths;
use crate::sctp::Rules;

/// The layer at one end of a connection.
#[derive(Debug)]
pub(super) struct Layer {
    rules: Rules,
    /// What the radio of an address carries; [`None`]: the address is gone.
    radios: BTreeMap<usize, Option<BitRate>>,
    /// What each sub-flow had when it last served.
    stored: BTreeMap<SubflowId, StoredPath>,
    /// The peer has said that an address of its own is gone.
    peer_left: bool,
    /// How often data have moved to another sub-flow.
    pub(super) moves: u64,
}

impl Layer {
    pub(super) fn new(rules: Rules) -> Self {
        let (radios, stored) = (BTreeMap::new(), BTreeMap::new());
        Self { rules, radios, stored, peer_left: false, moves: 0 }
    }

    /// A sub-flow has come: the layer controls it. One has gone with an address of the peer's: another one has what it had.
    pub(super) fn on_event(&mut self, now: Instant, event: Event, paths: &Paths, all: &mut Connection) {
        match event {
            Event::Connected => all.attach_iosl(SubflowId(0), self.of_subflow()),
            Event::SubflowUp(id) => all.attach_iosl(id, self.of_subflow()),
            Event::AddressRemoved(_) => self.peer_left = true,
            Event::SubflowDown { id, .. } => {
                let stored = self.stored.remove(&id);
                if std::mem::take(&mut self.peer_left) {
                    self.hand_over(now, stored, paths, all);
                }
            }
            _ => {}
        }
    }

    fn of_subflow(&self) -> IoslRules {
        IoslRules { mu_permille: self.rules.mu_permille, ..IoslRules::default() }
    }

    /// Stores what sub-flows have that serve ([iosl] §V.C).
    pub(super) fn watch(&mut self, now: Instant, all: &Connection) {
        for status in all.subflows(now).filter(serves) {
            if let Some(stored) = all.stored_path(status.id) {
                self.stored.insert(status.id, stored);
            }
        }
    }

    /// The radio of an address of ours carries so much; [`None`]: it has gone. `sends`: this end has the data.
    pub(super) fn on_radio(
        &mut self,
        now: Instant,
        address: usize,
        rate: Option<BitRate>,
        paths: &mut Paths,
        all: Option<&mut Connection>,
        sends: bool,
    ) {
        let before = self.radios.insert(address, rate);
        let Some(all) = all else { return };
        match rate {
            None if before != Some(None) && sends => self.leave(now, address, paths, all),
            None if before != Some(None) && self.rules.tells => paths.withdraw(now, address, all),
            Some(_) if before == Some(None) && sends => {
                for id in paths.subflows_from(address) {
                    all.resume(now, id, Resumption::Back);
                }
            }
            Some(_) if before == Some(None) && self.rules.tells => paths.advertise(address, all),
            _ => {}
        }
    }

    /// [iosl] §VI.A: "It stores the transport layer parameters", and suspends.
    fn leave(&mut self, now: Instant, address: usize, paths: &Paths, all: &mut Connection) {
        let mut left = None;
        for id in paths.subflows_from(address) {
            left = all.stored_path(id).or(left);
            all.suspend(now, id);
        }
        self.hand_over(now, left, paths, all);
    }

    /// The sub-flow that serves now has at least what the one had that does not, no more than its radio carries ([iosl] equation (1),
    /// Algorithm 1), paced over a round trip.
    fn hand_over(&mut self, now: Instant, stored: Option<StoredPath>, paths: &Paths, all: &mut Connection) {
        self.moves += 1;
        let best = all.subflows(now).filter(serves).min_by_key(|status| status.srtt);
        let Some((stored, best)) = stored.zip(best).filter(|_| self.rules.restores) else { return };
        let rate = paths.address_of(best.id).and_then(|address| self.radios.get(&address).copied()).flatten();
        let carried = rate.map_or(u64::MAX, |rate| {
            let bdp = rate.bytes_in(best.srtt).get();
            bdp + bdp / 1000 * u64::from(self.rules.mu_permille)
        });
        let cwnd = stored.cwnd.min(carried);
        if cwnd > best.tcp.cwnd {
            let ssthresh = best.tcp.ssthresh.max(stored.ssthresh.min(carried));
            all.restore_path(now, best.id, StoredPath { cwnd, ssthresh });
        }
    }
}

fn serves(status: &SubflowStatus) -> bool {
    status.established && !status.suspended && !status.silent
}
