//! Addresses and priorities (§3.3.8, §3.4), and `MP_FAIL` (§3.7).

use std::net::IpAddr;

use handfast_core::Instant;
use handfast_wire::tcp::mptcp::{AddAddress, Join, MAX_REMOVED, Mptcp, reason};

use super::{Connection, Mode};
use crate::keys::address_hmac;
use crate::subflow::Phase;
use crate::{Event, SubflowId};

impl Connection {
    /// What the peer says besides data.
    pub(super) fn on_signal(&mut self, at: usize, option: Mptcp) {
        match option {
            Mptcp::AddAddress(added) => self.on_address(at, added),
            Mptcp::RemoveAddress(ids) => self.on_removed(&ids),
            Mptcp::Priority { backup } => self.subflows[at].backup.1 = backup,
            // §3.7: on the only sub-flow what follows is mapped without end; of several this one is being reset.
            Mptcp::Fail(_) if self.is_alone() => {
                let announce = self.subflows[at].written.max(1);
                self.fall_back(announce);
            }
            // The proof again: our word that it is there was lost (§3.2).
            Mptcp::Join(Join::Ack { .. }) => self.subflows[at].endpoint.acknowledge(),
            _ => {}
        }
    }

    /// §3.4.1: only who has the keys adds an address; it is echoed, so that the peer need not repeat it.
    fn on_address(&mut self, at: usize, added: AddAddress) {
        let AddAddress { address_id: id, address, port, hmac } = added;
        let Some((peer, hmac)) = self.peer_key.zip(hmac) else {
            // An echo: the peer has it.
            for subflow in &mut self.subflows {
                subflow.signals.retain(|waits| {
                    !matches!(waits, Mptcp::AddAddress(own) if own.address_id == id && own.hmac.is_some())
                });
            }
            return;
        };
        if hmac == address_hmac(peer, self.key, id, address, port) {
            self.subflows[at].signal(Mptcp::AddAddress(AddAddress { hmac: None, ..added }));
            self.emit(Event::AddressAdded { id, address, port });
        }
    }

    /// §3.4.2: sub-flows to these addresses end.
    fn on_removed(&mut self, ids: &[u8]) {
        for &id in ids {
            self.emit(Event::AddressRemoved(id));
            self.end_subflows(|subflow| subflow.address_ids.1 == id);
        }
    }

    fn end_subflows(&mut self, concerns: impl Fn(&crate::subflow::Subflow) -> bool) {
        for subflow in &mut self.subflows {
            if concerns(subflow) && subflow.phase != Phase::Down {
                subflow.reset(reason::UNSPECIFIED);
            }
        }
    }

    /// Tells the peer of an address of ours, with an ID other than 0 (§3.4.1). False: there is no sub-flow to say so.
    pub fn advertise(&mut self, id: u8, address: IpAddr, port: Option<u16>) -> bool {
        let Some(peer) = self.peer_key else { return false };
        let hmac = Some(address_hmac(self.key, peer, id, address, port));
        self.own.retain(|&(known, _)| known != id);
        // An ID is an octet: no more than 256 are known.
        self.own.push((id, address));
        self.signal_once(Mptcp::AddAddress(AddAddress { address_id: id, address, port, hmac }))
    }

    /// Tells the peer that addresses of ours are gone, and ends the sub-flows from them (§3.4.2).
    pub fn withdraw(&mut self, now: Instant, ids: &[u8]) -> bool {
        if ids.is_empty() || ids.len() > MAX_REMOVED {
            return false;
        }
        self.end_subflows(|subflow| ids.contains(&subflow.address_ids.0));
        let told = self.signal_once(Mptcp::RemoveAddress(ids.into()));
        self.settle(now);
        told
    }

    /// Asks the peer to send on a sub-flow only while no other serves, or not any more (§3.3.8), and does so itself.
    pub fn set_backup(&mut self, id: SubflowId, backup: bool) {
        if let Some(subflow) = self.subflows.iter_mut().find(|subflow| subflow.id == id) {
            subflow.backup.0 = backup;
            subflow.signal(Mptcp::Priority { backup });
        }
    }

    fn signal_once(&mut self, option: Mptcp) -> bool {
        let speaks = matches!(self.mode, Mode::Multipath { .. });
        let best = self.subflows.iter_mut().filter(|subflow| subflow.carries()).min_by_key(|s| s.silent);
        let Some(subflow) = best.filter(|_| speaks) else { return false };
        subflow.signal(option);
        true
    }
}
